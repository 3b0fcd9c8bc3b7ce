"""Inputs from public bug reports, as far as expressions, operators and sums reach.

Each case is answered here, at the boundary (`test_cases_boundary.py`), or is listed
with the area that will answer it: none is left out silently.
"""

import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bug_reports import CASES, numbers, operand, reference
from oracle_check import interpreted

import sparray as sp
from sparray.errors import PatternError
from sparray.formats import NAMED_FORMATS, Format, named_format

CSF = "(i, j) -> (i: compressed, j: compressed)"


def elements(array):
    """Return the elements of a result, which is dense if its operands are."""
    return array.todense() if isinstance(array, sp.SparseArray) else array


def assigned(array, index, value):
    """Assign to an array, and return it."""
    array[index] = value
    return array


ANSWERS = {
    "case_024": lambda A: A[1:2, 1:2, 1:3, 1:2, 1:3, 1:4, 1:3],
    "case_028": lambda A: A[1, ::-2],
    "case_031": lambda A: assigned(A, A < 0, np.nan),
    "case_032": lambda A: A[[]],
    "case_034": lambda A: A[:, [2, 1]],
    "case_036": lambda A: np.concatenate(
        [elements(part).ravel() for part in (A[..., 1], A[1, ..., 0], A[0, ...])]
    ),
    "case_038": lambda A: A[[0, 0, 0]],
    "case_040": lambda A, block: assigned(A, (slice(0, 2), slice(1, 3)), block),
    "case_042": lambda A, d: assigned(A, (range(3), range(3)), d)[:, 1:3],
    "case_116": lambda A: sp.concat([A, A]),
    "case_118": lambda A: sp.concat([A, A, A]),
    "case_121": lambda A: A.diagonal(),
    "case_122": lambda A: np.concatenate([elements(A.diagonal(k)) for k in (1, -2, 3)]),
    "case_025": lambda A, B: elements(A @ B)[[2, 0]],
    "case_045": lambda A, d: sp.compute(
        "C[i,j,k] = A[i,j] * d[k]", A=A, d=d.ravel()
    ),
    "case_047": lambda A, d: sp.compute(
        "C[n,i,j] = A[z,i,j] * d[n,y,j]", A=A, d=d
    ),
    "case_050": lambda A, d: A * d,
    "case_054": lambda A: np.concatenate(
        [[sp.compute("c = sum((i, j), A[i,j] + 1)", A=A)],
         sp.compute("c[j] = sum(i, A[i,j] + 1)", A=A)]
    ),
    "case_056": lambda A, B: A * B,
    "case_058": lambda X: sp.compute(
        "C[i,j] = G[i,j] * (1 - G[j,i])", G=sp.einsum("ki,kj->ij", X, X)
    ),
    "case_060": lambda A, B: A * B,
    "case_061": lambda A: sp.compute("C[i,j] = A[i,j] ** 0", A=A),
    "case_064": lambda A: A + A + A + A + A + A + A + A,
    "case_065": lambda A, B: (A + B).astype("float32"),
    "case_069": lambda B, C: B + C.T,
    "case_070": lambda A: np.concatenate([A.sum(1), A.mean(0)]),
    "case_071": lambda A: A @ A.T,
    "case_073": lambda A: A.sum(0),
    "case_075": lambda A: A.sum(()),
    "case_077": lambda A: A.sum(1),
    "case_078": lambda A: np.append(A.argmin(0), A.argmin()),
    "case_084": lambda A: np.append(A.var(), A.var(1)),
    "case_087": lambda A: A.max(1),
    "case_089": lambda A: np.stack(
        [A.sum(0), A.prod(0), A.any(0).astype(float), A.all(0).astype(float)]
    ),
    "case_081": lambda A: A.sum(1),
    "case_092": lambda v, L: sp.einsum("i,ijk->jk", v, L),
    "case_093": lambda A, B: A @ B,
    "case_098": lambda G, p: sp.einsum("ijk,i->jk", G, p, format=CSF),
    "case_104": lambda B, c: sp.einsum("ijk,k->ij", B, c, format="dense"),
    "case_105": lambda B, c: sp.einsum("jik,k->ij", B, c),
    "case_108": lambda A, B: A @ B,
    "case_110": lambda A, B: A @ B,
    "case_144": lambda A: (A + A).sum(0),
}  # fmt: skip

# Sums of squares, which NumPy adds up in another order: they differ in the last bit.
ROUNDED = {"case_084"}

