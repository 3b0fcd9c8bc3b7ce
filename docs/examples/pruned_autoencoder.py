"""An autoencoder of digits, pruned to 90 % while it is trained.

python docs/examples/pruned_autoencoder.py
"""

import torch
from pruned_digits import digits, train
from torch import nn
from torch.nn.functional import mse_loss

import sparray.torch as spt

N_CODES = 8


def principal_components(seen, unseen):
    """Return the error of the best linear autoencoder."""
    mean = seen.mean(0)
    axes = torch.linalg.svd(seen - mean, full_matrices=False).Vh[:N_CODES]
    return mse_loss((unseen - mean) @ axes.T @ axes + mean, unseen).item()


def main(fraction=0.9, epochs=40, seed=0):
    """Return errors on the test images: dense, pruned, and of a linear code."""
    torch.manual_seed(seed)
    (seen, _), (unseen, _) = digits()
    model = nn.Sequential(
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Linear(256, N_CODES),
        nn.Linear(N_CODES, 256),
        nn.ReLU(),
        nn.Linear(256, 64),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    train(model, optimizer, (seen, seen), epochs, loss=mse_loss)
    dense = mse_loss(model(unseen), unseen).item()

    schedule = spt.Schedule(
        model,
        {"*.weight": spt.Sparse(spt.Magnitude(fraction), together=True)},
        spt.Cubic(0, epochs * 11, every=40),
        optimizer,
    )
    # An epoch has 22 batches: the second half of them fine-tunes what is left.
    train(model, optimizer, (seen, seen), epochs, schedule.step, mse_loss)
    pruned = mse_loss(model(unseen), unseen).item()
    return dense, pruned, principal_components(seen, unseen), model


if __name__ == "__main__":
    dense, pruned, linear, model = main()
    print(spt.summary(model))
    print(
        f"error of {N_CODES} numbers for each image: dense {dense:.4f}, "
        f"pruned {pruned:.4f}, principal components {linear:.4f}"
    )
