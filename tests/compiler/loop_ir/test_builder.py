"""The builder nests blocks as its `with` statements nest, and helpers fold."""

import pytest

from sparray.compiler.loop_ir import builder
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, Names, literal
from sparray.errors import InternalError

X = ir.Var("x")
Y = ir.Var("y")
P = ir.Var("p", "bool")
BIG = literal(2**62)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (builder.add(X, literal(0)), X),
        (builder.add(literal(0), X), X),
        (builder.add(literal(2), literal(3)), literal(5)),
        (builder.add(X, Y), ir.Binary("add", X, Y, "int64")),
        (builder.add(BIG, BIG), ir.Binary("add", BIG, BIG, "int64")),
        (builder.sub(X, literal(0)), X),
        (builder.sub(X, X), literal(0)),
        (builder.sub(literal(0), X), ir.Binary("sub", literal(0), X, "int64")),
        (builder.mul(X, literal(1)), X),
        (builder.mul(literal(1), X), X),
        (builder.mul(X, literal(0)), literal(0)),
        (builder.mul(literal(4), literal(3)), literal(12)),
        (builder.minimum(X, X), X),
        (builder.minimum(literal(4), literal(3)), literal(3)),
        (builder.less(literal(1), literal(2)), literal(True)),
        (builder.less(X, X), literal(False)),
        (builder.less_equal(X, X), literal(True)),
        (builder.equal(X, X), literal(True)),
        (builder.equal(X, Y), ir.Binary("eq", X, Y, "bool")),
        (builder.logical_and(literal(True), P), P),
        (builder.logical_and(P, literal(False)), literal(False)),
        (builder.cast(X, "int64"), X),
        (builder.cast(X, "float32"), ir.Cast(X, "float32")),
        (literal(1.5), ir.Literal(1.5, "float64")),
    ],
)
def test_helper_folds(made: ir.Expr, expected: ir.Expr) -> None:
    assert made == expected


def test_names_are_unique_across_builders() -> None:
    names = Names(["i"])
    first, second = Builder(names), Builder(names)
    assert [first.fresh("i"), second.fresh("i"), second.fresh("j")] == [
        "i_2",
        "i_3",
        "j",
    ]


def test_blocks_nest() -> None:
    b = Builder()
    total = b.declare("t", literal(0))
    with b.loop("i", literal(0), X, step=2) as i:
        with b.branch(builder.less(i, Y)):
            b.increment(total)
        with b.otherwise():
            b.increment(total, i)
    with b.loop_while(builder.less(total, X)):
        b.increment(total)
    assert b.block() == ir.Block(
        (
            ir.Declare(total, literal(0)),
            ir.For(
                i,
                literal(0),
                X,
                ir.Block(
                    (
                        ir.If(
                            builder.less(i, Y),
                            ir.Block(
                                (ir.Assign(total, builder.add(total, literal(1))),)
                            ),
                            ir.Block((ir.Assign(total, builder.add(total, i)),)),
                        ),
                    )
                ),
                2,
            ),
            ir.While(
                builder.less(total, X),
                ir.Block((ir.Assign(total, builder.add(total, literal(1))),)),
            ),
        )
    )


def test_otherwise_needs_a_branch() -> None:
    b = Builder()
    b.comment("nothing to be otherwise of")
    with pytest.raises(InternalError, match="expected a branch"), b.otherwise():
        pass


def test_block_needs_closed_scopes() -> None:
    b = Builder()
    with (
        pytest.raises(InternalError, match="1 open"),
        b.loop("i", literal(0), X),
    ):
        b.block()
