"""Experiment behind the table: short trainings on bundled documents, seeded and in double precision."""

import torch
from model import ErgoModel
from processor import Vocabulary, collate, load_documents
from torch import nn
from train import ROOT, fit


def make_model(vocabulary: Vocabulary, gamma: float, windows: tuple[int, int]) -> ErgoModel:
    """A model without dropout, with noise on its parameters so that each of them matters."""
    torch.manual_seed(0)
    model = ErgoModel(len(vocabulary), width=16, heads=2, gamma=gamma, windows=windows).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def table_outcome() -> dict[str, dict[str, float]]:
    """Loss of three training documents in the third epoch, and of another one after it; sums over the pairs."""
    torch.set_num_threads(1)
    documents = load_documents(ROOT / "data" / "documents.jsonl")[:4]
    vocabulary = Vocabulary(documents)
    held_out, training = (collate(some, vocabulary) for some in (documents[:1], documents[1:]))
    table = {}
    for gamma, size, step in ((2.0, 24, 16), (0.5, 24, 8), (1.0, 16, 8)):
        model = make_model(vocabulary, gamma, (size, step))
        *_, loss = fit(model, documents[1:], vocabulary, epochs=3, batch_size=2, learning_rate=0.01, seed=1)
        with torch.no_grad():
            other = model(held_out)[0].item()
        table[f"gamma {gamma:g}, windows of {size}, step {step}"] = {
            "loss, training": len(training.labels) * loss,
            "loss, held out": len(held_out.labels) * other,
        }
    return table
