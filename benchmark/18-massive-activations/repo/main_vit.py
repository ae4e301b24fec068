"""Massive activations in vision transformers: the experiments and their command line."""

import argparse
import os
import pickle
from collections.abc import Callable, Sequence

import numpy as np
import torch
from lib.image import PROBE_IMAGE, read_image
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
        print(format_table(run_exp2(*study), REGISTERS[args.model_family]))
    else:
        if not 1 <= args.layer_id <= len(layers):
            parser.error(f"--layer_id must be between 1 and {len(layers)}")
        run_exp1(args.layer_id, *study)
        print(summarise(read_magnitudes(args.savedir, args.layer_id)))
    print(f"results and plots are in {args.savedir}/")


if __name__ == "__main__":
    main()
