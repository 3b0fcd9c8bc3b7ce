"""What generated code depends on besides the problem: sparray's own sources.

A kernel is found again by its problem; it is only the right kernel if the
compiler that would be asked now is the one that made it.
"""

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["source_fingerprint"]

_PACKAGE = Path(__file__).resolve().parent.parent
_PARTS = (
    ("compiler", "*.py"),
    ("formats", "*.py"),
    ("_kernels", "render.py"),
    ("_kernels/templates", "*.tp"),
)


@cache
def source_fingerprint() -> str:
    """Return a digest of every source file that generated code depends on.

    Returns
    -------
    str
        64 hexadecimal digits; the same for the same contents, wherever the
        package is installed.

    Notes
    -----
    Computed once per process: reads about a megabyte.
    """
    digest = hashlib.sha256()
    for folder, pattern in _PARTS:
        for path in sorted((_PACKAGE / folder).rglob(pattern)):
            content = path.read_bytes()
            name = path.relative_to(_PACKAGE).as_posix()
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()
