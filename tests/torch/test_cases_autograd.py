"""Gradients from public bug reports: `cases/cases.jsonl` names the report of each."""

import json
from pathlib import Path

import pytest
import torch

import sparray.torch as spt

FILE = Path(__file__).parent.parent / "cases" / "cases.jsonl"
CASES = {
    case["id"]: case
    for case in map(json.loads, FILE.read_text("utf-8").splitlines())
    if case["kind"] == "autograd"
}
FORMATS = ["csr", "csc", "coo", "dcsr"]


def given(entry):
    dtype = getattr(torch, entry["dtype"])
    return torch.tensor(entry["data"], dtype=dtype).reshape(entry["shape"])


def by_values(case, format):
    setup = case["setup"]
    values = torch.tensor(setup["values"], dtype=torch.float64, requires_grad=True)
    A = setup["A"]
    levels = [{}, {"pos": A["indptr"], "crd": A["indices"]}]
    W = spt.from_buffers("csr", A["shape"], levels, values).to_format(format)
    (W**2).sum().backward()
    return values.grad


def of_dense_operand(case, format):
    A, B, W = (given(case["setup"][name]) for name in "ABW")
    B.requires_grad_()
    (W * (spt.tensor(A, format) @ B)).sum().backward()
    return B.grad


def of_densified(case, format):
    A = spt.tensor(given(case["setup"]["A"]), format, requires_grad=True)
    (given(case["setup"]["W"]) * A.to_dense()).sum().backward()
    return A.grad.to_format("csr").values()


def over_a_batch(case, format):
    A = spt.tensor(given(case["setup"]["A"]), format, requires_grad=True)
    for column in given(case["setup"]["X"]).T:
        ((A @ column) ** 2).sum().backward()
    return A.grad.to_format("csr").values()


ANSWERS = {
    "case_130": by_values,
    "case_132": of_dense_operand,
    "case_134": of_densified,
    "case_136": over_a_batch,
}


def test_every_case_has_an_answer():
    assert ANSWERS.keys() == CASES.keys()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case_id", ANSWERS)
def test_case(case_id, format):
    case = CASES[case_id]
    expected = torch.tensor(case["expected"]["values"], dtype=torch.float64)
    got = ANSWERS[case_id](case, format)
    torch.testing.assert_close(got, expected.reshape(case["expected"]["shape"]))
