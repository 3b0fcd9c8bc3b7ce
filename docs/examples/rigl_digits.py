"""A classifier of digits that is sparse from its first step, trained by RigL.

    python docs/examples/rigl_digits.py

Source: Evci et al. 2019, "Rigging the lottery: making all tickets winners".
"""

import torch
from pruned_digits import accuracy, classifier, digits, train
from torch.nn.functional import cross_entropy

import sparray.torch as spt


def main(fraction=0.9, epochs=60, every=50, exchange=0.3, seed=0):
    """Return the test accuracy of the sparse network, and it."""
    torch.manual_seed(seed)
    seen, unseen = digits()
    start = {
        f"{n}.weight": spt.Sparse(spt.RandomFraction(fraction, seed=seed))
        for n in (0, 2, 4)
    }
    model = spt.sparsify(classifier(), start)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def look(model):
        # When entries are exchanged: the gradient of every one, stored or not.
        images, labels = seen
        cross_entropy(model(images), labels).backward()

    steps = epochs * -(-len(seen[0]) // 64)
    schedule = spt.Schedule(
        model,
        {name: spt.Sparse(spt.RigL(exchange)) for name in start},
        spt.Periodic(every, end=steps * 3 // 4),
        optimizer,
        calibrate=look,
    )
    train(model, optimizer, seen, epochs, schedule.step)
    return accuracy(model, unseen), model


if __name__ == "__main__":
    found, model = main()
    print(spt.summary(model))
    print(f"test accuracy: {found:.3f}")
