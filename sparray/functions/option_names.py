"""Tensors that are called like an option, which no keyword can give."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sparray.errors import ExpressionError, SparrayError

__all__ = ["naming_options"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def naming_options(
    function: Callable[Arguments, Result],
) -> Callable[Arguments, Result]:
    """Say so where a call fails as an option was given in place of a tensor.

    The expression is the first argument of the decorated function, and its operands are
    keyword arguments.

    Notes
    -----
    It is looked for after a failure only: a call that succeeds costs nothing.
    """

    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (SparrayError, TypeError) as error:
            refusal = _refusal(function, args[0] if args else None)
            if refusal is None:
                raise
            raise refusal from error

    return checked


def _refusal(
    function: Callable[..., object], expression: object
) -> ExpressionError | None:
    """Return the error for the first operand with an option's name."""
    if not isinstance(expression, str) or "=" not in expression:
        return None
    from sparray.compiler.index_notation.tokenizer import syntax_error, tokenize

    options = getattr(function, "__kwdefaults__", None) or {}
    try:
        tokens = tokenize(expression)
    except ExpressionError:
        return None
    made = {t.text for t in tokens if _is_target(expression, t.start)}
    for token in tokens:
        if token.text in options and token.text not in made:
            message = (
                f"expected tensors without the name of an option, got {token.text}: "
                f"{token.text}= is an option of {function.__name__}; call the tensor "
                "something else"
            )
            return syntax_error(expression, token.start, message)
    return None


def _is_target(expression: str, start: int) -> bool:
    """Tell whether what begins at a place is what a statement assigns."""
    before = expression[:start].replace("\n", ";").rpartition(";")[2]
    return not before.strip()
