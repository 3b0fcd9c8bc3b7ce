"""Derivatives of the operators of the table: one rule per operand.

A rule takes the seed (the derivative of the loss by the operator's value) and the
operands, and returns the seed of its operand, or None where that is 0. With complex
values a holomorphic operator multiplies by the conjugate of its derivative.
"""

import math
from collections.abc import Callable

from sparray.compiler.index_notation.nodes import Apply, Expr, Literal
from sparray.compiler.loop_ir.operators import OPERATORS
from sparray.errors import UnsupportedError
from sparray.records import dataclass

__all__ = ["Rule", "Rules"]

Rule = Callable[..., Expr | None]

_ONE = Literal(1)
_TWO = Literal(2)
_LOG2 = Literal(math.log(2))
_LOG10 = Literal(math.log(10))
_STEPS = frozenset(
    "sign floor ceil trunc round floor_divide floor_over bitwise_and bitwise_or "
    "bitwise_xor bitwise_invert left_shift right_shift".split()
)
"""Operators that are constant but for jumps, or take integers alone."""


def _apply(op: str, *operands: Expr) -> Apply:
    return Apply(op, operands)


@dataclass(frozen=True, slots=True)
class Rules:
    """The derivatives, for real or for complex values."""

    is_complex: bool = False

    def of(self, op: str) -> tuple[Rule, ...]:
        """Return the rule of each operand.

        Raises
        ------
        UnsupportedError
            If the operator has no derivative here.
        """
        if OPERATORS[op].result == "bool" or op in _STEPS:
            return (_constant,) * OPERATORS[op].arity
        table = {**self._arithmetic(), **self._functions(), **self._inverses()}
        if op not in table:
            raise UnsupportedError(f"expected a differentiable operator, got {op!r}")
        return table[op]

    def _arithmetic(self) -> dict[str, tuple[Rule, ...]]:
        product: tuple[Rule, ...] = (
            lambda s, a, b: self._times(s, b),
            lambda s, a, b: self._times(s, a),
        )
        quotient = (lambda s, a, b: self._over(s, b), self._divisor)
        remainder = (
            lambda s, a, b: s,
            lambda s, a, b: _apply("neg", self._times(s, _apply("floor_divide", a, b))),
        )
        return {
            "add": (lambda s, a, b: s, lambda s, a, b: s),
            "sub": (lambda s, a, b: s, lambda s, a, b: _apply("neg", s)),
            "neg": (lambda s, a: _apply("neg", s),),
            "positive": (lambda s, a: s,),
            "mul": product,
            "times": product,
            "div": quotient,
            "over": quotient,
            "remainder": remainder,
            "modulo": remainder,
            "pow": (self._base, self._exponent),
            "square": (lambda s, a: self._times(s, _apply("mul", _TWO, a)),),
            "reciprocal": (
                lambda s, a: _apply("neg", self._over(s, _apply("mul", a, a))),
            ),
            "where": (
                _constant,
                lambda s, c, a, b: _apply("where", c, s, Literal(0)),
                lambda s, c, a, b: _apply("where", c, Literal(0), s),
            ),
            "max": _extremum("ge", "gt"),
            "min": _extremum("le", "lt"),
            "abs": (lambda s, a: _apply("mul", s, _apply("sign", a)),),
            "relu": (lambda s, a: _apply("mul", s, _apply("gt", a, Literal(0))),),
            "conj": (lambda s, a: self._conj(s),),
            "real": (lambda s, a: _apply("real", s) if self.is_complex else s,),
            "imag": (self._imag,),
            "hypot": (
                lambda s, a, b: _apply("div", _apply("mul", s, a), _hypot(a, b)),
                lambda s, a, b: _apply("div", _apply("mul", s, b), _hypot(a, b)),
            ),
            "atan2": (
                lambda s, a, b: _apply("div", _apply("mul", s, b), _squares(a, b)),
                lambda s, a, b: _apply(
                    "neg", _apply("div", _apply("mul", s, a), _squares(a, b))
                ),
            ),
            "logaddexp": (
                lambda s, a, b: _apply("mul", s, _share(a, b)),
                lambda s, a, b: _apply("mul", s, _share(b, a)),
            ),
        }

    def _functions(self) -> dict[str, tuple[Rule, ...]]:
        return {
            "exp": (lambda s, a: self._times(s, _apply("exp", a)),),
            "expm1": (lambda s, a: self._times(s, _apply("exp", a)),),
            "exp2": (
                lambda s, a: self._times(s, _apply("mul", _LOG2, _apply("exp2", a))),
            ),
            "log": (lambda s, a: self._over(s, a),),
            "log2": (lambda s, a: self._over(s, _apply("mul", _LOG2, a)),),
            "log10": (lambda s, a: self._over(s, _apply("mul", _LOG10, a)),),
            "log1p": (lambda s, a: self._over(s, _apply("add", _ONE, a)),),
            "sqrt": (
                lambda s, a: self._over(s, _apply("mul", _TWO, _apply("sqrt", a))),
            ),
            "sin": (lambda s, a: self._times(s, _apply("cos", a)),),
            "cos": (lambda s, a: _apply("neg", self._times(s, _apply("sin", a))),),
            "tan": (
                lambda s, a: self._times(
                    s, _apply("add", _ONE, _square(_apply("tan", a)))
                ),
            ),
            "sinh": (lambda s, a: self._times(s, _apply("cosh", a)),),
            "cosh": (lambda s, a: self._times(s, _apply("sinh", a)),),
            "tanh": (
                lambda s, a: self._times(
                    s, _apply("sub", _ONE, _square(_apply("tanh", a)))
                ),
            ),
        }

    def _inverses(self) -> dict[str, tuple[Rule, ...]]:
        def over_root(sign: str, first: Expr, second: Expr) -> Expr:
            return _apply("sqrt", _apply(sign, first, second))

        return {
            "asin": (lambda s, a: self._over(s, over_root("sub", _ONE, _square(a))),),
            "acos": (
                lambda s, a: _apply(
                    "neg", self._over(s, over_root("sub", _ONE, _square(a)))
                ),
            ),
            "atan": (lambda s, a: self._over(s, _apply("add", _ONE, _square(a))),),
            "asinh": (lambda s, a: self._over(s, over_root("add", _square(a), _ONE)),),
            "acosh": (lambda s, a: self._over(s, over_root("sub", _square(a), _ONE)),),
            "atanh": (lambda s, a: self._over(s, _apply("sub", _ONE, _square(a))),),
        }

    def _conj(self, expr: Expr) -> Expr:
        return _apply("conj", expr) if self.is_complex else expr

    def _times(self, seed: Expr, derivative: Expr) -> Expr:
        return _apply("mul", seed, self._conj(derivative))

    def _over(self, seed: Expr, divisor: Expr) -> Expr:
        return _apply("div", seed, self._conj(divisor))

    def _divisor(self, seed: Expr, left: Expr, right: Expr) -> Expr:
        product = self._times(seed, left)
        return _apply("neg", self._over(product, _apply("mul", right, right)))

    def _base(self, seed: Expr, base: Expr, exponent: Expr) -> Expr | None:
        if not isinstance(exponent, Literal):
            lower = _apply("pow", base, _apply("sub", exponent, _ONE))
            return self._times(seed, _apply("mul", exponent, lower))
        if exponent.value == 0:
            return None
        if exponent.value == 1:
            return seed
        if exponent.value == 2:
            return self._times(seed, _apply("mul", _TWO, base))
        power = _apply("pow", base, Literal(exponent.value - 1))
        return self._times(seed, _apply("mul", exponent, power))

    def _exponent(self, seed: Expr, base: Expr, exponent: Expr) -> Expr:
        value = _apply("pow", base, exponent)
        return self._times(seed, _apply("mul", value, _apply("log", base)))

    def _imag(self, seed: Expr, operand: Expr) -> Expr | None:
        if not self.is_complex:
            return None
        return _apply("mul", Literal(1j), _apply("real", seed))


def _square(expr: Expr) -> Expr:
    return _apply("mul", expr, expr)


def _squares(a: Expr, b: Expr) -> Expr:
    return _apply("add", _square(a), _square(b))


def _hypot(a: Expr, b: Expr) -> Expr:
    return _apply("hypot", a, b)


def _share(a: Expr, b: Expr) -> Expr:
    """Return the part of ``exp(a)`` in ``exp(a) + exp(b)``."""
    return _apply("exp", _apply("sub", a, _apply("logaddexp", a, b)))


def _constant(seed: Expr, *operands: Expr) -> None:
    return None


def _extremum(first: str, second: str) -> tuple[Rule, Rule]:
    """Give a tie to the first operand, so that the two shares sum to the seed."""
    return (
        lambda s, a, b: _apply("mul", s, _apply(first, a, b)),
        lambda s, a, b: _apply("mul", s, _apply(second, b, a)),
    )
