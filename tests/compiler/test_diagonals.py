"""Repeated indices: diagonals of operands in every format."""

import numpy as np
import pytest
from oracle_check import Question, check_dispatch, check_stages
from oracle_problems import random_array

from sparray.formats import as_format
from sparray.formats.named import named_format

FORMATS = {
    2: [
        *("csr", "csc", "coo", "dcsr", "dcsc", "dense", "bitmap", "ell", "dia"),
        *("bcsr(2, 3)", "nm(2, 4)", "nmg(1, 2, 1)"),
        "(i, j) -> (i: dense, j: compressed(unordered))",
        "(i, j) -> (i: permuted, j: permuted)",
        "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))",
        "(i, j) -> (i: compressed(nonunique, unordered), j: singleton(unordered))",
    ],
    3: ["csf", "coo", "dense", "(i, j, k) -> (j: dense, k: compressed, i: compressed)"],
}
TEXTS = {
    2: [
        *("ii->", "ii->i", "ii,ij->ij", "ii,i->i", "ii,jj->ij", "ii,jk->jk"),
        *("Y[i] = P[i,i] + Q[i,i]", "Y[i,j] = P[i,j] * 2 + Q[i,i]"),
        *("Y[i] = P[i,j] * Q[j,j]", "Y = P[i,i] - Q[j,i]"),
    ],
    3: ["iii->i", "iij->ij", "iji->j", "ijj->", "iji,jk->ik"],
}


def operands(rng, text, ndim, extents, format):
    """Return an array for each operand that is read along a diagonal, and CSR else."""
    if "=" in text:
        value = text.partition("=")[2]
        terms = [part.partition("]")[0].split(",") for part in value.split("[")[1:]]
    else:
        terms = [list(term) for term in text.partition("->")[0].split(",")]
    made = []
    for term in terms:
        shape = tuple(extents[index.strip()] for index in term)
        same = len(term) == ndim and len(set(term)) < len(term)
        chosen = as_format(format, ndim) if same else None
        if chosen is None:
            chosen = named_format("csr" if len(term) == 2 else "csf", len(term))
        if chosen.name == "nm(2, 4)" or "structured" in str(chosen):
            chosen = as_format("nm(4, 4)", 2)
        made.append(random_array(rng, shape, chosen, "float64"))
    return tuple(made)


CASES = [(t, n, f) for n in TEXTS for t in TEXTS[n] for f in FORMATS[n]]


@pytest.mark.parametrize(("text", "ndim", "format"), CASES)
def test_every_stage(text, ndim, format):
    rng = np.random.default_rng(0)
    for extents in ({"i": 4, "j": 4, "k": 3}, {"i": 7, "j": 7, "k": 1}, "one"):
        if extents == "one":
            extents = dict.fromkeys("ijk", 1)
        if ndim == 3 or "j,j" in text or "jj" in text or "Q" in text:
            extents = {**extents, "j": extents["i"]}
        check_stages(Question(text, operands(rng, text, ndim, extents, format)))


@pytest.mark.parametrize("format", ["csr", "coo", "dcsr", "csc"])
def test_compiled_traces(format):
    rng = np.random.default_rng(1)
    a = random_array(rng, (40, 40), named_format(format, 2), "float32")
    check_dispatch(Question("ii->", (a,)))
    check_dispatch(Question("ii->i", (a,)))
