"""Sparsifiers: what they keep, in which formats, and what they refuse."""

import itertools
import resource

import numpy as np
import pytest
import torch

import sparray.torch as spt
from sparray.errors import PatternError, ScoreError, ShapeError, UnsupportedError
from sparray.formats.combinations import combinations
from sparray.torch.sparsifiers.blocks import in_blocks, out_of_blocks
from sparray.torch.sparsifiers.grouping import group_columns
from sparray.torch.sparsifiers.selection import largest


def weights(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def mask_of(made):
    return spt.SparseTensor(made.pattern, made.pattern.ones).to_dense()


def fed(sparsifier, w):
    """Return a sparsifier that has seen what it must see before it chooses."""
    if isinstance(sparsifier, spt.Movement | spt.Fisher):
        leaf = w.clone().requires_grad_()
        (leaf**3).sum().backward()
        sparsifier.observe(leaf)
    elif isinstance(sparsifier, spt.Wanda | spt.SparseGPT):
        sparsifier.observe(weights(50, w.shape[-1], seed=1))
    return sparsifier


FRACTIONS = [spt.RandomFraction, spt.Magnitude, spt.Movement, spt.Fisher]
EVERY = [
    lambda: spt.KeepAll(),
    lambda: spt.KeepNonzero(),
    lambda: spt.Threshold(0.5),
    *(lambda kind=kind: kind(0.75) for kind in [*FRACTIONS, spt.Wanda, spt.SparseGPT]),
    lambda: spt.PerBlock(0.5, (2, 4)),
    lambda: spt.WholeBlocks(0.5, (2, 4)),
    lambda: spt.NM(2, 4),
    lambda: spt.GroupedNM(1, 2, 2),
    lambda: spt.HardConcrete((8, 12), open=0.5),
]


@pytest.mark.parametrize("make", EVERY)
def test_result_is_what_the_mask_keeps_of_the_values(make):
    w = weights(8, 12)
    sparsifier = fed(make(), w)
    made = sparsifier(w)
    mask, values = sparsifier.decide(w)
    torch.testing.assert_close(made.to_dense(), values * mask)
    if not isinstance(sparsifier, spt.SparseGPT | spt.HardConcrete):
        torch.testing.assert_close(values, w)


@pytest.mark.parametrize("make", EVERY)
def test_values_stay_in_the_graph_of_the_input(make):
    w = weights(8, 12).requires_grad_()
    sparsifier = fed(make(), w.detach())
    made = sparsifier(w)
    if isinstance(sparsifier, spt.SparseGPT):
        assert not made.requires_grad
        return
    made.values().sum().backward()
    if isinstance(sparsifier, spt.HardConcrete):
        torch.testing.assert_close(w.grad, sparsifier.gates().detach())
    else:
        torch.testing.assert_close(w.grad, sparsifier.keep(w.detach()).float())


@pytest.mark.parametrize("make", EVERY)
def test_choice_is_the_same_in_every_run(make):
    w = weights(8, 12)
    first, again = (fed(make(), w)(w) for _ in range(2))
    assert torch.equal(first.to_dense(), again.to_dense())


@pytest.mark.parametrize("kind", [*FRACTIONS, spt.Wanda, spt.SparseGPT])
@pytest.mark.parametrize("fraction", [0, 0.3, 0.9, 1])
def test_fractions_drop_as_many_as_they_say(kind, fraction):
    w = weights(6, 10)
    kept = fed(kind(fraction), w).keep(w)
    per_row = kind is spt.Wanda
    expected = 6 * (10 - round(10 * fraction)) if per_row else 60 - round(60 * fraction)
    assert int(kept.sum()) == expected


@pytest.mark.parametrize("kind", [*FRACTIONS, spt.Wanda, spt.SparseGPT])
@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_fractions_outside_their_range_are_refused(kind, fraction):
    with pytest.raises(ScoreError, match="from 0 to 1"):
        kind(fraction)


@pytest.mark.parametrize("kind", [spt.Movement, spt.Fisher, spt.Wanda, spt.SparseGPT])
def test_those_that_observe_say_so_when_they_have_not(kind):
    with pytest.raises(ScoreError, match="call observe"):
        kind(0.5)(weights(4, 4))


def test_magnitude_keeps_the_largest_and_the_first_of_equal_ones():
    w = torch.tensor([[1.0, -4.0, 4.0], [4.0, 2.0, -4.0]])
    assert spt.Magnitude(0.5).keep(w).tolist() == [
        [False, True, True],
        [True, False, False],
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_magnitude_in_other_dtypes(dtype):
    w = weights(5, 7, dtype=dtype)
    made = spt.Magnitude(0.6)(w)
    assert made.dtype == dtype and made.nnz == 14
    dropped = w[~mask_of(made)].abs().max()
    assert made.values().abs().min() >= dropped


def test_magnitude_of_a_whole_model():
    small, large = weights(4, 5) / 100, weights(3, 2)
    masks = spt.Magnitude(0.5).keep_of_all([small, large])
    assert [int(m.sum()) for m in masks] == [7, 6]
    assert small[masks[0]].abs().min() >= small[~masks[0]].abs().max()


def test_nan_is_refused():
    w = torch.tensor([[1.0, float("nan")]])
    for sparsifier in (spt.Magnitude(0.5), spt.NM(1, 2), spt.GroupedNM(1, 2, 1)):
        with pytest.raises(ScoreError, match="NaN"):
            sparsifier(w)


def test_threshold_keeps_equal_ones_and_nan():
    w = torch.tensor([0.5, -0.5, 0.4, float("nan")])
    assert spt.Threshold(0.5).keep(w).tolist() == [True, True, False, True]
    with pytest.raises(ScoreError, match="not negative"):
        spt.Threshold(-1)


@pytest.mark.parametrize("shape", [(8, 12), (7, 10), (3, 7, 10)])
@pytest.mark.parametrize("block", [4, (2, 4), (3, 3)])
def test_blocks_are_cut_and_joined_again(shape, block):
    sizes = (block,) if isinstance(block, int) else block
    x = weights(*shape)
    blocks = in_blocks(x, sizes, -9)
    assert blocks.shape[-1] == np.prod(sizes)
    assert torch.equal(out_of_blocks(blocks, sizes, x.shape), x)
    first = x[(..., *(slice(0, n) for n in sizes))].flatten(-len(sizes))
    at = (..., *(0 for _ in sizes), slice(None))
    assert torch.equal(blocks[at], first)


def test_per_block_keeps_the_largest_of_each():
    w = weights(6, 8)
    kept = spt.PerBlock(0.75, (3, 4)).keep(w)
    for rows, columns in itertools.product((slice(0, 3), slice(3, 6)), range(0, 8, 4)):
        at = (rows, slice(columns, columns + 4))
        assert torch.equal(kept[at], spt.Magnitude(0.75).keep(w[at]))


def test_whole_blocks_are_stored_as_blocks():
    w = weights(8, 12)
    made = spt.WholeBlocks(0.5, (4, 3))(w)
    assert made.format.name == "bcsr(4, 3)"
    norms = w.reshape(2, 4, 4, 3).square().sum((1, 3)).flatten()
    kept = mask_of(made).reshape(2, 4, 4, 3).all(3).all(1).flatten()
    assert kept.sum() == 4 and norms[kept].min() >= norms[~kept].max()
    assert made.nnz == 4 * 12


def test_whole_blocks_over_the_edge():
    made = spt.WholeBlocks(0, (4, 3))(weights(7, 10).requires_grad_())
    assert torch.equal(mask_of(made)[:7, :10], torch.ones(7, 10, dtype=torch.bool))
    torch.testing.assert_close(made.to_dense(), weights(7, 10))


@pytest.mark.parametrize(("n", "m", "dim"), [(2, 4, -1), (1, 3, 0), (3, 5, 1)])
def test_n_of_m_keeps_the_largest_of_each_m(n, m, dim):
    w = weights(9, 10)
    kept = spt.NM(n, m, dim).keep(w).movedim(dim, -1)
    scores = w.abs().movedim(dim, -1)
    for first in range(0, scores.shape[1], m):
        part, chosen = scores[:, first : first + m], kept[:, first : first + m]
        count = min(n, part.shape[1])
        assert (chosen.sum(1) == count).all()
        least = part.masked_fill(~chosen, torch.inf).min(1).values
        assert (least >= part.masked_fill(chosen, -1).max(1).values).all()


def test_n_of_m_that_does_not_divide_is_padded_and_trains():
    w = weights(3, 6).requires_grad_()
    made = spt.NM(2, 4)(w)
    assert made.format.name == "nm(2, 4)"
    torch.testing.assert_close(made.to_dense(), w * spt.NM(2, 4).keep(w.detach()))
    (made @ torch.ones(6, 2)).sum().backward()
    torch.testing.assert_close(w.grad, 2.0 * spt.NM(2, 4).keep(w.detach()))


@pytest.mark.parametrize(("n", "m"), [(3, 2), (0, 4)])
def test_n_of_m_that_is_none(n, m):
    for make in (spt.NM, lambda n, m: spt.GroupedNM(n, m, 1)):
        with pytest.raises(ScoreError, match="1 <= n <= m"):
            make(n, m)


@pytest.mark.parametrize(
    ("n", "m", "g", "dim", "shape"),
    [(1, 2, 2, 0, (8, 12)), (2, 4, 2, 0, (10, 30)), (1, 3, 4, 1, (25, 8))],
)
def test_grouped_patterns_fit_their_format(n, m, g, dim, shape):
    w = weights(*shape).requires_grad_()
    made = spt.GroupedNM(n, m, g, dim)(w)
    kept = spt.GroupedNM(n, m, g, dim).keep(w.detach())
    # The conversion refuses what is not grouped.
    torch.testing.assert_close(made.to_dense(), w * kept)
    made.to_dense().sum().backward()
    torch.testing.assert_close(w.grad, kept.float())
    free = spt.NM(n, m, dim).keep(w.detach())
    assert (w.abs() * kept).sum() > 0.8 * (w.abs() * free).sum()


def test_grouping_against_every_assignment():
    # 4 columns, 2 patterns with room for 2: six assignments.
    scores = weights(50, 4, 2, seed=3).abs()
    chosen = group_columns(scores, 2, swaps=10)
    assert (chosen.sum(1) == 2).all()
    kept = scores.gather(2, chosen[..., None]).sum((1, 2))
    ways = [[int(c in pair) for c in range(4)] for pair in combinations(2, 4)]
    best = torch.stack([scores[:, range(4), way].sum(1) for way in ways]).max(0).values
    torch.testing.assert_close(kept, best)


def test_grouping_exchanges_until_nothing_is_gained():
    scores = weights(3, 24, 6, seed=4).abs()
    few, many = (group_columns(scores, 4, swaps=n) for n in (0, 100))
    kept = [scores.gather(2, c[..., None]).sum() for c in (few, many)]
    assert kept[1] >= kept[0]
    for chosen in (few, many):
        counts = torch.nn.functional.one_hot(chosen, 6).sum(1)
        assert (counts == 4).all()
    # No exchange of two columns is left that keeps more.
    for c, d in itertools.combinations(range(24), 2):
        now = scores[range(3), c, many[:, c]] + scores[range(3), d, many[:, d]]
        then = scores[range(3), c, many[:, d]] + scores[range(3), d, many[:, c]]
        assert (then <= now + 1e-5).all()


def test_movement_follows_its_definition():
    movement = spt.Movement(0.5)
    expected = torch.zeros(3, 4)
    for seed in range(3):
        w, g = weights(3, 4, seed=seed), weights(3, 4, seed=seed + 9)
        leaf = w.clone().requires_grad_()
        (leaf * g).sum().backward()
        movement.observe(leaf)
        expected -= w * g
    torch.testing.assert_close(movement.scores(w), expected)


def test_fisher_follows_its_definition():
    fisher = spt.Fisher(0.5)
    w = weights(3, 4)
    squares = torch.zeros(3, 4)
    for seed in range(4):
        g = weights(3, 4, seed=seed + 5)
        leaf = w.clone().requires_grad_()
        (leaf * g).sum().backward()
        fisher.observe(leaf)
        squares += g**2 / 4
    torch.testing.assert_close(fisher.scores(w), w**2 * squares / 2)


def test_observing_a_sparse_weight():
    W = spt.tensor(torch.tensor([[1.0, 0.0], [0.0, -2.0]]), requires_grad=True)
    (W @ torch.ones(2)).sum().backward()
    movement = spt.Movement(0.75)
    movement.observe(W)
    assert movement(W).to_dense().tolist() == [[0, 0], [0, -2]]
    with pytest.raises(ScoreError, match="after backward"):
        movement.observe(torch.ones(2, 2))


def test_wanda_weighs_by_the_inputs():
    w = torch.tensor([[1.0, 2.0], [3.0, 1.0]])
    wanda = spt.Wanda(0.5)
    wanda.observe(torch.tensor([[[3.0, 1.0]], [[4.0, 0.0]]]))
    torch.testing.assert_close(wanda.scores(w), torch.tensor([[5.0, 2], [15, 1]]))
    assert wanda.keep(w).tolist() == [[True, False], [True, False]]
    with pytest.raises(ShapeError, match="as observed"):
        wanda.keep(torch.ones(2, 3))


def test_sparse_gpt_makes_up_for_what_it_drops():
    # Features depend on each other: what is dropped can be shared out.
    inputs = weights(400, 20, seed=2) @ weights(20, 40, seed=3)
    w = weights(30, 40)
    sparsifier = spt.SparseGPT(0.5, block=8)
    sparsifier.observe(inputs)
    made = sparsifier(w).to_dense()

    def error(other):
        return float(torch.linalg.norm(inputs @ (other - w).T))

    plain = w * spt.Magnitude(0.5).keep(w)
    wanda = spt.Wanda(0.5)
    wanda.observe(inputs)
    assert error(made) < 0.75 * min(error(plain), error(wanda(w).to_dense()))
    # The same weights dropped without making up for them are worse.
    assert error(made) < 0.75 * error(w * (made != 0))


def test_sparse_gpt_is_exact_where_inputs_allow_it():
    # The last feature is the sum of the others: its weights can be shared out.
    rest = weights(100, 3, seed=5, dtype=torch.float64)
    inputs = torch.cat([rest, rest.sum(1, keepdim=True)], 1)
    w = torch.tensor([[1.0, 2.0, 3.0, 0.1]], dtype=torch.float64)
    sparsifier = spt.SparseGPT(0.25, damping=1e-9)
    sparsifier.observe(inputs)
    made = sparsifier(w)
    assert made.nnz == 3
    torch.testing.assert_close(
        inputs @ made.to_dense().T, inputs @ w.T, rtol=1e-4, atol=1e-4
    )


def test_gates_learn_which_elements_are_needed():
    gates = spt.HardConcrete((1, 6), open=0.9)
    x = torch.ones(1, 6)
    target = torch.tensor([[1.0, 1, 1, 0, 0, 0]])
    optimizer = torch.optim.Adam([gates.log_odds], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((gates.sample(x) - target) ** 2).sum() + 0.05 * gates.penalty()
        loss.backward()
        optimizer.step()
    assert gates.keep(x).tolist() == [[True] * 3 + [False] * 3]
    assert gates(x).nnz == 3


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_gates_are_open_as_often_as_they_say(chance):
    gates = spt.HardConcrete((100, 100), open=chance)
    drawn = gates.sample(torch.ones(100, 100))
    assert abs(float((drawn > 0).float().mean()) - chance) < 0.02
    assert abs(float(gates.penalty().detach()) / 1e4 - chance) < 1e-4


def test_rigl_drops_the_smallest_and_grows_by_gradient():
    w = weights(6, 6)
    W = spt.Magnitude(0.5)(w)
    gradient = weights(6, 6, seed=8)
    rigl = spt.RigL(1 / 3)
    rigl.observe(gradient)
    made = rigl(W)
    before, after = mask_of(W), mask_of(made)
    assert made.nnz == W.nnz
    kept = before & after & (made.to_dense() != 0)
    assert int(kept.sum()) == 12
    dropped = before & ~kept
    assert w[kept].abs().min() >= w[dropped].abs().max()
    grown = after & ~kept
    assert gradient[grown].abs().min() >= gradient[~after].abs().max()
    assert (made.to_dense()[grown] == 0).all()
    rigl.forget()
    with pytest.raises(ScoreError, match="call observe"):
        rigl(W)


def test_set_grows_elsewhere_each_time():
    W = spt.Magnitude(0.5)(weights(10, 10))
    sparsifier = spt.SET(0.4)
    made = [sparsifier(W) for _ in range(2)]
    assert {m.nnz for m in made} == {50}
    assert not torch.equal(mask_of(made[0]), mask_of(made[1]))
    assert torch.equal(mask_of(spt.SET(0.4)(W)), mask_of(made[0]))


def test_regrowing_needs_a_sparse_tensor():
    with pytest.raises(UnsupportedError, match="sparsify it first"):
        spt.SET(0.5)(weights(3, 3))


def test_entries_that_are_not_stored_are_not_kept():
    W = spt.tensor(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
    assert spt.Magnitude(0)(W).nnz == 2
    assert spt.KeepAll()(W).nnz == 2
    assert spt.KeepAll()(W.to_dense()).nnz == 4


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bcsr(3, 2)", "ell", "dcsr"])
def test_every_format_holds_what_is_kept(format):
    w = weights(7, 9).requires_grad_()
    made = spt.Magnitude(0.8)(w, format=format)
    kept = spt.Magnitude(0.8).keep(w.detach())
    torch.testing.assert_close(made.to_dense(), w * kept)
    made.to_dense().sum().backward()
    torch.testing.assert_close(w.grad, kept.float())


def test_format_that_cannot_hold_it():
    with pytest.raises(PatternError, match="at most 2 entries"):
        spt.Magnitude(0.1)(weights(4, 8), format="nm(2, 4)")


@pytest.mark.parametrize("count", [0, 1, 5, 12, 13])
def test_largest_of_each_row(count):
    scores = weights(4, 12).round()
    mask = largest(scores, count)
    order = torch.sort(scores, descending=True, stable=True).indices[:, :count]
    expected = torch.zeros(4, 12, dtype=torch.bool).scatter_(1, order, True)
    assert torch.equal(mask, expected)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match="expected a matrix"):
        spt.GroupedNM(1, 2, 1)(weights(4))
    with pytest.raises(ShapeError, match="at most 1 extents"):
        spt.WholeBlocks(0.5, (2, 2))(weights(4))
    with pytest.raises(ShapeError, match="positive extents"):
        spt.PerBlock(0.5, (0, 2))


SPARSE_TO_SPARSE = [
    spt.KeepAll(),
    spt.KeepNonzero(),
    spt.Threshold(1.0),
    spt.Magnitude(1 - 1e-6),
]


@pytest.mark.parametrize("sparsifier", SPARSE_TO_SPARSE)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bcsr(2, 2)"])
def test_entries_are_chosen_as_of_a_dense_copy(sparsifier, format):
    w = weights(8, 12) * (weights(8, 12, seed=3) > 0)
    if isinstance(sparsifier, spt.Magnitude):
        sparsifier = spt.Magnitude(0.7)
    x = spt.tensor(w, format, requires_grad=True)
    made = sparsifier(x, format)
    mask = sparsifier.keep(w) & mask_of(x)
    torch.testing.assert_close(made.to_dense(), w * mask)
    assert made.format.name == format
    made.values().sum().backward()
    # Blocks store some zeros that were not kept.
    kept = mask_of(sparsifier(x, "coo"))
    torch.testing.assert_close(x.grad.to_dense(), (kept & mask_of(x)).float())


@pytest.mark.parametrize("sparsifier", SPARSE_TO_SPARSE)
def test_no_dense_copy_of_a_sparse_input(sparsifier, monkeypatch):
    n = 60_000
    rows, columns = torch.arange(n), (torch.arange(n) * 7) % n
    values = weights(n)
    x = spt.tensor(
        torch.sparse_coo_tensor(
            torch.stack([rows, columns]), values, (n, n), check_invariants=True
        ),
        "csr",
    )
    monkeypatch.setattr(spt.SparseTensor, "to_dense", None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = sparsifier(x, "csc")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # A dense copy takes 14 GB, a mask 3.6 GB; entries take 0.25 MB each time.
    assert used < 100_000
    kept = min(n, 3600) if isinstance(sparsifier, spt.Magnitude) else made.nnz
    assert made.nnz == kept > 0


def test_magnitude_of_several_tensors_takes_sparse_ones_as_they_are():
    first, second = weights(4, 6), weights(3, 5, seed=1) * (weights(3, 5, seed=2) > 0)
    sparse = spt.tensor(second, "csc")
    dense = spt.Magnitude(0.6).keep_of_all([first, second])
    mixed = spt.Magnitude(0.6).keep_of_all([first, sparse])
    assert torch.equal(mixed[0], dense[0])
    kept = spt.SparseTensor(sparse.pattern, mixed[1]).to_dense()
    assert torch.equal(kept, dense[1])
