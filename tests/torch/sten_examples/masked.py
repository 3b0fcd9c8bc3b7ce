"""Weights with a mask: dense values, and a bit for each of them."""

import sparray.torch as spt


def masked(model, fraction):
    return spt.sparsify(
        model, {"*.weight": spt.Sparse(spt.Magnitude(fraction), "bitmap")}
    )
