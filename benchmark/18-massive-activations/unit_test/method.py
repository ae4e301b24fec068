"""Labelled inputs for massive-activations-method: each function through its interface, and all of them on small models.

Models run in float64, except in the case of the measurement, which uses the repository's transform as it is.
"""

import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import torch
from lib.bias import BiasedAttention, attention_weights, biased_attention, split_output
from lib.interventions import intervention_layer, massive_places, mean_values, register_means, set_values
from lib.load_model import load_vit
from lib.stats import massive_mask, read_magnitudes
from lmrbench_cases import compare, experiment, goal
from main_vit import run_exp1, run_exp3, run_exp4
from torch import Tensor, nn


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_model(seed: int, family: str = "dinov2_reg") -> tuple[nn.Module, list[nn.Module]]:
    model, layers, _ = load_vit(family, "tiny", seed=seed)
    return model.double(), layers


def states_with(seed: int, values: dict[tuple[int, int], float], shape: tuple[int, int, int] = (4, 6, 9)) -> Tensor:
    """Hidden states with a median magnitude of about 0.2, and with values of about these sizes at some places."""
    states = 0.3 * normal(seed, *shape)
    for number, ((token, channel), value) in enumerate(values.items()):
        states[:, token, channel] = value * (1 + 0.02 * normal(seed + number + 50, shape[0]))
    return states


