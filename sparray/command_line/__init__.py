"""The subcommands of ``python -m sparray``, one per module.

Each has ``add_parser(subparsers)``, which names the function that runs it.
"""
