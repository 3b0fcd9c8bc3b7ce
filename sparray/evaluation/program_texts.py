"""Which expressions are programs: texts of several statements."""

from functools import lru_cache

__all__ = ["is_program"]


def is_program(text: str) -> bool:
    """Tell whether a text has more than one statement."""
    if not isinstance(text, str) or (";" not in text and "\n" not in text):
        return False
    return _has_statements(text)


@lru_cache(maxsize=1024)
def _has_statements(text: str) -> bool:
    from sparray.compiler.index_notation.program_text import split_statements

    return ";" in text or len(split_statements(text)) > 1
