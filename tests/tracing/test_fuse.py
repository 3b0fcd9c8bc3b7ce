"""What is fused, what is refused, and when a trace is used again."""

import threading

import numpy as np
import pytest

import sparray as sp
from sparray.errors import DTypeError, SettingError, ShapeError, TraceError
from sparray.tracing.guards import guards_of

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(3)
N = 40
MASK = sp.array(np.eye(N) + np.eye(N, k=3), format="csr")
U, V = RNG.random((N, 2)), RNG.random((2, N))


@pytest.fixture
def made(monkeypatch):
    """Return the list that gets the size of each array that is computed."""
    from sparray.evaluation.execution import PlanRunner, Runner

    sizes = []
    for owner in (Runner, PlanRunner):
        run = owner.run

        def recorded(self, *args, run=run, **kwargs):
            result = run(self, *args, **kwargs)
            sizes.append(len(result.values))
            return result

        monkeypatch.setattr(owner, "run", recorded)
    return sizes


def test_a_masked_product_is_computed_where_the_mask_is(made):
    fused = sp.fuse(lambda u, v, m: (u @ v) * m)
    result = fused(U, V, MASK)
    np.testing.assert_allclose(result.todense(), (U @ V) * MASK.todense())
    # At most a factor in another order, and the result: nothing of N * N elements.
    assert max(made) <= 2 * N and made[-1] == MASK.nnz
    assert fused.index_notation(U, V, MASK) == (
        "out[i,j] = sum(i0, u[i,i0] * v[i0,j]) * m[i,j]"
    )


def test_a_residual_is_computed_over_stored_entries(made):
    fused = sp.fuse(lambda a, u, v, m: ((a - (u @ v) * m) ** 2).sum())
    result = fused(MASK, U, V, MASK)
    dense = MASK.todense()
    np.testing.assert_allclose(result, ((dense - (U @ V) * dense) ** 2).sum())
    # The residual is held for one row at a time.
    assert made == [1]


def test_attention_makes_no_full_array(made):
    @sp.fuse
    def attention(q, k, v, mask):
        e = np.exp((q @ k.T) * mask) * mask
        return (e / e.sum(axis=1, keepdims=True)) @ v

    q, k, v = (RNG.random((N, 3)) for _ in range(3))
    result = attention(q, k, v, MASK)
    dense = MASK.todense()
    e = np.exp((q @ k.T) * dense) * dense
    np.testing.assert_allclose(result, (e / e.sum(axis=1, keepdims=True)) @ v)
    # One pass over the mask: the result is all that is made.
    assert made == [N * 3]


def test_a_layer_is_two_kernels(made):
    fused = sp.fuse(lambda a, x, w, b: sp.relu(a @ (x @ w) + b))
    x, w, b = RNG.random((N, 3)), RNG.random((3, 4)) - 0.5, RNG.random(4) - 1
    wanted = np.maximum(MASK.todense() @ (x @ w) + b, 0)
    np.testing.assert_allclose(fused(MASK, x, w, b), wanted)
    assert fused.index_notation(MASK, x, w, b).count("=") == 2
    text = fused.explain(MASK, x, w, b)
    assert text.count("loops\n") == 2 and "relu" in text


def branch(x):
    return x if x.sum() > 0 else -x


def in_place(x):
    x[0] = 1
    return x