AT_THE_BOUNDARY = {
    f"case_{number}"
    for number in (
        "001 003 005 007 009 012 014 015 018 019 021 022 023 048 126 127".split()
    )
}
BELOW = {
    f"case_{number}" for number in "019 021 029 067 082 083 119 122 124 142".split()
}
ELSEWHERE = {
    "gradients, in tests/torch": "130 132 134 136".split(),
    "softmax, in tests/torch": "139 141".split(),
}


def setup(case, form):
    """Make a case's operands in a format; NumPy arrays stay what they are."""
    made = {}
    for name, entry in case["setup"].items():
        if not isinstance(entry, dict):
            made[name] = entry
        elif entry["given"] == "numpy":
            made[name] = reference(entry)
        else:
            array = operand(entry)
            named = form if form != "csr" or array.ndim >= 2 else "csf"
            made[name] = array.to_format(named)
    return made


@pytest.mark.parametrize("form", ["coo", "csr", "csf"])
@pytest.mark.parametrize("case_id", ANSWERS)
def test_answers(case_id, form):
    case = CASES[case_id]
    found = ANSWERS[case_id](**setup(case, form))
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    expected = case["expected"]
    assert np.shape(found) == tuple(expected["shape"])
    assert np.asarray(found).dtype == expected["dtype"]
    wanted = np.array(numbers(expected["values"])).reshape(expected["shape"])
    if case_id in ROUNDED:
        np.testing.assert_allclose(found, wanted, rtol=2**-52)
    else:
        np.testing.assert_array_equal(found, wanted)


# Kernels compiled, or processes started, that another format makes no difference to.
COMPILED = {"case_144"}


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted({*NAMED_FORMATS} - {"coo", "csr", "csf"}))
def test_answers_in_every_named_format(form):
    """By the interpreter, wherever a format has the dimensions of an operand."""
    answered = 0
    for case_id in sorted(ANSWERS.keys() - COMPILED):
        case = CASES[case_id]
        operands = [e for e in case["setup"].values() if isinstance(e, dict)]
        sparse = [e for e in operands if e["given"] != "numpy"]
        if not all(NAMED_FORMATS[form].fits(len(e["shape"])) for e in sparse):
            continue
        try:
            made = setup(case, form)
        except PatternError:
            continue
        with interpreted():
            found = ANSWERS[case_id](**made)
        found = found.todense() if isinstance(found, sp.SparseArray) else found
        expected = case["expected"]
        wanted = np.array(numbers(expected["values"])).reshape(expected["shape"])
        assert np.asarray(found).dtype == expected["dtype"], case_id
        np.testing.assert_allclose(found, wanted, rtol=2**-50, err_msg=case_id)
        answered += 1
    assert answered > 3


@pytest.mark.parametrize("form", ["coo", "csf", "bitmap", "dense"])
def test_case_083_each_nan_is_an_element_of_its_own(form):
    case = CASES["case_083"]
    array = operand(case["setup"]["A"]).to_format(form)
    values, counts = sp.unique_counts(array)
    nan, expected = np.isnan(values), case["expected"]
    assert values[~nan].tolist() == expected["values_sorted_non_nan"]
    assert counts[~nan].tolist() == expected["counts"]
    assert nan.sum() == expected["nan_entries"]
    assert counts[nan].tolist() == expected["nan_counts"]


def test_every_case_has_its_place():
    elsewhere = {f"case_{n}" for numbers in ELSEWHERE.values() for n in numbers}
    assert {*ANSWERS, *AT_THE_BOUNDARY, *BELOW, *elsewhere} == set(CASES)
    assert not elsewhere & {*ANSWERS, *AT_THE_BOUNDARY, *BELOW}


def test_case_019_the_sum_of_a_shape_beyond_2_32():
    case = CASES["case_019"]
    assert operand(case["setup"]["A"]).sum() == case["expected"]["sum"]


@pytest.mark.parametrize("form", ["coo", "csf"])
def test_case_021_the_sum_over_64_dimensions(form):
    case = CASES["case_021"]
    assert operand(case["setup"]["A"]).to_format(form).sum() == case["expected"]["sum"]


