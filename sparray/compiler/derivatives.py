"""Derivatives of the operators of the table: one rule per operand.

A rule takes the seed (the derivative of the loss by the operator's value) and the
operands, and returns the seed of its operand, or None where that is 0. With complex
values a holomorphic operator multiplies by the conjugate of its derivative.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sparray.compiler.index_notation.nodes import Apply, Expr, Literal
from sparray.compiler.loop_ir.operators import OPERATORS

__all__ = ["Rule", "Rules"]

Rule = Callable[..., Expr | None]

_ONE = Literal(1)
_TWO = Literal(2)


def _apply(op: str, *operands: Expr) -> Apply:
    return Apply(op, operands)


@dataclass(frozen=True, slots=True)
class Rules:
    """The derivatives, for real or for complex values."""

    is_complex: bool = False

    def of(self, op: str) -> tuple[Rule, ...]:
        """Return the rule of each operand; operators without one are constant."""
        table: dict[str, tuple[Rule, ...]] = {
            "add": (lambda s, a, b: s, lambda s, a, b: s),
            "sub": (lambda s, a, b: s, lambda s, a, b: _apply("neg", s)),
            "neg": (lambda s, a: _apply("neg", s),),
            "mul": (
                lambda s, a, b: self._times(s, b),
                lambda s, a, b: self._times(s, a),
            ),
            "div": (lambda s, a, b: self._over(s, b), self._divisor),
            "pow": (self._base, self._exponent),
            "max": _extremum("ge", "gt"),
            "min": _extremum("le", "lt"),
            "abs": (lambda s, a: _apply("mul", s, _apply("sign", a)),),
            "relu": (lambda s, a: _apply("mul", s, _apply("gt", a, Literal(0))),),
            "exp": (lambda s, a: self._times(s, _apply("exp", a)),),
            "expm1": (lambda s, a: self._times(s, _apply("exp", a)),),
            "log": (lambda s, a: self._over(s, a),),
            "log1p": (lambda s, a: self._over(s, _apply("add", _ONE, a)),),
            "sqrt": (
                lambda s, a: self._over(s, _apply("mul", _TWO, _apply("sqrt", a))),
            ),
            "sin": (lambda s, a: self._times(s, _apply("cos", a)),),
            "cos": (lambda s, a: _apply("neg", self._times(s, _apply("sin", a))),),
            "tanh": (self._tanh,),
            "conj": (lambda s, a: self._conj(s),),
            "real": (lambda s, a: _apply("real", s) if self.is_complex else s,),
            "imag": (self._imag,),
        }
        return table.get(op, (_constant,) * OPERATORS[op].arity)

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

    def _tanh(self, seed: Expr, operand: Expr) -> Expr:
        value = _apply("tanh", operand)
        square = _apply("mul", value, value)
        return self._times(seed, _apply("sub", _ONE, square))

    def _imag(self, seed: Expr, operand: Expr) -> Expr | None:
        if not self.is_complex:
            return None
        return _apply("mul", Literal(1j), _apply("real", seed))


def _constant(seed: Expr, *operands: Expr) -> None:
    return None


def _extremum(first: str, second: str) -> tuple[Rule, Rule]:
    """Give a tie to the first operand, so that the two shares sum to the seed."""
    return (
        lambda s, a, b: _apply("mul", s, _apply(first, a, b)),
        lambda s, a, b: _apply("mul", s, _apply(second, b, a)),
    )
