"""Weights of few bits in groups, and the few that this would spoil as they are.

After Dettmers et al. 2023, "SpQR: a sparse-quantized representation for near-lossless
LLM weight compression" (arXiv 2306.03078).
"""

import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt


def quantized(groups, bits):
    """Return codes, scales and zeros of rows."""
    low, high = groups.min(-1, keepdim=True).values, groups.max(-1, keepdim=True).values
    scale = ((high - low) / (2**bits - 1)).clamp(min=1e-9)
    return ((groups - low) / scale).round().to(torch.uint8), scale, low


class SpQRLinear(nn.Module):
    def __init__(self, linear, bits=3, group=16, fraction=0.98):
        super().__init__()
        weight = linear.weight.detach()
        # What is far from the middle of its group makes the group's steps large.
        middle = weight.reshape(-1, group).median(-1, keepdim=True).values
        far = (weight.reshape(-1, group) - middle).reshape(weight.shape)
        outliers = spt.Magnitude(fraction).keep(far)
        plain = torch.where(
            outliers, middle.expand(-1, group).reshape(far.shape), weight
        )
        codes, scale, low = quantized(plain.reshape(-1, group), bits)
        self.register_buffer("codes", codes)
        self.register_buffer("scale", scale)
        self.register_buffer("low", low)
        self.shape, self.bias = weight.shape, linear.bias
        rest = weight - self.base()
        self.outliers = spt.as_tensor(rest * outliers, format="csr")

    def base(self):
        return (self.codes * self.scale + self.low).reshape(self.shape)

    def forward(self, x):
        y = functional.linear(x, self.base(), self.bias)
        return y + functional.linear(x, self.outliers)
