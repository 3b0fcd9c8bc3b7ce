"""A mixture of experts as two block-sparse products, without dropping a token.

    python docs/examples/mixture_of_experts.py

Source: Gale et al. 2022, "MegaBlocks: efficient sparse training with
mixture-of-experts" (arXiv 2211.15841), section 4.
"""

import torch
from torch import nn
from torch.nn.functional import relu

import sparray.torch as spt

BLOCK = 8


class MixtureOfExperts(nn.Module):
    """Each row of the input goes through the expert that its router prefers."""

    def __init__(self, width, n_experts, n_hidden):
        super().__init__()
        self.n_experts, self.n_hidden = n_experts, n_hidden
        self.router = nn.Linear(width, n_experts)
        n_columns = n_experts * n_hidden
        self.into = nn.Parameter(torch.randn(width, n_columns) * width**-0.5)
        self.out = nn.Parameter(torch.randn(n_columns, width) * n_hidden**-0.5)

    def forward(self, x):
        """Compute all experts at once: ``relu(X V) W``, where X V has only blocks."""
        share, expert = self.router(x).softmax(1).max(1)
        slots, blocks = self.placed(expert)
        padded = x.new_zeros(blocks.shape[0], x.shape[1]).index_put((slots,), x)
        hidden = spt.compute(
            "H[t,f] = M[t,f] * X[t,d] * V[d,f]",
            M=blocks,
            X=padded,
            V=self.into,
            format=blocks.format,
        )
        return share[:, None] * (relu(hidden) @ self.out)[slots]

    def placed(self, expert):
        """Return each row's place among whole blocks of its expert, and the blocks."""
        counts = torch.bincount(expert, minlength=self.n_experts)
        rows = (counts + BLOCK - 1) // BLOCK
        begins = (rows.cumsum(0) - rows) * BLOCK
        order = expert.argsort(stable=True)
        within = torch.arange(len(expert)) - (counts.cumsum(0) - counts)[expert[order]]
        slots = torch.empty_like(order)
        slots[order] = begins[expert[order]] + within

        wide = self.n_hidden // BLOCK
        first = torch.repeat_interleave(torch.arange(self.n_experts), rows) * wide
        crd = (first[:, None] + torch.arange(wide)).reshape(-1)
        pos = torch.arange(len(first) + 1) * wide
        return slots, spt.from_buffers(
            f"bcsr({BLOCK}, {BLOCK})",
            (len(first) * BLOCK, self.n_experts * self.n_hidden),
            [{}, {"pos": pos, "crd": crd}, {}, {}],
            torch.ones(len(crd) * BLOCK * BLOCK),
        )

    def loop(self, x):
        """Compute the same, one expert after the other."""
        share, expert = self.router(x).softmax(1).max(1)
        made = torch.zeros_like(x)
        into = self.into.split(self.n_hidden, 1)
        out = self.out.split(self.n_hidden, 0)
        for n in range(self.n_experts):
            rows = (expert == n).nonzero()[:, 0]
            made = made.index_put((rows,), relu(x[rows] @ into[n]) @ out[n])
        return share[:, None] * made


def main(rows=1000, width=64, n_experts=8, n_hidden=64, seed=0):
    """Return the largest differences from the loop: of the result, of gradients."""
    torch.manual_seed(seed)
    layer = MixtureOfExperts(width, n_experts, n_hidden)
    x = torch.randn(rows, width, requires_grad=True)
    wanted = [x, *layer.parameters()]
    results = [layer(x), layer.loop(x)]
    upstream = torch.randn(rows, width)
    gradients = [torch.autograd.grad(made, wanted, upstream) for made in results]
    return [
        max((a - b).abs().max().item() / b.abs().max().item() for a, b in pairs)
        for pairs in ([results], zip(*gradients, strict=True))
    ]


if __name__ == "__main__":
    result, gradient = main()
    print(f"relative difference: results {result:.1e}, gradients {gradient:.1e}")
