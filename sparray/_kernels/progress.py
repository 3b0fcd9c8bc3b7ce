"""A progress bar for what takes longer than a few seconds."""

import sys
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

_DELAY_S = 3.0


class Progress:
    """Shows how much is done, once that has taken some seconds.

    Only where tqdm is installed and standard error is a terminal.

    Parameters
    ----------
    total : int
        What there is to do.
    what : str
        What the bar says.
    unit : str
        What is counted; ``"B"`` is scaled to MB.
    delay_s : float, optional
        Seconds before it is shown; 3 by default.
    """

    def __init__(
        self, total: int, what: str, unit: str = "B", delay_s: float | None = None
    ) -> None:
        self._bar: Any = None
        if sys.stderr is None or not sys.stderr.isatty():
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._bar = tqdm(
            total=total,
            desc=what,
            unit=unit,
            unit_scale=True,
            delay=_DELAY_S if delay_s is None else delay_s,
            leave=False,
        )

    def update(self, done: int) -> None:
        """Say that this much is done, in all."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
