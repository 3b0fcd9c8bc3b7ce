"""What was measured to be the best: a text per problem, kept beside compiled kernels.

The folder ``tuned`` of the cache holds one file per problem. Its first line is the
digest of the rest, so that a damaged one is noticed; the rest is JSON. What it says
only selects among the ways that the scheduler knows: it is never run. Files are written
under a temporary name and renamed; there are at most `MOST_ENTRIES`, the oldest go.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sparray._kernels.cache import entry_name
from sparray._kernels.cache_directory import cache_directory, open_cache
from sparray._kernels.fingerprint import source_fingerprint
from sparray._kernels.notices import warn_once
from sparray._kernels.targets import cpu_features, host_target
from sparray._kernels.threads import num_threads
from sparray.records import dataclass

__all__ = [
    "MOST_ENTRIES",
    "TunedEntry",
    "clear_tuned",
    "recall",
    "remember",
    "tuned_entries",
]

MOST_ENTRIES = 2000
_OWN = re.compile(r"[0-9a-f]{64}\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class TunedEntry:
    """One remembered measurement.

    Attributes
    ----------
    way : str
        What won, in the scheduler's words.
    record : mapping
        What was measured: expression, times in seconds, date.
    """

    way: str
    record: Mapping[str, Any]


def recall(*problem: str) -> TunedEntry | None:
    """Return what was remembered of a problem.

    Parameters
    ----------
    *problem : str
        Everything that identifies it, sizes included. The machine, the number of
        threads and sparray's compiler are added here: a measurement is not for others.

    Returns
    -------
    TunedEntry or None
        None if there is nothing, or if it was damaged (one warning; it is removed).

    Notes
    -----
    Where nothing was ever tuned this asks the system for one directory.
    """
    if not (cache_directory() / "tuned").is_dir():
        return None
    path = _folder() / f"{_name(problem)}.json"
    return _read(path)


def remember(way: str, record: Mapping[str, Any], *problem: str) -> Path | None:
    """Keep what was measured to be best for a problem.

    Parameters
    ----------
    way : str
        What won.
    record : mapping
        What else to keep, as JSON can hold it.
    *problem : str
        As for `recall`.

    Returns
    -------
    Path or None
        The file; None, and one warning, if it cannot be written.
    """
    made = datetime.now(UTC).isoformat(timespec="seconds")
    body = json.dumps({**record, "way": way, "made": made}, indent=1)
    digest = hashlib.sha256(body.encode()).hexdigest()
    folder = _folder()
    path = folder / f"{_name(problem)}.json"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=folder)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(f"{digest}\n{body}")
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        warn_once(
            "tuned", f"what was tuned cannot be kept in {folder} ({error.strerror})"
        )
        return None
    _bound(folder)
    return path


def tuned_entries() -> list[TunedEntry]:
    """Return everything that is remembered, the latest first."""
    found = [_read(path) for path in _files(_folder())]
    return [entry for entry in found if entry is not None]


def clear_tuned() -> int:
    """Forget everything; return how many entries there were."""
    files = _files(_folder())
    for path in files:
        with contextlib.suppress(OSError):
            path.unlink()
    return len(files)


def _folder() -> Path:
    # The cache's own checks: a folder of another user is not read.
    return open_cache().directory / "tuned"


def _name(problem: tuple[str, ...]) -> str:
    machine = (
        host_target().name,
        " ".join(sorted(cpu_features())),
        str(num_threads()),
    )
    return entry_name(*problem, *machine, source_fingerprint())


def _read(path: Path) -> TunedEntry | None:
    try:
        digest, _, body = path.read_text(encoding="utf-8").partition("\n")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        digest = body = ""
    if hashlib.sha256(body.encode()).hexdigest() == digest:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            record = json.loads(body)
            return TunedEntry(str(record.pop("way")), record)
    warn_once(f"damaged {path}", f"the tuning entry {path} is damaged; it is not used")
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def _files(folder: Path) -> list[Path]:
    """Return the entries' files, the latest first."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OWN.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    found.append((entry.stat().st_mtime, Path(entry.path)))
    return [path for _, path in sorted(found, reverse=True)]


def _bound(folder: Path) -> None:
    for path in _files(folder)[MOST_ENTRIES:]:
        with contextlib.suppress(OSError):
            path.unlink()
