"""Labelled inputs for ergo-method: each function that is written, and a short training with all of them.

Models run in float64 and without dropout, so that no random draw and no rounding decides anything.
"""

from itertools import combinations
from pathlib import Path

import torch
from encoder import encode_windows, window_starts
from graph import criss_cross_mask, event_pairs
from lmrbench_cases import compare, experiment, goal
from model import ErgoModel, class_weights, focal_loss, modulating_factor, pair_log_probs
from processor import Document, Vocabulary, collate, load_documents, pair_labels
from torch import Tensor, nn
from train import evaluate, fit
from utils import score


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def integers(seed: int, high: int, *shape: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def random_document(seed: int, events: int, words: int = 14, name: str = "w") -> Document:
    """A document with links in both directions; its words are numbered from `name`0 to `name`9."""
    text = tuple(f"{name}{k}" for k in integers(seed, 10, words).tolist())
    positions = torch.randperm(words, generator=torch.Generator().manual_seed(seed + 1))[:events].sort().values
    links = set()
    for i, j in combinations(range(events), 2):
        kind = integers(1000 * seed + 10 * i + j, 5, 1).item()
        links |= {(i, j)} if kind == 0 else {(j, i)} if kind == 1 else {(i, j), (j, i)} if kind == 2 else set()
    return Document(text, tuple(positions.tolist()), frozenset(links))


def model_of(seed: int, vocabulary: Vocabulary, **options) -> ErgoModel:
    """A small model in float64, without dropout, with parameters large enough for each of them to show."""
    torch.manual_seed(seed)
    model = ErgoModel(len(vocabulary), width=12, heads=2, **options).double()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.2 * normal(100 * seed + number, *parameter.shape))
    return model


def with_gradients(loss: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    return [loss.detach(), *torch.autograd.grad(loss, leaves)]


# --- data and graph ---------------------------------------------------------------------------------------------------


@goal("criss_cross_mask")
@compare(exact=True)
def case_mask(seed):
    """All pairs of a document, some of them in any order, and pairs of several documents."""
    pairs = event_pairs(5 + seed % 5)
    some = pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed))[: 6 + seed % 5]]
    together = torch.cat([event_pairs(3), event_pairs(4) + 3, event_pairs(2 + seed % 5) + 7])
    return [criss_cross_mask(rows) for rows in (pairs, some, together)]


@goal("pair_labels")
@compare(exact=True)
def case_pair_labels(seed):
    """Links from the earlier event to the later one, from the later to the earlier, in both directions, and none."""
    results = []
    for number, events in enumerate((2, 4, 7, 9)):
        document = random_document(10 * seed + number, events)
        pairs = event_pairs(events)
        results += [pair_labels(document, pairs), pair_labels(document, pairs.flip(0)[: events + 1])]
    return results


# --- windows ----------------------------------------------------------------------------------------------------------


@goal("window_starts")
@compare(exact=True)
def case_window_starts(seed):
    """Documents shorter than a window, as long, a little longer and much longer; steps from one to a whole window."""
    sizes = ((4, 2), (5, 5), (6, 1), (7, 3), (8, 6))
    return [
        window_starts(length + seed % 9, size, step)
        for size, step in sizes
        for length in (1, 4, 5, 6, 7, 8, 11, 12, 13, 30)
    ]


@goal("encode_windows", "window_starts")
@compare(rtol=1e-6, atol=1e-9)
def case_encode_windows(seed):
    """Documents of several lengths in one batch, encoded by something that sees all of a window; with gradients."""
    results = {}
    lengths = (13, 4, 1, 9)
    ids = integers(seed, 20, 4, 13)
    is_token = torch.arange(13) < torch.tensor(lengths)[:, None]
    for size, step in ((5, 2), (4, 4), (6, 5), (20, 7)):
        table = normal(seed + size, 20, 3).requires_grad_()

        def encode(input_ids: Tensor, mask: Tensor, table: Tensor = table) -> Tensor:
            places = torch.arange(1, input_ids.size(1) + 1, dtype=torch.float64)[:, None]
            embedded = table[input_ids] * mask.unsqueeze(2) * places
            return embedded.tanh() + embedded.sum(dim=1, keepdim=True) / mask.sum(dim=1)[:, None, None]

        hidden = encode_windows(encode, ids * is_token, is_token, size, step)
        results[f"{size}, {step}"] = with_gradients((hidden * normal(seed, 4, 13, 3)).sum(), [table])
        results[f"{size}, {step}"].append(hidden * is_token.unsqueeze(2))
    return results


