"""Packages that a subcommand needs and that sparray is installed without."""

import importlib.util

from sparray.errors import MissingExtraError

__all__ = ["require"]


def require(what: str, extra: str, *modules: str) -> None:
    """Raise if a package is not installed.

    Parameters
    ----------
    what : str
        What needs it, for the message.
    extra : str
        Names of the extras of the distribution that have the packages.
    *modules : str
        Names to import, as ``sklearn``.

    Raises
    ------
    MissingExtraError
        It says which command installs what is missing.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"{what}: expected {', '.join(modules)} to be installed, got no "
            f"{', '.join(missing)}; pip install 'sparray-levels[{extra}]' installs "
            "what is missing"
        )
