"""Softmax from public bug reports: `cases/cases.jsonl` names the report of each."""

import json
from pathlib import Path

import pytest
import torch

import sparray.torch as spt

FILE = Path(__file__).parent.parent / "cases" / "cases.jsonl"
CASES = {
    case["id"]: case
    for case in map(json.loads, FILE.read_text("utf-8").splitlines())
    if case["kind"] == "softmax"
}
FORMATS = ["csr", "csc", "coo", "dcsr"]


def test_every_case_is_here():
    assert CASES.keys() == {"case_139", "case_141"}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("function", [torch.softmax, torch.sparse.softmax])
def test_case_139_rows_of_stored_entries(format, function):
    case = CASES["case_139"]
    elements = torch.tensor(case["setup"]["A"]["data"], dtype=torch.float64)
    expected = torch.tensor(case["expected"]["values"], dtype=torch.float64)
    made = function(spt.tensor(elements, format), 1)
    torch.testing.assert_close(made.to_dense(), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("format", FORMATS)
def test_case_141_a_row_of_minus_infinity_spoils_no_other(format):
    case = CASES["case_141"]
    entries = case["setup"]["A"]
    values = torch.tensor([float(x) for x in entries["values"]], dtype=torch.float64)
    x = torch.sparse_coo_tensor(entries["coords"], values, entries["shape"])
    made = torch.softmax(spt.tensor(x, format), 1).to_dense()
    expected = torch.tensor(case["expected"]["values"], dtype=torch.float64)
    torch.testing.assert_close(made[1], expected)
    # The documented rule: NaN, as torch's own.
    assert made[0].isnan().all()
