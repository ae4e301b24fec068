"""Massive activations in vision transformers: the experiments and their command line."""

import argparse
import os
import pickle
from collections.abc import Callable, Sequence

import numpy as np
import torch
from lib.bias import attention_weights, split_output
from lib.image import PROBE_IMAGE, read_image
from lib.interventions import (
    hidden_states,
    intervention_layer,
    massive_places,
    mean_values,
    register_means,
    replaced,
    set_registers,
    set_values,
)
from lib.load_model import REGISTERS, SIZES, load_vit
from lib.plot_utils_vit import plot_3d_feat_vit, plot_layerwise
from lib.stats import LayerSummary, read_magnitudes, summarise, token_name
from monkey_patch import enable_vit_custom_block
from torch import Tensor, nn


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    val_transform: Callable[[np.ndarray], Tensor],
    savedir: str,
    model_family: str,
    model_size: str,
) -> None:
    """Experiment 1: save and plot the magnitudes of the hidden state after one block, for the fixed probe image.

    Args:
        layer_id: number of the block, counted from 1.
        layers: blocks of the model.
        model: the whole model; takes images (B, 3, H, W).
        val_transform: evaluation transform, from pixels (height, width, 3) uint8 to a tensor (3, H, W).
        savedir: folder for the results; it exists.
        model_family: such as "dinov2_reg".
        model_size: such as "tiny".
    """
    index = layer_id - 1
    block = layers[index]
    enable_vit_custom_block(block, index)

    device = next(model.parameters()).device
    images = val_transform(read_image(PROBE_IMAGE)).unsqueeze(0).to(device)
    with torch.no_grad():
        model(images)
    feat_abs = block.feat.abs()

    inputs = {
        "layer_id": layer_id,
        "model_family": model_family,
        "model_size": model_size,
        "savedir": savedir,
    }
    with open(os.path.join(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl"), "wb") as file:
        pickle.dump(inputs, file)
    with open(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"), "wb") as file:
        pickle.dump(feat_abs.numpy(), file)
    plot_3d_feat_vit(feat_abs, index, model_family, model_size, savedir)


def run_exp2(
    layers: Sequence[nn.Module],
    model: nn.Module,
    val_transform: Callable[[np.ndarray], Tensor],
    savedir: str,
    model_family: str,
    model_size: str,
) -> list[LayerSummary]:
    """Experiment 2: the three largest magnitudes and the median of every layer, as a plot and as a list."""
    summaries = []
    for layer_id in range(1, len(layers) + 1):
        run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size)
        summaries.append(summarise(read_magnitudes(savedir, layer_id)))
    curves = {f"top {rank + 1}": [summary.top[rank] for summary in summaries] for rank in range(3)}
    curves["median"] = [summary.median for summary in summaries]
    plot_layerwise(curves, model_family, model_size, savedir)
    return summaries


@torch.no_grad()
def run_exp3(
    layers: Sequence[nn.Module], model: nn.Module, images: Tensor, calibration: Tensor, registers: int
) -> dict[str, float]:
    """Experiment 3: how much the interventions of the paper change the model's output.

    Args:
        images: (B, 3, H, W), on which changes are measured.
        calibration: (M, 3, H, W), from which places and means are taken.
        registers: number of register tokens, 0 or more.

    Returns:
        The change of the output by each intervention: "zero" and "mean" of the massive activations, both left out if
        there are none, and "registers", left out if there are none.
    """
    states = hidden_states(layers, model, calibration)
    original = model(images)

    def change(changes: dict[int, Callable[[Tensor], Tensor]]) -> float:
        with replaced(layers, changes):
            moved = model(images) - original
        return (moved.norm(dim=1) / original.norm(dim=1)).mean().item()

    results = {}
    layer = intervention_layer(states)
    if layer is not None:
        places = massive_places(states[layer])
        means = mean_values(states[layer], places)
        for name, values in (("zero", torch.zeros_like(means)), ("mean", means)):
            results[name] = change({layer: lambda state, values=values: set_values(state, places, values)})
    if registers:
        means = [register_means(state, registers) for state in states]
        results["registers"] = change(
            {number: lambda state, mean=mean: set_registers(state, mean) for number, mean in enumerate(means)}
        )
    return results


@torch.no_grad()
def run_exp4(layers: Sequence[nn.Module], model: nn.Module, images: Tensor) -> list[tuple[float, float]]:
    """Experiment 4: what tokens with massive activations contribute to attention, for each layer that has them.

    A layer's attention reads the hidden state of the layer before; layers whose input has no massive activation are
    left out, and so is the first one.

    Returns:
        For each layer, the mean attention to these tokens together, and the mean length of what they add to the output
        of a head.
    """
    states = hidden_states(layers, model, images)
    results = []
    for block, state in zip(layers[1:], states[:-1], strict=True):
        tokens = sorted({token for token, _ in massive_places(state)})
        if tokens:
            query, key, value = block.attn.project(block.norm1(state))
            weights = attention_weights(query, key)
            bias, _ = split_output(weights, value, tokens)
            results.append((weights[..., tokens].sum(-1).mean().item(), bias.norm(dim=-1).mean().item()))
    return results


def probe_crops(val_transform: Callable[[np.ndarray], Tensor], count: int, seed: int) -> Tensor:
    """Random crops of the probe image, (count, 3, H, W)."""
    rng = np.random.default_rng(seed)
    pixels = read_image(PROBE_IMAGE)
    corners = rng.integers(0, 28, size=(count, 2))
    return torch.stack([val_transform(pixels[top : top + 56, left : left + 56].copy()) for top, left in corners])


def format_table(summaries: list[LayerSummary], registers: int) -> str:
    """One line a layer: the largest magnitudes, the median, the number of massive ones, and where the largest is."""
    lines = ["layer     top 1     top 2     top 3    median  massive  largest at"]
    for layer_id, summary in enumerate(summaries, start=1):
        token, channel = summary.places[0]
        numbers = "".join(f"{value:10.2f}" for value in (*summary.top, summary.median))
        place = f"{token_name(token, registers)}, channel {channel}"
        lines.append(f"{layer_id:5d}{numbers}{summary.massive:9d}  {place}")
    return "\n".join(lines)


def main() -> None:
    """Run experiment 1 on the layer that is given, or experiment 2 on all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model_family", choices=sorted(REGISTERS), default="dinov2_reg")
    parser.add_argument("--model_size", choices=sorted(SIZES), default="small")
    parser.add_argument("--layer_id", type=int, help="run experiment 1 on this layer, counted from 1")
    parser.add_argument("--savedir", default="results")
    args = parser.parse_args()

    os.makedirs(args.savedir, exist_ok=True)
    model, layers, val_transform = load_vit(args.model_family, args.model_size)
    study = (layers, model, val_transform, args.savedir, args.model_family, args.model_size)
    if args.layer_id is None:
        print(f"{args.model_family} {args.model_size}, {PROBE_IMAGE}: magnitudes of the hidden state after each block")
        registers = REGISTERS[args.model_family]
        print(format_table(run_exp2(*study), registers))
        images, calibration = (probe_crops(val_transform, count=24, seed=seed) for seed in (1, 2))
        changes = run_exp3(layers, model, images, calibration, registers)
        print("\nchange of the output by interventions: " + ", ".join(f"{k} {v:.4f}" for k, v in changes.items()))
        for attention, length in run_exp4(layers, model, images):
            print(f"attention to tokens with massive activations {attention:.3f}, length of what they add {length:.3f}")
    else:
        if not 1 <= args.layer_id <= len(layers):
            parser.error(f"--layer_id must be between 1 and {len(layers)}")
        run_exp1(args.layer_id, *study)
        print(summarise(read_magnitudes(args.savedir, args.layer_id)))
    print(f"results and plots are in {args.savedir}/")


if __name__ == "__main__":
    main()