def test_case_029_an_integer_index_costs_what_it_finds():
    case = CASES["case_029"]
    array = operand(case["setup"]["A"])
    expected = case["expected"]
    array = array.to_format("csf")
    tracemalloc.start()
    found = array[1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < expected["max_extra_bytes"]
    assert found.shape == tuple(expected["shape"])
    coords, values = found.to_coords()
    assert coords.tolist() == expected["coords"]
    assert values.tolist() == expected["values"]


@pytest.mark.parametrize("form", ["dia", "csc", "bcsr(2, 2)"])
def test_case_122_diagonals_of_diagonals(form):
    case = CASES["case_122"]
    array = operand(case["setup"]["A"]).to_format(form)
    found = np.concatenate([array.diagonal(k).todense() for k in (1, -2, 3)])
    np.testing.assert_array_equal(found, case["expected"]["values"])


def test_case_119_arrays_of_two_fill_values_are_joined_on_purpose():
    made = setup(CASES["case_119"], "coo")
    with pytest.raises(ValueError, match="one fill value, got nan and 0"):
        sp.concat([made["A"], made["B"]])
    on_purpose = sp.array(made["B"].todense(), fill_value=np.nan)
    found = sp.concat([made["A"], on_purpose]).todense()
    expected = numbers(CASES["case_119"]["expected"]["values"])
    np.testing.assert_array_equal(found, expected)


def test_case_124_diagonals_in_a_shape_without_rows():
    case = CASES["case_124"]
    setup = case["setup"]
    found = sp.diags(setup["diagonals"], offsets=setup["offsets"], shape=setup["shape"])
    assert found.shape == tuple(case["expected"]["shape"])
    assert found.nnz == case["expected"]["nnz"]


def test_case_067_what_is_not_stored_annihilates_nan():
    # NumPy's answer has NaN; ours is the documented rule of `sparray.einsum`.
    made = setup(CASES["case_067"], "coo")
    result = made["A"] * made["d"]
    assert result.nnz == 0
    assert result.todense().tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("form", ["coo", "csf"])
def test_case_082_nothing_stored_in_a_huge_shape(form):
    case = CASES["case_082"]
    result = operand(case["setup"]["A"]).to_format(form).sum(0)
    assert result.shape == tuple(case["expected"]["shape"])
    assert result.nnz == 0


def test_case_110_the_pattern_is_that_of_the_operands():
    made = setup(CASES["case_110"], "csr")
    assert {(made["A"] @ made["B"]).nnz for _ in range(3)} == {4}


def test_case_089_no_element_has_no_maximum():
    array = setup(CASES["case_089"], "coo")["A"]
    with pytest.raises(ValueError, match="no max"):
        array.max(0)


def test_case_092_every_mixture_of_sparse_and_dense():
    case = CASES["case_092"]
    sparse = setup(case, "coo")
    dense = {name: array.todense() for name, array in sparse.items()}
    expected = np.array(numbers(case["expected"]["values"]))
    for v in (sparse["v"], dense["v"]):
        for tensor in (sparse["L"], dense["L"]):
            found = sp.einsum("i,ijk->jk", v, tensor)
            found = found if isinstance(found, np.ndarray) else found.todense()
            np.testing.assert_array_equal(found, expected)


def test_case_047_extents_of_one_are_broadcast():
    made = setup(CASES["case_047"], "coo")
    found = made["A"] * made["d"]
    expected = made["A"].todense() * np.asarray(made["d"])
    np.testing.assert_array_equal(found.todense(), expected)


def test_case_142_processes_that_meet_in_an_empty_cache(tmp_path):
    case = CASES["case_142"]
    program = (
        "import json, sys, numpy as np, sparray as sp\n"
        "given = json.loads(sys.argv[1])\n"
        "A = sp.array(np.array(given['A']['data']), format=sys.argv[2])\n"
        "print(json.dumps((A @ np.array(given['x']['data'])).tolist()))\n"
    )
    # A format for which the package has no kernel built in.
    format = "(i, j) -> (j: compressed, i: compressed)"
    environment = {**os.environ, "SPARRAY_CACHE_DIR": str(tmp_path / "cache")}
    arguments = [sys.executable, "-c", program, json.dumps(case["setup"]), format]
    workers = [
        subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    answers = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [json.loads(answer) for answer in answers] == [
        case["expected"]["values"]
    ] * 8


def test_case_144_threads_that_allocate_results():
    array = setup(CASES["case_144"], "csr")["A"]
    expected = (array + array).sum(0)

    def work(_):
        results = [(array + array).sum(0) for _ in range(200)]
        return all(np.array_equal(result, expected) for result in results)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_results_have_the_formats_asked_for():
    made = setup(CASES["case_098"], "csf")
    result = sp.einsum("ijk,i->jk", made["G"], made["p"], format=CSF)
    assert result.format == Format.parse(CSF)
    made = setup(CASES["case_025"], "csr")
    assert sp.einsum("ij,jk->ik", made["A"], made["B"], format="csc").format == (
        named_format("csc", 2)
    )
