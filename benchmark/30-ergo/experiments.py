"""Experiments behind the tables: short trainings on bundled documents, seeded and in double precision."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from model import ErgoModel
from processor import Batch, Document, Vocabulary, collate, load_documents
from torch import nn
from train import ROOT


def make_model(
    vocabulary: Vocabulary, gamma: float, windows: tuple[int, int] | None, width: int, heads: int, noise: float
) -> ErgoModel:
    """A model without dropout, with noise on its parameters so that each of them matters."""
    torch.manual_seed(0)
    model = ErgoModel(len(vocabulary), width=width, heads=heads, gamma=gamma, windows=windows).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn_like(parameter))
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


@torch.no_grad()
def cross_entropy(model: ErgoModel, batch: Batch) -> float:
    """Mean cross-entropy of a batch, whatever loss the model is trained with."""
    return F.cross_entropy(model(batch)[1], batch.labels).item()


def descend(
    documents: Sequence[Document], held_out: int, gamma: float, windows: tuple[int, int] | None, steps: int, every: int
) -> list[float]:
    """Gradient descent on all but the first documents; mean cross-entropies, relative to those before the first step.

    Returns:
        Training and held-out documents in turn, after each `every` steps.
    """
    vocabulary = Vocabulary(documents)
    model = make_model(vocabulary, gamma, windows, width=12, heads=2, noise=0.3)
    batches = [collate(documents[held_out:], vocabulary), collate(documents[:held_out], vocabulary)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    before = [cross_entropy(model, batch) for batch in batches]
    found = []
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        model(batches[0])[0].backward()
        optimizer.step()
        if step % every == 0:
            found += [cross_entropy(model, batch) / start for batch, start in zip(batches, before, strict=True)]
    return found


def table_training() -> dict[str, dict[str, float]]:
    """Cross-entropy after some steps, relative to that before training, on three training documents and two others."""
    torch.set_num_threads(1)
    documents = load_documents(ROOT / "data" / "documents.jsonl")[:5]
    columns = [f"{kind}, {step} steps" for step in (10, 20) for kind in ("training", "held out")]
    settings = {
        "gamma 2, whole documents": (2.0, None),
        "gamma 0.5, whole documents": (0.5, None),
        "gamma 2, windows of 24, step 16": (2.0, (24, 16)),
        "gamma 2, windows of 24, step 6": (2.0, (24, 6)),
    }
    return {
        name: dict(zip(columns, descend(documents, 2, *setting, 20, 10), strict=True))
        for name, setting in settings.items()
    }


def table_outcome() -> dict[str, dict[str, float]]:
    """Sums over all pairs after six steps of gradient descent, on ten training documents and four others."""
    torch.set_num_threads(1)
    documents = load_documents(ROOT / "data" / "documents.jsonl")[:14]
    vocabulary = Vocabulary(documents)
    held_out, training = (collate(some, vocabulary) for some in (documents[:4], documents[4:]))
    settings = {
        "gamma 2, windows of 24, step 16": (2.0, (24, 16)),
        "gamma 0.5, windows of 24, step 8": (0.5, (24, 8)),
        "gamma 1, windows of 16, step 8": (1.0, (16, 8)),
    }
    table = {}
    for name, setting in settings.items():
        model = make_model(vocabulary, *setting, width=48, heads=4, noise=0.15)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(6):
            optimizer.zero_grad()
            model(training)[0].backward()
            optimizer.step()
        with torch.no_grad():
            table[name] = {
                "loss, training": len(training.labels) * model(training)[0].item(),
                "cross-entropy, held out": len(held_out.labels) * cross_entropy(model, held_out),
            }
    return table
