"""Digits as 32 pairs of pixels: attention in a window, and to one global token.

    python docs/examples/sparse_attention.py

Source: Beltagy et al. 2020, "Longformer: the long-document transformer".
"""

import torch
from pruned_digits import accuracy, digits, train
from torch import nn
from torch.nn.functional import dropout

import sparray.torch as spt

# Scores for each pair of tokens that attend, each sequence and each head.
BY_PAIR = "(i, j, b, h) -> (i: dense, j: compressed, b: dense, h: dense)"


def window_and_global(n_tokens, reach):
    """Return which tokens attend to which: token 0 to all, and all to it."""
    token = torch.arange(n_tokens)
    near = (token[:, None] - token).abs() <= reach
    near[0] = near[:, 0] = True
    return spt.tensor(near.float(), format="csr")


def attention(query, key, value, mask):
    """Return the values that each token attends to; operands are ``[i, b, h, d]``."""
    scores = spt.compute(
        "S[i,j,b,h] = M[i,j] * Q[i,b,h,d] * K[j,b,h,d]",
        M=mask,
        Q=query * query.shape[-1] ** -0.5,
        K=key,
        format=BY_PAIR,
    )
    return spt.compute(
        "Y[i,b,h,d] = P[i,j,b,h] * V[j,b,h,d]", P=torch.softmax(scores, 1), V=value
    )


class Block(nn.Module):
    """Attention and a network for each token, both around what goes past them."""

    def __init__(self, width, n_heads, mask):
        super().__init__()
        self.mask, self.n_heads = mask, n_heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.network = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        parts = self.inputs(self.norms[0](x)).chunk(3, -1)
        heads = [part.unflatten(-1, (self.n_heads, -1)) for part in parts]
        made = attention(*heads, self.mask)
        x = x + dropout(self.output(made.flatten(-2)), 0.1, self.training)
        return x + dropout(self.network(self.norms[1](x)), 0.1, self.training)


class Classifier(nn.Module):
    """32 pairs of pixels after a global token, which the class is read from."""

    def __init__(self, width=32, n_heads=4, n_blocks=2, reach=4):
        super().__init__()
        mask = window_and_global(33, reach)
        self.pixels = nn.Linear(2, width)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.randn(33, 1, width) * 0.5)
        self.blocks = nn.Sequential(
            *(Block(width, n_heads, mask) for _ in range(n_blocks))
        )
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, images):
        pixels = self.pixels(images.unflatten(1, (32, 2)).transpose(0, 1))
        first = self.token.expand(1, len(images), -1)
        x = torch.cat([first, pixels]) + self.place
        return self.head(self.blocks(x)[0])


def main(epochs=18, seed=0):
    """Return the test accuracy, and how many of the pairs of tokens attend."""
    torch.manual_seed(seed)
    seen, unseen = digits()
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    train(model, optimizer, seen, epochs)
    mask = model.blocks[0].mask
    return accuracy(model, unseen), mask.nnz / mask.numel()


if __name__ == "__main__":
    found, density = main()
    print(f"test accuracy: {found:.3f}, with {density:.0%} of the pairs of tokens")
