"""Short experiments whose results the paper reports."""

import numpy as np
import torch
from dataset import DataProcessing
from main import fit_probe, probabilities, split_rows
from metrics import converging_point, jumping_point
from model import ModelConfig, TransformerLM
from precision import quantise_model
from utils import LLM

GROUPS = (40, 20)


def table_layers() -> dict[str, dict[str, float]]:
    """What probes cost on the test rows, and how skewed hidden states are, for weights of 32 and of 3 bits.

    The last rows repeat the layers at which the likelihood per test row jumps and converges (zero if there is none).
    """
    torch.set_num_threads(1)
    data = DataProcessing("reviews", seed=1)
    llm = LLM(data.lessons(), seed=1)
    sizes = ModelConfig(len(llm.tokenizer.vocabulary), layers=4, width=16, heads=2)
    llm.model = TransformerLM(sizes).double()
    llm.teach(data.lessons(), steps=80, batch_size=16, learning_rate=2e-2)
    groups = [group[:count] for group, count in zip(data.dispose_data(), GROUPS, strict=True)]
    labels = np.repeat([1, 0], GROUPS)
    train, test = (np.sort(np.asarray(part)) for part in split_rows(len(labels)))
    columns: dict[str, list[float]] = {}
    depths: dict[str, dict[str, float]] = {"at the jumping point": {}, "at the converging point": {}}
    for bits in (32, 3):
        layers = [np.concatenate(pair) for pair in zip(*map(quantise_model(llm, bits).collect, groups), strict=True)]
        costs, sides, skews = [], [], []
        for states in layers:
            predicted = probabilities(fit_probe(states[train], labels[train]), states[test])
            costs.append(float(-np.log(np.where(labels[test] == 1, predicted, 1 - predicted)).mean()))
            sides.append(float(predicted.mean()))
            skews.append(float((states**3).mean() / (states**2).mean() ** 1.5))
        columns |= {f"cost, {bits} bits": costs, f"label 1, {bits} bits": sides, f"skewness, {bits} bits": skews}
        likelihoods = np.exp(-np.array(costs)).tolist()
        for place, point in zip(depths, (jumping_point(likelihoods), converging_point(likelihoods)), strict=True):
            layer = None if point is None else round(point * len(layers))
            depths[place] |= {
                name: 0.0 if layer is None else columns[name][layer] for name in columns if f"{bits} bits" in name
            }
    return {
        **{f"layer {layer}": {name: values[layer] for name, values in columns.items()} for layer in range(len(layers))},
        **depths,
    }