REFUSED = {
    "if": (branch, "bool of a lazy array"),
    "float": (lambda x: float(x.sum()), "float of a lazy array"),
    "int": (lambda x: int(x.sum()), "int of a lazy array"),
    "index": (lambda x: [1, 2][x.sum()], "index of a lazy array"),
    "iteration": (lambda x: [row for row in x], "iter of a lazy array"),
    "membership": (lambda x: 1 in x, "contains of a lazy array"),
    "asarray": (lambda x: np.asarray(x) + 1, "np.asarray"),
    "assignment": (in_place, r"\[...\] ="),
    "mask": (lambda x: x[x > 0], r"\[LazyArray\]"),
    "list": (lambda x: x[[0, 1]], r"\[list\]"),
    "unknown ufunc": (lambda x: np.cbrt(x), "np.cbrt"),
    "unknown function": (lambda x: np.sort(x), "np.sort"),
    "linear algebra": (lambda x: np.linalg.inv(x), "np.linalg.inv"),
    "accumulate": (lambda x: np.add.accumulate(x), "np.add.accumulate"),
    "cumsum": (lambda x: np.cumsum(x), "np.cumsum"),
    "outer": (lambda x: np.add.outer(x, x), "np.add.outer"),
    "out": (lambda x: np.add(x, 1, out=np.ones((3, 3))), "np.add.out=...."),
    "initial": (lambda x: np.sum(x, initial=3), "sum.initial=...."),
    "where": (lambda x: np.sum(x, where=np.ones(3, bool)), "sum.where=...."),
    "narrower": (lambda x: x.astype(np.float32), "astype.float32"),
    "concatenate": (lambda x: np.concatenate([x, x]), "np.concatenate"),
    "order": (lambda x: np.linalg.norm(x, 3), "np.linalg.norm"),
    "decimals": (lambda x: np.round(x, 2), "np.round"),
    "condition": (lambda x: np.where(x > 0), "where"),
    "schedule": (lambda x: sp.einsum("ij->i", x, format="csf"), "sparray.einsum"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_refused_with_its_name_and_place(name):
    function, operation = REFUSED[name]
    with pytest.raises(TraceError, match=operation) as caught:
        sp.fuse(function)(np.ones((3, 3)))
    place = f"({__file__}, line {function.__code__.co_firstlineno}"
    first = int(place.rpartition(" ")[2])
    said = str(caught.value).partition(f"({__file__}, line ")[2]
    assert 0 <= int(said.partition(")")[0]) - first <= 2


@pytest.mark.parametrize("method", ["cumsum", "argsort", "reshape", "tofile"])
def test_unknown_methods_are_refused(method):
    with pytest.raises(AttributeError, match=rf"\.{method} in .*test_fuse.py"):
        sp.fuse(lambda x: getattr(x, method)(0))(np.ones((3, 3)))


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError):
        sp.fuse(lambda x: x + "text")(np.ones(3))
    with pytest.raises(TraceError, match=r"np\.add"):
        sp.fuse(lambda x: np.add(x, None))(np.ones(3))


def test_numbers_that_a_dtype_cannot_hold_are_refused():
    with pytest.raises(DTypeError, match="a number that int8 can hold, got 1000"):
        sp.fuse(lambda x: x + 1000)(np.ones(3, np.int8))
    with pytest.raises(DTypeError, match="not negative, got -3"):
        sp.fuse(lambda x: x**-3)(np.ones(3, np.int64))


def test_shapes_that_do_not_fit_are_refused():
    for function in (
        lambda x: x @ x,
        lambda x: x + np.ones(5),
        lambda x: x.sum(axis=2),
        lambda x: x.transpose(0, 0),
        lambda x: np.einsum("ij,ij->ij", x, x.T),
        lambda x: np.max(x[:, None] * np.ones((0, 1)), axis=1),
    ):
        with pytest.raises(ShapeError):
            sp.fuse(function)(np.ones((2, 3)))


def counted(function):
    """Return a fused function and the list that gets a call for each trace."""
    calls = []
    fused = sp.fuse(function)
    trace = fused._trace
    fused._trace = lambda arguments: calls.append(1) or trace(arguments)
    return fused, calls


SCALE = 2.0
WEIGHTS = np.ones(3)


def helper(x):
    return x * SCALE


def test_a_trace_is_used_again(monkeypatch):
    fused, calls = counted(lambda x, n=1: helper(x) @ WEIGHTS + n)
    for shape in ((4, 3), (5, 3), (4, 3)):
        np.testing.assert_allclose(fused(np.ones(shape)), np.full(shape[0], 7.0))
    fused(sp.array(np.ones((4, 3)), format="csr"))
    assert len(calls) == 1
    # Another dtype, another number, an extent of 1.
    fused(np.ones((4, 3), np.float32))
    np.testing.assert_allclose(fused(np.ones((4, 3)), 2), np.full(4, 8.0))
    fused(np.ones((1, 3)))
    assert len(calls) == 4
    fused(np.ones((4, 3)))
    assert len(calls) == 4
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    np.testing.assert_allclose(fused(np.ones((4, 3))), np.full(4, 10.0))
    monkeypatch.setitem(globals(), "WEIGHTS", np.zeros(3))
    np.testing.assert_allclose(fused(np.ones((4, 3))), np.ones(4))
    assert len(calls) == 6


def test_what_a_captured_array_holds_is_read_at_each_call():
    weights = np.ones(3)
    fused, calls = counted(lambda x: x @ weights)
    derived, others = counted(lambda x: x @ (weights * 2))
    for factor in (1, 2, 3):
        weights[:] = factor
        np.testing.assert_allclose(fused(np.ones((2, 3))), np.full(2, 3.0 * factor))
        np.testing.assert_allclose(derived(np.ones((2, 3))), np.full(2, 6.0 * factor))
    # What is computed of one is a part of the program.
    assert (len(calls), len(others)) == (1, 1)


def test_code_that_asks_for_what_an_array_holds_is_traced_each_time():
    weights = np.ones(3)

    def scaled(x):
        return x * float(weights.max())

    def chosen(x):
        return x if weights[0] > 1 else -x

    def inner(x):
        return x * weights.tolist()[0]

    def nested(x):
        return inner(x)

    made, count = np.empty((3, 3)), []
    for n, function in enumerate((scaled, chosen, nested)):
        fused, calls = counted(function)
        for factor in (1, 2, 3):
            weights[:] = factor
            made[n, factor - 1] = fused(np.ones(1))[0]
        count.append(len(calls))
    np.testing.assert_allclose(made, [[1, 2, 3], [-1, 1, 1], [1, 2, 3]])
    assert count == [3, 3, 3]


def test_state_of_functions_is_no_secret():
    def helper(x):
        return x * helper.scale

    helper.scale = 2.0
    fused = sp.fuse(lambda x: helper(x))
    assert fused(np.ones(1))[0] == 2
    helper.scale = 3.0
    assert fused(np.ones(1))[0] == 3


def test_recursion_of_closures():
    matrix = np.diag([1.0, 2.0])

    @sp.fuse
    def power(x, n):
        return x if n == 0 else power(x, n - 1) @ matrix

    np.testing.assert_allclose(power(np.ones((1, 2)), 3), [[1.0, 8.0]])
    matrix[:] = np.eye(2)
    np.testing.assert_allclose(power(np.ones((1, 2)), 3), [[1.0, 1.0]])


def test_a_shape_that_is_asked_for_is_a_part_of_the_trace():
    fused, calls = counted(lambda x: x * x.shape[0] if len(x) > 3 else x)
    for n in (2, 5, 6, 2, 5):
        np.testing.assert_allclose(fused(np.ones(n)), np.ones(n) * (n if n > 3 else 1))
    assert len(calls) == 3


class Model:
    def __init__(self):
        self.scale = 2.0

    @sp.fuse
    def forward(self, x):
        return x * self.scale


def test_methods_and_objects_are_traced_each_time():
    model = Model()
    np.testing.assert_allclose(model.forward(np.ones(3)), np.full(3, 2.0))
    model.scale = 5.0
    np.testing.assert_allclose(model.forward(np.ones(3)), np.full(3, 5.0))


def test_code_that_changes_is_traced_each_time():
    state = []

    def appending(x):
        state.append(1)
        return x * len(state)

    fused = sp.fuse(appending)
    assert [float(fused(np.ones(1))[0]) for _ in range(3)] == [1.0, 2.0, 3.0]
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    fused = sp.fuse(counting)
    assert [float(fused(np.ones(1))[0]) for _ in range(3)] == [1.0, 2.0, 3.0]


def random_noise(x):
    return x + np.random.rand(3)


def imported(x):
    import time

    return x * time.time()


def test_guards_know_what_they_cannot_know():
    assert guards_of(helper) is not None
    for function in (random_noise, imported, len):
        assert guards_of(function) is None
    box = [1.0]
    assert guards_of(lambda x: x * box[0]) is None


def test_a_fused_function_inside_another_is_a_part_of_it():
    inner = sp.fuse(lambda x, m: x * m)
    outer = sp.fuse(lambda u, v, m: inner(u @ v, m))
    assert outer.index_notation(U, V, MASK).count("=") == 1


def test_nested_arguments_and_results():
    @sp.fuse
    def function(parameters, x):
        (w, b), scale = parameters["layers"], parameters["scale"]
        y = x @ w + b
        return {"y": y, "both": [y * scale, None, 3]}

    w, b = np.ones((3, 2)), np.arange(2.0)
    made = function({"layers": (w, b), "scale": 0.5}, np.ones((4, 3)))
    np.testing.assert_allclose(made["y"], np.ones((4, 3)) @ w + b)
    np.testing.assert_allclose(made["both"][0], (np.ones((4, 3)) @ w + b) / 2)
    assert made["both"][1:] == [None, 3]


def test_another_number_needs_no_other_kernel(monkeypatch):
    keys = set()
    monkeypatch.setattr(
        "sparray.evaluation.execution.load_kernel", lambda key, make: keys.add(key)
    )
    fused = sp.fuse(lambda x, rate: x * rate + 7)
    for rate in (0.1, 0.2, 0.3):
        np.testing.assert_allclose(fused(np.ones(3), rate), np.full(3, 7 + rate))
    assert len(keys) == 1


def test_several_threads():
    fused = sp.fuse(lambda x, m: (x @ x.T) * m)
    x, m = RNG.random((4, 3)), np.eye(4)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fused(x, m))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_allclose(one, (x @ x.T) * m)


