"""2:4 weights: two of every four along a row, chosen again after each step."""

import sparray.torch as spt

PLAN = {"*.weight": spt.Sparse(spt.NM(2, 4))}


def two_four(model):
    return spt.sparsify(model, PLAN)
