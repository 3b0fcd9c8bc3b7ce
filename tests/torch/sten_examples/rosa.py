"""Robust adaptation: a frozen weight, a product of low rank, and a sparse part.

After Nikdan et al. 2024, "RoSA: accurate parameter-efficient fine-tuning via robust
adaptation" (arXiv 2401.04679).
"""

import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt


class RoSALinear(nn.Module):
    def __init__(self, linear, rank, fraction):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        out, features = linear.weight.shape
        self.down = nn.Parameter(torch.randn(rank, features) / features**0.5)
        self.up = nn.Parameter(torch.zeros(out, rank))
        self.sparsifier = spt.Magnitude(fraction)
        self.adapter = None

    def choose(self, x, loss):
        """Store the elements whose gradients are largest, as zeros."""
        weight = self.linear.weight.detach().clone().requires_grad_()
        loss(functional.linear(x, weight, self.linear.bias)).backward()
        chosen = self.sparsifier(weight.grad, format="csr")
        self.adapter = nn.Parameter(chosen * 0)

    def forward(self, x):
        y = self.linear(x) + functional.linear(functional.linear(x, self.down), self.up)
        return y if self.adapter is None else y + functional.linear(x, self.adapter)