def test_what_fuse_takes():
    with pytest.raises(SettingError, match="expected a function"):
        sp.fuse(3)
    with pytest.raises(SettingError, match="expected one for each of 2 results"):
        sp.fuse(lambda x: (x, x), format="csr")(np.ones(3))
    with pytest.raises(SettingError, match="missing"):
        sp.fuse(lambda x: x, missing="nan")
    assert helper.__name__ == sp.fuse(helper).__name__
    # Nothing to compute, nothing traced.
    assert sp.fuse(lambda n: n + 1)(2) == 3


def test_lazy_arrays():
    a = sp.lazy(MASK, "A")
    product = (a @ U)[:, None].sum(axis=1) * 2
    np.testing.assert_allclose(product.compute(), MASK.todense() @ U * 2)
    assert product.shape == (N, 2) and product.dtype == np.float64
    assert repr(a * 2).endswith("out[i,j] = A[i,j] * 2")
    assert (a * 2).compute(format="csc").format.name == "csc"
    assert "for i" in product.explain()
    assert sp.lazy(a) is a and len(a) == N
    # Names that mean something else in an expression.
    for name in ("sum", "i", "out", "T1", "inf", "a b", "j; k"):
        made = sp.lazy(MASK, name) + sp.lazy(np.ones(N), "i") + sp.lazy(np.ones(N))
        np.testing.assert_allclose(made.compute(), MASK.todense() + 2)
    with pytest.raises(SettingError, match="expected a str as name, got 5"):
        sp.lazy(MASK, 5)