@goal("run_exp1")
@compare(rtol=1e-3, atol=1e-3)
def case_measurement(seed):
    """What is saved about several layers, and the plots that are left behind."""
    torch.set_default_dtype(torch.float64)
    found = []
    for layer_id in (1, 3, 4):
        model, layers, val_transform = load_vit("dinov2_reg", "tiny", seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            run_exp1(layer_id, layers, model, val_transform, folder, "dinov2_reg", "tiny")
            arguments = pickle.loads(Path(folder, f"run_exp1_inputs_layer_{layer_id}.pkl").read_bytes())
            arguments["savedir"] = arguments.get("savedir") == folder
            magnitudes = np.asarray(read_magnitudes(folder, layer_id), dtype=np.float64)
            found.append([arguments, magnitudes, sorted(os.listdir(folder))])
    return found


@goal("massive_mask")
@compare(exact=True)
def case_massive_mask(seed):
    """Large magnitudes beside small and large medians; ones close to both limits."""
    results = []
    for number, scale in enumerate((0.01, 0.1, 0.15, 0.5, 3.0)):
        magnitudes = scale * np.abs(normal(10 * seed + number, 7, 12).numpy())
        places = np.random.default_rng([18, seed, number]).choice(84, 8, replace=False)
        median = np.median(magnitudes)
        magnitudes.flat[places] = [90, 97, 103, 110, 900 * median, 1150 * median, 3e3 * median, 5e3]
        results.append(massive_mask(magnitudes))
    return results


@goal("massive_places")
@compare(exact=True)
def case_massive_places(seed):
    """Values that are massive in each image and of either sign, in few images, or with a mean near zero."""
    token, channel = 1 + seed % 3, 2 + seed % 3
    some = states_with(seed, {(token, channel): 900.0, (5, 1): -700.0, (0, channel): 60.0, (2, 8): 1500.0})
    some[1:, 2, 8] = 1.0  # massive in the first image, and in the mean
    alternating = states_with(seed + 1, {(4, 4): 800.0, (token, 0): 500.0})
    alternating[::2, 4, 4] *= -1
    rare = states_with(seed + 2, {(3, 3): 1.0, (0, token): 400.0}, (8, 6, 9))
    rare[0, 3, 3] = 600.0  # not massive in the mean
    return [massive_places(states) for states in (some, alternating, rare, states_with(seed + 3, {(2, 2): 50.0}))]


@goal("intervention_layer")
@compare(exact=True)
def case_layer_of_intervention(seed):
    """Massive activations from some layer on, in single layers, and in none."""
    quiet = [states_with(seed + k, {}) for k in range(6)]
    loud = [states_with(seed + k, {(1, k): 700.0 * (k + 1)}) for k in range(6)]
    rising = quiet[: 2 + seed % 4] + loud[2 + seed % 4 :]
    return [intervention_layer(states) for states in (rising, quiet, [*quiet[:4], loud[1], quiet[0]], loud)]


@goal("mean_values")
@compare(rtol=1e-7, atol=1e-9)
def case_mean_values(seed):
    """Values of either sign, in the order of the places."""
    states = states_with(seed, {(1, 2): 900.0, (5, 1): -700.0, (4, 4): 800.0})
    states[::2, 4, 4] *= -0.7
    return [mean_values(states, places) for places in ([(1, 2), (4, 4), (5, 1)], [(5, 1)], [(4, 4), (0, 0), (1, 2)])]


@goal("set_values")
@compare(rtol=1e-7, atol=1e-9)
def case_set_values(seed):
    """The changed states, and the given ones, which stay as they are."""
    states = states_with(seed, {(1, 2): 900.0, (5, 1): -700.0})
    places = [(5, 1), (1, 2), (2, 8)]
    return [set_values(states, places, normal(seed + 9, 3)), set_values(states, places[:1], torch.zeros(1)), states]


@goal("register_means")
@compare(rtol=1e-7, atol=1e-9)
def case_register_means(seed):
    return [register_means(normal(seed + count, 5, 9, 4) + normal(seed, 9, 4), count) for count in (1, 2, 4)]


# --- attention --------------------------------------------------------------------------------------------------------


def heads(seed: int, batch: int, number: int, tokens: int, width: int) -> list[Tensor]:
    return [1.5 * normal(10 * seed + k, batch, number, tokens, width) for k in range(3)]


@goal("attention_weights")
@compare(rtol=1e-7, atol=1e-9)
def case_attention_weights(seed):
    """As many queries as keys, in several sizes."""
    sizes = ((1, 2, 5, 4), (3, 1, 4, 4), (2, 3, 6, 9))
    return [attention_weights(*heads(seed + number, *size)[:2]) for number, size in enumerate(sizes)]


@goal("split_output")
@compare(rtol=1e-7, atol=1e-9)
def case_split_output(seed):
    """One token, several, and all but one; weights that are given."""
    results = []
    for number, tokens in enumerate(([2], [0, 3], [4, 1, 0, 3])):
        weights = (1.5 * normal(seed + number, 2, 3, 5, 5)).softmax(dim=-1)
        results.append(list(split_output(weights, normal(seed + number + 20, 2, 3, 5, 4), tokens)))
    return results


@goal("biased_attention")
@compare(rtol=1e-7, atol=1e-9)
def case_biased_attention(seed):
    """Outputs, and gradients with respect to everything."""
    results = []
    for number, size in enumerate(((1, 2, 5, 4), (3, 1, 4, 4), (2, 3, 6, 9))):
        parts = [*heads(seed + number, *size), normal(seed + 70, size[1], size[3]), normal(seed + 80, size[1], size[3])]
        parts = [part.requires_grad_() for part in parts]
        output = biased_attention(*parts)
        gradients = torch.autograd.grad((output * normal(seed + 90, *size)).sum(), parts)
        results.append([output, list(gradients)])
    return results


# --- experiments ------------------------------------------------------------------------------------------------------


@goal("run_exp3")
@compare(rtol=1e-4, atol=1e-11)
def case_interventions(seed):
    """Models with and without registers and massive activations, and with more of them in a later layer."""
    torch.set_default_dtype(torch.float64)
    images, calibration = normal(seed + 5, 6, 3, 56, 56), 0.7 * normal(seed + 6, 4, 3, 56, 56)
    results = {}
    for name, family, registers in (("one", "dinov2_reg", 4), ("none", "dinov2", 0), ("many", "dinov2_reg", 4)):
        model, layers = make_model(seed, family)
        with torch.no_grad():
            layers[0].attn.proj.weight.mul_(10.0)  # hidden states differ more between images
            layers[3].attn.qkv.weight.mul_(3.0)
            if name == "many":
                layers[3].mlp.fc2.bias[20] += 2500.0
            results[name] = run_exp3(layers, model, images, calibration, registers)
            results[f"{name}, after"] = model(images)[:2]
    return results


@goal("run_exp4")
@compare(rtol=1e-5, atol=1e-8)
def case_attention_of_layers(seed):
    """A model with massive activations in its last layers, and one without."""
    torch.set_default_dtype(torch.float64)
    images = normal(seed + 5, 4, 3, 56, 56)
    results = []
    for family in ("dinov2_reg", "dinov2"):
        model, layers = make_model(seed, family)
        for block in layers:
            block.attn.qkv.weight.data.mul_(3.0)
        results.append([list(found) for found in run_exp4(layers, model, images)])
    return [*results, model(images).detach()]


@experiment
@compare(rtol=1e-5, atol=1e-7)
def case_train_with_biases(seed):
    """Train a model whose attention has explicit biases to follow another one; then measure and intervene."""
    teacher, _ = make_model(seed + 20, "dinov2")
    model, layers = make_model(seed)
    torch.manual_seed(seed)
    for block in layers[:2]:
        block.attn = BiasedAttention(block.attn).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for step in range(8):
        images = normal(100 * seed + step, 6, 3, 56, 56)
        loss = (model(images) - teacher(images).detach()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    images, calibration = normal(seed + 5, 5, 3, 56, 56), normal(seed + 6, 5, 3, 56, 56)
    model.eval()
    biases = [block.attn.extra_value.detach().clone() for block in layers[:2]]
    attention = [list(found) for found in run_exp4(layers, model, images)]
    return [losses, biases, run_exp3(layers, model, images, calibration, 4), attention]
