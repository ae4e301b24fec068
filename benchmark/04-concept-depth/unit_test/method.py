"""Labelled inputs for concept-depth-method: each function through its interface, and all of them on a small model.

Fitted probes are compared with a tolerance that an exact minimum of the cost and scikit-learn's solver share.
"""

import math

import numpy as np
import run
import torch
from dataset import DataProcessing
from lmrbench_cases import compare, experiment, goal
from main import fit_probe, probabilities, probing, score_probe, split_rows
from metrics import converging_point, jumping_point, variation_rates
from precision import quantise, quantise_model
from torch import Tensor
from utils import LLM


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([40, seed]).normal(size=shape)


def tensor(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(normal(seed, *shape), dtype=dtype)


def labelled(seed: int, labels: np.ndarray, width: int, shift: float) -> np.ndarray:
    """Gaussian rows whose mean depends on the label; neither centred nor of unit scale."""
    direction = normal(seed + 1000, width)
    direction *= shift / np.linalg.norm(direction)
    return normal(seed, len(labels), width) + np.outer(2 * labels - 1, direction) + 0.4


def random_labels(seed: int, count: int, share: float = 0.5) -> np.ndarray:
    return (np.random.default_rng([41, seed]).random(count) < share).astype(np.int64)


def make_llm(seed: int) -> LLM:
    """An untrained model in float64, with larger weights than the initial ones, and gains other than one.

    Each weight is a number of float32, since some processors round a float64 to half precision by way of float32.
    """
    llm = LLM(DataProcessing("cities").lessons(), seed)
    llm.model.double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(llm.model.parameters()):
            parameter.add_(0.1 * tensor(100 * seed + number, *parameter.shape))
            parameter.copy_(parameter.float())
    return llm


# --- representations and probes ---------------------------------------------------------------------------------------


@goal("LLM.get_hidden_states")
@compare(rtol=1e-7, atol=1e-9)
def case_hidden_states(seed):
    """Prompts of several lengths; reading them leaves the model as it was."""
    torch.set_default_dtype(torch.float64)
    llm = make_llm(seed)
    prompts = ["Accra", *DataProcessing("cities", noise=4, seed=seed).dispose_data()[0][seed % 9 : seed % 9 + 3]]
    first = [llm.get_hidden_states(prompt) for prompt in prompts]
    return [first, llm.get_hidden_states(prompts[0]), [len(layer._forward_hooks) for layer in llm.model.layers]]


@goal("split_rows")
@compare(exact=True)
def case_split(seed):
    """Even and odd numbers of rows; the order within a part does not matter."""
    results = []
    for count in (5 + seed % 20, 12 + seed % 20, 100 + 7 * (seed % 20), 121 + seed % 20):
        results.append([sorted(np.asarray(part).tolist()) for part in split_rows(count)])
    return results


@goal("fit_probe")
@compare(rtol=5e-3, atol=8e-3)
def case_fit_probe(seed):
    """Labels as often as each other and not; columns of unequal scale, and few rows."""
    results = []
    for number, (count, width, share, shift) in enumerate(
        ((60, 5, 0.5, 0.6), (80, 8, 0.2, 0.8), (14, 6, 0.6, 1.0), (150, 3, 0.75, 0.3))
    ):
        labels = random_labels(seed + 10 * number, count, share)
        labels[:2] = 0, 1
        states = labelled(seed + 10 * number, labels, width, shift) * np.geomspace(0.2, 1.5, width)
        results.append(fit_probe(states, labels))
    return results


@goal("probabilities")
@compare(rtol=1e-7, atol=1e-10)
def case_probabilities(seed):
    """Rows on both sides, with small and large biases."""
    results = []
    for number, (count, width, bias) in enumerate(((7, 3, 0.0), (5, 6, 1.5), (9, 1, -2.5))):
        theta = normal(seed + 10 * number, width + 1)
        theta[-1] += bias
        results.append(probabilities(theta, 1.5 * normal(seed + 10 * number + 5, count, width)))
    return results


@goal("score_probe")
@compare(rtol=1e-7, atol=1e-9)
def case_scores(seed):
    """Good and poor predictions, rare and frequent labels, and probabilities that several rows share."""
    results = []
    for number, (share, quality) in enumerate(((0.5, 0.0), (0.5, 1.5), (0.2, 0.8), (0.85, 0.8))):
        labels = random_labels(seed + 10 * number, 60, share)
        labels[:2] = 0, 1
        evidence = normal(seed + 10 * number, 60) + quality * (2 * labels - 1) - 0.2
        predicted = 1 / (1 + np.exp(-evidence))
        results += [score_probe(labels, predicted), score_probe(labels, predicted.round(1) * 0.98)]
    return [[float(score) for score in scores] for scores in results]


@goal("probing")
@compare(rtol=0, atol=0.011)
def case_probing(seed):
    """Groups of unequal size with labels of their own, mixed labels, and fewer layers than there are."""
    results = []
    for number, (first, second) in enumerate(((60, 40), (70, 90), (55, 55))):
        labels = np.repeat([1, 0], [first, second]) if number < 2 else random_labels(seed, first + second)
        # With these numbers, no test row has a probability so close to one half that a solver's accuracy matters.
        first_seed = 8600 + seed + 10 * number
        layers = [labelled(first_seed + k, labels, 10, shift) for k, shift in enumerate((0.1, 0.4, 0.8, 1.2))]
        groups = [layer[:first] for layer in layers], [layer[first:] for layer in layers]
        scores = probing(*groups, labels[:first], labels[first:], 4 - number)
        results.append([[float(score) for score in each] for each in scores])
    return results


# --- depths -----------------------------------------------------------------------------------------------------------


def curves(seed: int) -> list[list[float]]:
    """Accuracies that jump and settle at several layers, among them ones close to the limits on either side."""
    rng = np.random.default_rng([42, seed])
    rates = (0.975, 0.96, 1.0, 1.02, 1.025, 1.04, 1.07, 1.09, 1.115, 1.2)
    found = []
    for number in range(10):
        layers = 4 + number
        found.append((0.4 * np.cumprod([1.0, *rng.choice(rates[:8] if number % 3 else rates, layers - 1)])).tolist())
    return [*found, [0.5, 0.5, 0.9, 0.9, 0.6 + 0.01 * (seed % 9)], [0.5 + 0.01 * (seed % 9), 0.8, 0.4, 0.48]]


@goal("variation_rates")
@compare(rtol=1e-7, atol=1e-10)
def case_variation_rates(seed):
    return [variation_rates(curve) for curve in curves(seed)] + [variation_rates([0.3, 0.0, 0.4 + 0.1 * (seed % 6)])]


@goal("jumping_point")
@compare(rtol=1e-7, atol=1e-10)
def case_jumping_point(seed):
    """Curves with and without a jump, with several of them, and a rate of 1.1 up to rounding below or above."""
    edges = [[0.5, 0.5, 0.5 * rate, 0.4] for rate in (1.0999, 1.1001)]
    return [jumping_point(curve) for curve in curves(seed) + edges]


@goal("converging_point")
@compare(rtol=1e-7, atol=1e-10)
def case_converging_point(seed):
    """Curves that settle, in the middle or at the end, from above and from below, or not at all."""
    edges = [[0.5, 0.5, 0.8, 0.8 * rate, 0.4] for rate in (0.9699, 0.9701, 1.0299, 1.0301)]
    return [converging_point(curve) for curve in [*curves(seed), *edges, [0.4, 0.6, 0.9 - 0.02 * (seed % 9)]]]


# --- disturbances -----------------------------------------------------------------------------------------------------


@goal("quantise")
@compare(rtol=1e-6, atol=1e-8)
def case_quantise(seed):
    """Matrices whose rows differ in size, in single and double precision; all weights are numbers of float32."""
    results = {}
    for bits in (16, 8, 6, 3, 2):
        weights = [(tensor(seed + bits + k, 5, 7) * torch.logspace(-2, 1, 5)[:, None]).float() for k in range(2)]
        results[f"{bits}"] = [quantise(weights[0].double(), bits), quantise(weights[1].T, bits)]
    return results


@goal("quantise_model")
@compare(rtol=1e-6, atol=1e-8)
def case_quantise_model(seed):
    """A sample of each parameter of the copy, and the model itself."""
    torch.set_default_dtype(torch.float64)
    llm = make_llm(seed)
    results = {}
    for bits in (32, 16, 4):
        stored = quantise_model(llm, bits)
        sample = {name: value.detach().flatten()[::101].clone() for name, value in stored.model.named_parameters()}
        results[f"{bits}"] = sample
    return results, [parameter.detach().sum() for parameter in llm.model.parameters()]


@goal("study")
@compare(rtol=1e-6, atol=1e-8)
def case_study(seed):
    """What is probed in each setting: hidden states of a prompt in place of scores, for several disturbances."""

    torch.set_default_dtype(torch.float64)

    def represent(llm: LLM, data: DataProcessing) -> list[object]:
        prompts = data.dispose_data()[1]
        return [llm.get_hidden_states(prompts[2]).copy(), prompts[:3], data.name]

    run.probe_concept = represent
    llm = make_llm(seed)
    return {
        f"{name}": {f"{key}": found for key, found in run.study(llm, name, noises, bits, seed + 4).items()}
        for name, noises, bits in (("cities", (3, 6), (16, 3)), ("reviews", (2,), (4,)))
    }


@experiment
@compare(rtol=5e-3, atol=5e-3)
def case_depth_of_a_small_model(seed):
    """Teach a model in float64, disturb it, and probe it: what each probe says about the test rows, and their cost."""
    data = DataProcessing("reviews", seed=seed)
    llm = LLM(data.lessons(), seed)
    llm.model.double()
    loss = llm.teach(data.lessons(), steps=30, batch_size=12)
    groups = [group[:40] for group in data.dispose_data()]
    labels = np.repeat([1, 0], [40, 40])
    train, test = (np.sort(np.asarray(part)) for part in split_rows(80))
    results: dict[str, object] = {"loss": loss}
    for bits in (32, 3):
        layers = [np.concatenate(pair) for pair in zip(*map(quantise_model(llm, bits).collect, groups), strict=True)]
        found = []
        for states in layers:
            predicted = probabilities(fit_probe(states[train], labels[train]), states[test])
            cost = -np.log(np.where(labels[test] == 1, predicted, 1 - predicted)).mean()
            found.append([predicted, float(cost)])
        costs = [math.exp(-cost) for _, cost in found]
        results[f"{bits} bits"] = [found, variation_rates(costs)]
    return results
