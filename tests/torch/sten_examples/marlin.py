"""2:4 weights of 4 bits with a scale for each row: one kernel reads them as they are.

After Frantar et al. 2024, "MARLIN: mixed-precision auto-regressive parallel inference
on large language models" (arXiv 2408.11743), whose layout is for GPUs.
"""

import torch
from torch import nn

import sparray.torch as spt


class MarlinLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        kept = spt.NM(2, 4)(linear.weight.detach())
        largest = kept.to_dense().abs().amax(1)
        self.register_buffer("scale", (largest / 7).clamp(min=1e-9))
        codes = (kept.to_dense() / self.scale[:, None]).round().to(torch.int8)
        self.codes, self.bias = spt.as_tensor(codes, format="nm(2, 4)"), linear.bias

    def forward(self, x):
        y = spt.compute(
            "y[b,o] = x[b,i] * W[o,i] * s[o]", x=x, W=self.codes, s=self.scale
        )
        return y if self.bias is None else y + self.bias
