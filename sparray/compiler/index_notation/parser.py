"""Text of index notation -> `Assignment`: a precedence parser.

``C[i,j] = A[i,k] * B[k,j] + D[i,j]``. From the loosest to the tightest: ``|``, ``&``,
comparisons (which do not chain), ``+ -``, ``* /``, prefix ``- ~``, ``**`` (which groups
to the right); the strengths are those of the operator table.

An index that the left side lacks is summed within its own additive term, that is
below ``+``, ``-``, prefix ``-`` and ``sum``, and around everything else:
``y[i] = exp(A[i,j]) + b[i]`` is ``sum(j, exp(A[i,j])) + b[i]``, and a parenthesised
sum that is a factor is reduced as a whole.
"""

from collections.abc import Callable
from itertools import pairwise

from sparray.compiler.index_notation.affine import affine_text, window_text
from sparray.compiler.index_notation.grammar import (
    CONSTANTS,
    INFIX,
    PREFIX,
    RIGHT_ASSOCIATIVE,
    is_comparison,
    is_function,
    reduction_operator,
)
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.tokenizer import (
    Token,
    expect_text,
    syntax_error,
    tokenize,
)
from sparray.compiler.index_notation.traversal import depth, free_indices
from sparray.compiler.loop_ir.operators import OPERATORS, is_operator, operator
from sparray.errors import ExpressionError

__all__ = ["MAX_DEPTH", "parse_assignment", "sum_missing_indices"]

# Every stage recurses over the tree; this keeps each far from Python's own limit.
MAX_DEPTH = 100


def parse_assignment(text: str) -> Assignment:
    """Parse one statement of index notation.

    Parameters
    ----------
    text : str
        ``"C[i,j] = A[i,k] * B[k,j]"``: tensors with indices in brackets, scalars
        bare (``alpha``), numbers, operators, functions by their name in the operator
        table, reductions ``sum(j, ...)``, ``sum((j, k), ...)``, ``prod``, ``min``,
        ``max``, ``all``, ``any``.

    Returns
    -------
    Assignment
        The tree, with every implicit sum as a `Reduce`.

    Raises
    ------
    ExpressionError
        If the text is not index notation; the message points at the place.

    Examples
    --------
    >>> parse_assignment("y[i] = A[i,j]").value
    Reduce(op='add', indices=('j',), operand=Access(tensor='A', indices=('i', 'j')))
    """
    return _Parser(expect_text("expression", text)).assignment()


def sum_missing_indices(value: Expr, kept: tuple[str, ...]) -> Expr:
    """Sum every free index that is not kept within its own additive term.

    Parameters
    ----------
    value : Expr
        A right-hand side.
    kept : tuple of str
        Indices of the left side.

    Returns
    -------
    Expr
        The expression with explicit `Reduce` nodes.
    """
    if isinstance(value, Apply) and value.op in ("add", "sub", "neg"):
        terms = tuple(sum_missing_indices(term, kept) for term in value.operands)
        return Apply(value.op, terms)
    if isinstance(value, Reduce) and value.op == "add":
        inner = sum_missing_indices(value.operand, (*kept, *value.indices))
        return Reduce("add", value.indices, inner)
    missing = tuple(i for i in free_indices(value) if i not in kept)
    return Reduce("add", missing, value) if missing else value


