"""A classifier of digits, pruned to 95 % while it is trained, and fine-tuned.

    python docs/examples/pruned_digits.py

Source: Zhu & Gupta 2017, "To prune, or not to prune".
"""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

import sparray.torch as spt


def digits():
    """Return scikit-learn's digits: 1,347 images to train on, 450 to test."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))
    images = torch.tensor(data.data, dtype=torch.float32)[order] / 16
    labels = torch.tensor(data.target)[order]
    return (images[:1347], labels[:1347]), (images[1347:], labels[1347:])


def classifier():
    """Return an untrained network of 64, 256, 128 and 10 units."""
    return nn.Sequential(
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def train(model, optimizer, data, epochs, after_step=lambda: None, loss=cross_entropy):
    """Train on batches of 64 images."""
    images, wanted = data
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            loss(model(images[batch]), wanted[batch]).backward()
            optimizer.step()
            after_step()


@torch.no_grad()
def accuracy(model, data):
    """Return the share of images that are classified rightly."""
    images, labels = data
    return (model.eval()(images).argmax(1) == labels).float().mean().item()


def main(fraction=0.95, epochs=30, seed=0):
    """Return the accuracies of the dense network and of the pruned one, and it."""
    torch.manual_seed(seed)
    seen, unseen = digits()
    model = classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    train(model, optimizer, seen, epochs)
    dense = accuracy(model, unseen)

    steps = epochs * -(-len(seen[0]) // 64)
    schedule = spt.Schedule(
        model,
        {"*.weight": spt.Sparse(spt.Magnitude(fraction), together=True)},
        spt.Cubic(0, steps // 2, every=20),
        optimizer,
    )
    # The second half of the epochs fine-tunes what is left.
    train(model, optimizer, seen, epochs, schedule.step)
    return dense, accuracy(model, unseen), model


if __name__ == "__main__":
    dense, pruned, model = main()
    print(spt.summary(model))
    print(f"test accuracy: dense {dense:.3f}, pruned {pruned:.3f}")
