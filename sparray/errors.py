"""Exception classes: each is a `SparrayError` and also the built-in a user expects."""

from numpy.linalg import LinAlgError

__all__ = [
    "CoordinateError",
    "DTypeError",
    "DeviceError",
    "ExpressionError",
    "FileFormatError",
    "FormatError",
    "InternalError",
    "InvalidBufferError",
    "KernelMemoryError",
    "MissingExtraError",
    "MissingFileError",
    "MissingNameError",
    "PatternError",
    "PlanError",
    "ScheduleError",
    "ScoreError",
    "SettingError",
    "ShapeError",
    "SingularMatrixError",
    "SparrayError",
    "SparrayWarning",
    "TraceAttributeError",
    "TraceError",
    "UnsupportedError",
    "WouldDensifyError",
]


class SparrayError(Exception):
    """Base of every error that sparray raises on purpose."""


class FormatError(SparrayError, ValueError):
    """A format string or a list of levels does not describe a format."""


class PatternError(FormatError):
    """An array's entries do not fit the structure that its format asks for.

    Parameters
    ----------
    message : str
        What was expected, and what came.
    entry : int, optional
        One of the entries at fault, for those who know where it is.
    """

    def __init__(self, message: str, entry: int | None = None) -> None:
        super().__init__(message)
        self.entry = entry


class ShapeError(SparrayError, ValueError):
    """Shapes or extents do not agree."""


class DTypeError(SparrayError, TypeError):
    """A dtype is not supported or two dtypes cannot be combined."""


class DeviceError(SparrayError, RuntimeError):
    """A tensor is on a device that no kernel is compiled for."""


class FileFormatError(SparrayError, ValueError):
    """A file is not of its kind, or promises what it cannot hold."""


class MissingFileError(SparrayError, FileNotFoundError):
    """There is no file, or no folder, of a name."""


class InvalidBufferError(SparrayError, ValueError):
    """A raw buffer breaks the invariants of its level."""


class CoordinateError(SparrayError, IndexError, ValueError):
    """A coordinate lies outside its extent."""


class ExpressionError(SparrayError, ValueError):
    """An expression in index notation cannot be computed."""


class ScheduleError(SparrayError, ValueError):
    """A schedule command does not apply, or would change the result."""


class PlanError(SparrayError, ValueError):
    """A plan does not say clearly which parts of a model are to be sparse."""


class ScoreError(SparrayError, ValueError):
    """A sparsifier cannot choose: wrong parameters, or scores that do not compare."""


class SingularMatrixError(SparrayError, LinAlgError):
    """A matrix has no inverse, so that a system of equations has not one solution."""


class SettingError(SparrayError, ValueError):
    """A setting, or the environment variable behind it, has an unusable value."""


class UnsupportedError(SparrayError, NotImplementedError):
    """A combination that sparray knows of and does not compute."""


class TraceError(SparrayError, TypeError):
    """Code that is traced does what no expression in index notation says."""


class TraceAttributeError(TraceError, AttributeError):
    """Code that is traced asks for an attribute that no expression has."""


class WouldDensifyError(SparrayError, ValueError):
    """An operation would need a dense array that nobody asked for."""


class KernelMemoryError(SparrayError, MemoryError):
    """A result or a workspace does not fit in memory."""


class MissingExtraError(SparrayError, ImportError):
    """A package is not installed that an optional part of sparray needs."""


class MissingNameError(SparrayError, AttributeError):
    """A name that other array libraries have, and that sparray has not, with why."""


class InternalError(SparrayError, RuntimeError):
    """A stage of the compiler broke its own invariant: a bug in sparray."""


class SparrayWarning(UserWarning):
    """The category of every warning that sparray emits."""