class _Parser:
    """The tokens of one text and the place reached in them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0
        self.nesting = 0
        self.indices = _index_names(self.tokens)

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def ahead(self, count: int = 1) -> Token:
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def error(self, message: str, token: Token | None = None) -> ExpressionError:
        place = self.token if token is None else token
        return syntax_error(self.text, place.start, message)

    def advance(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, symbol: str) -> bool:
        found = self.token.kind == "symbol" and self.token.text == symbol
        self.position += found
        return found

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            raise self.error(f"expected {symbol!r}, got {self.token}")

    def assignment(self) -> Assignment:
        target = self.target()
        self.expect("=")
        value = self.expression()
        if self.token.kind != "end":
            raise self.error(f"expected an operator or the end, got {self.token}")
        if depth(value) > MAX_DEPTH:
            message = f"expected at most {MAX_DEPTH} nested operations, got more"
            raise self.error(message, self.tokens[0])
        return Assignment(target, sum_missing_indices(value, target.indices))

    def target(self) -> Access:
        if self.token.kind != "name" or self.token.text in CONSTANTS:
            raise self.error(f"expected the name of the result, got {self.token}")
        name = self.advance()
        self.refuse_index(name, "the result")
        return Access(name.text, self.brackets(self.index))

    def expression(self, minimum: int = 0) -> Expr:
        if self.nesting >= MAX_DEPTH:
            raise self.error(f"expected at most {MAX_DEPTH} nested parentheses")
        self.nesting += 1
        left = self.prefix()
        while self.token.kind == "symbol" and self.token.text in INFIX:
            row = INFIX[self.token.text]
            if row.precedence < minimum:
                break
            self.advance()
            right_minimum = row.precedence + (row.name not in RIGHT_ASSOCIATIVE)
            left = Apply(row.name, (left, self.expression(right_minimum)))
            self.refuse_chain(row.name)
        self.nesting -= 1
        return left

    def refuse_chain(self, op: str) -> None:
        following = INFIX.get(self.token.text)
        if following is not None and is_comparison(following):
            if is_comparison(OPERATORS[op]):
                raise self.error("comparisons do not chain: write (a < b) & (b < c)")

    def prefix(self) -> Expr:
        row = PREFIX.get(self.token.text)
        if row is None:
            return self.primary()
        self.advance()
        # -2 is one literal, but -2 ** x is -(2 ** x).
        signed = self.token.kind == "number" or self.token.text in ("inf", "nan")
        if row.name == "neg" and signed and self.ahead().text != "**":
            return Literal(-self.number())
        return Apply(row.name, (self.expression(row.precedence),))

    def primary(self) -> Expr:
        if self.token.kind == "number":
            return Literal(self.number())
        if self.token.kind == "name":
            return self.named()
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        raise self.error(f"expected an operand, got {self.token}")

    def number(self) -> int | float | complex:
        token = self.advance()
        if token.kind == "name":
            return CONSTANTS[token.text]
        if token.text.endswith("j"):
            return complex(0.0, float(token.text[:-1]))
        if not token.text.isdigit():
            return float(token.text)
        # 19 digits hold every int64; longer text is refused before it is converted.
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) >= 2**63:
            raise self.error("expected an integer below 2**63", token)
        return int(digits)

    def named(self) -> Expr:
        name = self.advance()
        if name.text in CONSTANTS:
            return Literal(CONSTANTS[name.text])
        if self.token.text == "(":
            return self.call(name)
        if self.token.text != "[" and is_function(name.text):
            message = f"expected '(' after the function {name.text!r}, got {self.token}"
            raise self.error(message)
        self.refuse_index(name, "a value")
        return Access(name.text, self.brackets(self.coordinate))

    def refuse_index(self, name: Token, wanted: str) -> None:
        if name.text in self.indices:
            message = f"expected {wanted}, got {name.text!r}, which is an index"
            raise self.error(message, name)

    def brackets(self, parse: Callable[[], str]) -> tuple[str, ...]:
        if not self.accept("["):
            return ()
        if self.accept("]"):
            return ()
        return self.index_list("]", parse)

    def index_list(self, closing: str, parse: Callable[[], str]) -> tuple[str, ...]:
        names = [parse()]
        while self.accept(","):
            names.append(parse())
        if self.token.text != closing:
            raise self.error(f"expected ',' or {closing!r}, got {self.token}")
        self.advance()
        return tuple(names)

    def index(self) -> str:
        if self.token.kind != "name" or self.token.text in CONSTANTS:
            raise self.error(f"expected the name of an index, got {self.token}")
        if self.token.text not in self.indices:
            message = (
                f"expected an index, as in sum(j, A[i,j]), got {self.token.text!r}, "
                "which no tensor has"
            )
            raise self.error(message)
        return self.advance().text

    def coordinate(self) -> str:
        """Parse an index, a window, or a sum of indices and integers."""
        if self.token.kind == "name" and self.ahead().text == "in":
            return self.window()
        terms: list[tuple[str, int]] = []
        first = 0
        sign = -1 if self.accept("-") else 1
        while True:
            index, number = self.coordinate_term()
            if index is None:
                first += sign * number
            else:
                terms.append((index, sign * number))
            if self.token.text not in ("+", "-"):
                break
            sign = -1 if self.advance().text == "-" else 1
        return affine_text(terms, first)

    def coordinate_term(self) -> tuple[str | None, int]:
        """Parse an index, an integer, or the product of both."""
        if self.token.kind != "number":
            index = self.index()
            return index, self.integer() if self.accept("*") else 1
        number = self.integer()
        return (self.index(), number) if self.accept("*") else (None, number)

    def window(self) -> str:
        index = self.index()
        self.advance()
        start = self.bound()
        self.expect(":")
        stop, step = self.bound(), None
        if self.accept(":"):
            token = self.token
            step = self.bound()
            if step == 0:
                raise self.error("expected a step that is not 0", token)
        return window_text(index, (start, stop, step))

    def bound(self) -> int | None:
        if self.accept("-"):
            return -self.integer()
        return self.integer() if self.token.kind == "number" else None

    def integer(self) -> int:
        token = self.token
        value = self.number() if token.kind == "number" else None
        if not isinstance(value, int):
            raise self.error(f"expected an integer, got {token}", token)
        return value

    def call(self, name: Token) -> Expr:
        if not is_function(name.text):
            message = (
                f"unknown function {name.text!r}; a tensor's indices stand in "
                f"brackets: {name.text}[i,j]"
            )
            raise self.error(message, name)
        op = reduction_operator(name.text)
        if op is not None and self.is_reduction(name.text):
            return self.reduction(op)
        if name.text == "complex":
            return self.complex_literal(name)
        operands = self.arguments(self.expression)
        arity = operator(name.text).arity
        if len(operands) != arity:
            message = f"{name.text}: expected {arity} operands, got {len(operands)}"
            raise self.error(message, name)
        return Apply(name.text, operands)

    def is_reduction(self, word: str) -> bool:
        # min and max are functions of two operands too: an index tells them apart.
        if not is_operator(word):
            return True
        first, second = self.ahead(1), self.ahead(2)
        return (first if first.text != "(" else second).text in self.indices

    def reduction(self, op: str) -> Expr:
        self.expect("(")
        indices = (
            self.index_list(")", self.index) if self.accept("(") else (self.index(),)
        )
        if len(set(indices)) != len(indices):
            raise self.error(f"expected distinct indices, got {', '.join(indices)}")
        self.expect(",")
        operand = self.expression()
        self.expect(")")
        return Reduce(op, indices, operand)

    def complex_literal(self, name: Token) -> Expr:
        parts = self.arguments(self.prefix)
        values = [p.value for p in parts if isinstance(p, Literal)]
        if len(parts) != 2 or len(values) != 2 or complex in map(type, values):
            raise self.error("complex: expected two real numbers", name)
        return Literal(complex(*values))

    def arguments(self, parse: Callable[[], Expr]) -> tuple[Expr, ...]:
        self.expect("(")
        operands = [parse()]
        while self.accept(","):
            operands.append(parse())
        self.expect(")")
        return tuple(operands)


def _index_names(tokens: tuple[Token, ...]) -> frozenset[str]:
    """Names that stand in brackets: what tells an index from a scalar."""
    names = set()
    inside = False
    for before, token in pairwise((None, *tokens)):
        if token is None:
            continue
        if token.text in ("[", "]"):
            inside = token.text == "["
        elif inside and token.kind == "name":
            # The word of a window: an index comes before it.
            if before is None or before.kind != "name":
                names.add(token.text)
    return frozenset(names)