@goal("encode_windows")
@compare(rtol=1e-6, atol=1e-9)
def case_encode_overlaps(seed):
    """Documents of two windows or three, encoded by something that tells windows apart; with gradients."""
    results = []
    for lengths, size, step in (((9, 6, 8), 6, 3), ((15, 11, 12), 7, 4)):
        is_token = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        ids = integers(seed + size, 20, *is_token.shape) * is_token
        table = normal(seed + step, 20, 3).requires_grad_()

        def encode(input_ids: Tensor, mask: Tensor, table: Tensor = table) -> Tensor:
            embedded = table[input_ids] * mask.unsqueeze(2)
            return embedded + embedded.sum(dim=1, keepdim=True).sin()

        hidden = encode_windows(encode, ids, is_token, size, step)
        results.append([hidden, *with_gradients((hidden * normal(seed, *hidden.shape)).sum(), [table])])
    return results


# --- loss -------------------------------------------------------------------------------------------------------------


@goal("class_weights")
@compare(rtol=1e-5, atol=1e-7)
def case_class_weights(seed):
    """Two classes and more."""
    return [class_weights(alpha + 0.03 * (seed % 3), count) for alpha in (0.25, 0.6, 0.75, 0.9) for count in (2, 3, 5)]


def random_batch(seed: int, *shape: int, classes: int = 2, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Logits (*shape, classes) and labels of this shape; class 0 is the most frequent one."""
    labels = integers(seed + 500, classes, *shape) * (integers(seed + 600, 5, *shape) > 0)
    return (scale * normal(seed, *shape, classes)).requires_grad_(), labels


@goal("pair_log_probs")
@compare(rtol=1e-6, atol=1e-9)
def case_pair_log_probs(seed):
    """Two classes and more, moderate logits and extreme ones; with gradients."""
    results = []
    for number, (classes, scale) in enumerate(((2, 1.0), (2, 5.0), (3, 2.0), (5, 1.0), (3, 400.0))):
        logits, gold = random_batch(20 * seed + number, 15, classes=classes, scale=scale)
        log_p = pair_log_probs(logits, gold)
        results.append([log_p, *with_gradients((log_p * normal(seed, 15)).sum(), [logits])])
    return results


@goal("modulating_factor")
@compare(rtol=1e-6, atol=1e-9)
def case_modulating_factor(seed):
    """Probabilities from near 0 to near 1, and focusing parameters from 0 on; with gradients."""
    results = {}
    for gamma in (0, 1, 1.5, 2, 3.5):
        log_p = (-3 * normal(seed, 12).abs() - 1e-3).requires_grad_()
        factor = modulating_factor(log_p, gamma)
        gradient = torch.autograd.grad((factor + 0 * log_p).sum(), log_p)[0]
        results[f"{gamma}"] = [factor.expand(12), gradient]
    return results


@goal("focal_loss.forward", "pair_log_probs", "modulating_factor")
@compare(rtol=1e-5, atol=1e-8)
def case_focal_loss(seed):
    """Mean and sum, weights of several classes, focusing parameters, leading axes; with gradients."""
    results = {}
    for alpha, gamma, shape in (([0.25, 0.75], 2, (20,)), ([0.4, 0.6], 0, (16,)), ([0.2, 1.5, 3.0], 1.5, (4, 5))):
        for average in (True, False):
            logits, gold = random_batch(30 * seed + len(alpha), *shape, classes=len(alpha), scale=1.5)
            loss = focal_loss(alpha, gamma, len(alpha), average)(logits, gold)
            results[f"{alpha}, {average}"] = with_gradients(loss, [logits])
    return results


# --- model, training, scores ------------------------------------------------------------------------------------------


@goal("ErgoModel.node_features")
@compare(rtol=1e-6, atol=1e-9)
def case_node_features(seed):
    """Pairs of random events, and the same pairs turned round."""
    torch.set_default_dtype(torch.float64)
    model = model_of(seed, Vocabulary([random_document(seed, 3)]))
    first, second = normal(seed, 6, 12), normal(seed + 1, 6, 12)
    return [model.node_features(first, second), model.node_features(second, first)]


@goal("ErgoModel.forward", "ErgoModel.node_features", "encode_windows")
@compare(rtol=1e-5, atol=1e-8)
def case_model(seed):
    """Loss, logits and gradients on documents of several lengths, with and without windows; both losses."""
    torch.set_default_dtype(torch.float64)
    documents = [
        random_document(10 * seed + k, events, words) for k, (events, words) in enumerate(((4, 14), (2, 5), (5, 9)))
    ]
    vocabulary = Vocabulary(documents)
    results = {}
    for windows in (None, (6, 4)):
        for loss_type, layers in (("focal", 2), ("ce", 1)):
            model = model_of(seed, vocabulary, loss_type=loss_type, layers=layers, windows=windows)
            model.loss = nn.CrossEntropyLoss() if loss_type == "ce" else nn.MultiMarginLoss(p=2)
            loss, logits = model(collate(documents, vocabulary))
            leaves = [model.classifier[1].weight, model.pair_embedding.weight, model.encoder.words.weight]
            results[f"{windows}, {loss_type}"] = [logits, *with_gradients(loss, leaves)]
    return results


@goal("fit")
@compare(rtol=1e-6, atol=1e-8)
def case_fit(seed):
    """Losses of the epochs, and parameters afterwards; a last step with fewer documents."""
    torch.set_default_dtype(torch.float64)
    documents = [random_document(20 * seed + k, 3 + k % 3) for k in range(7)]
    vocabulary = Vocabulary(documents)
    model = model_of(seed, vocabulary, loss_type="ce", layers=1).eval()
    losses = list(fit(model, documents, vocabulary, 3, 2 + seed % 2, 3e-3, seed + 4))
    return [losses, model.classifier[1].weight.detach(), model.pair_embedding.weight.detach(), model.training]


@goal("score")
@compare(rtol=1e-6, atol=1e-9)
def case_score(seed):
    """Two classes and more, and batches in which nothing is causal or nothing is predicted to be."""
    results = []
    for number, classes in enumerate((2, 2, 3, 4)):
        gold = integers(40 * seed + number, classes, 30)
        predicted = torch.where(
            normal(40 * seed + number + 20, 30) > 0.3, integers(40 * seed + number + 10, classes, 30), gold
        )
        for pair in ((predicted, gold), (0 * gold, gold), (predicted, 0 * gold)):
            scores = score(*pair)
            results.append([scores.precision, scores.recall, scores.f1])
    return results


@experiment
@compare(rtol=1e-4, atol=1e-6)
def case_training(seed):
    """Train on bundled documents, in windows, with the focal loss: losses, logits and scores on other documents."""
    torch.set_default_dtype(torch.float64)
    documents = load_documents(Path("data/documents.jsonl"))[10 * (seed % 3) : 10 * (seed % 3) + 10]
    vocabulary = Vocabulary(documents[:7])
    model = model_of(seed, vocabulary, class_weight=0.7, gamma=1.5, windows=(24, 16))
    losses = list(fit(model, documents[:7], vocabulary, 8, 3, 4e-3, seed))
    test_loss, scores = evaluate(model, documents[7:], vocabulary)
    with torch.no_grad():
        logits = model(collate(documents[7:], vocabulary))[1]
    return {"losses": losses, "test": test_loss, "logits": logits, "f1": [scores.precision, scores.recall, scores.f1]}