def test_a_program_is_explained():
    text = sp.explain(
        "T[i,k] = sum(j, U[i,j] * V[j,k]); C[i,l] = sum(k, A[i,k] * T[k,l]) + T[i,l]",
        A=MASK,
        U=U,
        V=V,
    )
    assert text.count("decisions\n") >= 4 and "sum(k, A[i,k] * B[k,j])" in text


def masked_attention(q, k, v, mask):
    s = np.where(mask, q @ k.T / np.sqrt(3.0), -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v


def test_a_softmax_over_a_mask_has_entries_where_the_mask_has(made):
    q, k, v = (RNG.random((N, 3)) for _ in range(3))
    mask = MASK.todense() != 0
    wanted = masked_attention(q, k, v, mask)
    fused = sp.fuse(masked_attention)
    np.testing.assert_allclose(fused(q, k, v, mask), wanted)
    del made[:]
    np.testing.assert_allclose(fused(q, k, v, sp.array(mask, "csr")), wanted)
    assert max(made) <= 3 * N
    # A row without entries has no weights, where NumPy has 0 / 0.
    mask[2] = False
    found = fused(q, k, v, sp.array(mask, "csr"))
    assert not found[2].any()
    rest = np.arange(N) != 2
    np.testing.assert_allclose(found[rest], wanted[rest])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, c: 1 - np.where(c, x, -np.inf),
        lambda x, c: np.where(c, x, np.inf) + x,
        lambda x, c: -np.where(c, x, np.inf) - x,
        lambda x, c: np.abs(np.where(c, x, -np.inf)) + 1,
        lambda x, c: np.exp(np.where(c, x, -np.inf)) * x,
        lambda x, c: np.sqrt(np.where(c, x, -np.inf)),
        lambda x, c: np.isinf(np.where(c, x, -np.inf) + 2),
        lambda x, c: np.where(c, x, -np.inf) - np.where(c.T.T, x, 2),
        lambda x, c: (np.where(c, x, -np.inf).T - x.T).T + x,
        lambda x, c: np.where(c[:, :, None], x[:, :, None], -np.inf) + x[:, None],
        lambda x, c: np.where(c, x, np.inf) - np.where(c, x, np.inf),
    ],
)
@pytest.mark.parametrize("missing", ["zero", "fill"])
def test_infinite_choices_are_those_of_numpy(function, missing):
    x = RNG.integers(1, 9, (3, 3)).astype("float64")
    c = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]], bool)
    with np.errstate(all="ignore"):
        wanted = function(x, c)
    for mask in (c, sp.array(c, "csr")):
        found = sp.fuse(function, missing=missing)(x, mask)
        if isinstance(found, sp.SparseArray):
            found = found.todense()
        np.testing.assert_allclose(found, wanted)


def test_slices_depend_on_the_shape():
    fused, calls = counted(lambda x: x[1:3] * x[:2] + x[-1])
    for n in (5, 3, 2, 5, 3):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(fused(x), x[1:3] * x[:2] + x[-1])
    assert len(calls) == 3
    with pytest.raises(IndexError):
        sp.fuse(lambda x: x[7])(np.ones(3))
    with pytest.raises(ShapeError):
        sp.fuse(lambda x: x[0, 0])(np.ones(3))
    with pytest.raises(ShapeError):
        sp.fuse(lambda x: x[None][3:])(np.ones(3))
