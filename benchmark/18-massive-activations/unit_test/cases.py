"""Labelled inputs for vit-layer-activation-magnitudes.

Core cases run in the root of the repository on its own image. The others bring a working directory and an image along.
"""

import dataclasses
import os
import pickle
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lib.plot_utils_vit
import main_vit
import numpy as np
import torch
from lib.load_model import load_vit
from lib.stats import read_magnitudes
from lmrbench_cases import compare, core, outcome
from main_vit import run_exp1, run_exp2
from torch import Tensor, nn


def results(folder: str, layer_id: int) -> dict[str, Any]:
    """Arguments and magnitudes that experiment 1 saved for a layer, and the names of all its files."""
    arguments = pickle.loads(Path(folder, f"run_exp1_inputs_layer_{layer_id}.pkl").read_bytes())
    if arguments.get("savedir") == folder:
        arguments["savedir"] = "a temporary folder"
    magnitudes = np.asarray(read_magnitudes(folder, layer_id), dtype=np.float64)
    return {"arguments": arguments, "magnitudes": magnitudes, "files": sorted(os.listdir(folder))}


def load_double(family: str, seed: int) -> tuple[nn.Module, list[nn.Module], Callable[[np.ndarray], Tensor]]:
    """A tiny model, its blocks and a transform, all in float64: errors of float32 depend on the processor.

    The transform picks pixels, because the repository's own interpolates in float32.
    """
    torch.set_default_dtype(torch.float64)
    model, layers, val_transform = load_vit(family, "tiny", seed=seed)

    def transform(image: np.ndarray) -> Tensor:
        rows, columns = (
            np.arange(val_transform.image_size) * length // val_transform.image_size for length in image.shape[:2]
        )
        return torch.from_numpy(image[rows][:, columns]).permute(2, 0, 1).double() / 64 - 2

    return model.double(), layers, transform


def study(family: str, seed: int, layer_ids: tuple[int, ...]) -> list[dict[str, Any]]:
    """Experiment 1 on some layers of a tiny model, each time with a new model and a new folder."""
    found = []
    for layer_id in layer_ids:
        model, layers, val_transform = load_double(family, seed)
        with tempfile.TemporaryDirectory() as folder:
            run_exp1(layer_id, layers, model, val_transform, folder, family, "tiny")
            found.append(results(folder, layer_id))
    return found


@core
@compare(rtol=1e-3, atol=1e-3)
def case_every_layer(seed):
    """Hidden states with registers, a massive activation among them from the third block on."""
    return study("dinov2_reg", seed, (1, 2, 3, 4))


@core
@compare(rtol=1e-3, atol=1e-3)
def case_without_registers(seed):
    return study("dinov2", seed + 10, (4, 1))


@core
@compare(rtol=1e-3, atol=1e-3)
def case_other_images(seed):
    """The transform of an experimenter who looks at crops and at mirror images."""
    model, layers, val_transform = load_double("dinov2_reg", seed)
    found = []
    for top in (5 + seed % 16, 20 + seed % 16):
        with tempfile.TemporaryDirectory() as folder:
            transform = lambda image, top=top: val_transform(image[top:, ::-1].copy())  # noqa: E731
            run_exp1(2, layers, model, transform, folder, "dinov2_reg", "tiny")
            found.append(results(folder, 2)["magnitudes"])
    return found


@core
@compare(rtol=1e-3, atol=1e-3)
def case_experiment_2(seed):
    """All layers of one model, one after the other: what is saved of them, and what is reported about them."""
    model, layers, val_transform = load_double("dinov2_reg", seed)
    with tempfile.TemporaryDirectory() as folder:
        summaries = run_exp2(layers, model, val_transform, folder, "dinov2_reg", "tiny")
        saved_layers = [results(folder, layer_id) for layer_id in range(1, len(layers) + 1)]
    return [dataclasses.asdict(summary) for summary in summaries], saved_layers


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Write (height, width, 3) uint8 pixels as a PNG file without prediction."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


@contextmanager
def workplace(seed: int) -> Iterator[None]:
    """A temporary working directory with a random image for a probe and an empty folder `out`."""
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        pixels = np.random.default_rng([18, seed]).integers(0, 256, (6, 9, 3), dtype=np.uint8)
        write_png(Path(folder, "assets", "bird.png"), pixels)
        Path(folder, "out").mkdir()
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(start)


def saved() -> dict[str, Any]:
    """Names and contents of the pickle files in `out`."""
    return {path.name: pickle.loads(path.read_bytes()) for path in sorted(Path("out").iterdir())}


def replace_plot(error: type[Exception] | None = None) -> list[dict[str, Any]]:
    """Replace the plot helper by one that notes its arguments and what is in `out` when it is called."""
    plots: list[dict[str, Any]] = []

    def plot_3d_feat_vit(feat: Tensor, layer_id: int, model_name: str, model_size: str, savedir: str) -> None:
        plots.append({"feat": feat.clone(), "others": [layer_id, model_name, model_size, savedir], "files": saved()})
        if error:
            raise error

    for module in (main_vit, lib.plot_utils_vit):
        module.plot_3d_feat_vit = plot_3d_feat_vit
    return plots


def marks(layers: list[nn.Module]) -> list[tuple[bool, int | None]]:
    """What a patch leaves on each block: a forward of its own, and a number."""
    return [("forward" in vars(block), vars(block).get("layer_id")) for block in layers]


@compare(rtol=1e-9, atol=1e-9)
def case_image_files_and_plot(seed):
    """The image of the working directory, a relative folder, files written twice and complete before the plot."""
    model, layers, transform = load_double("dinov2_reg", seed)
    seen: list[Any] = []
    plots = replace_plot()
    with workplace(seed):
        for family, size in (("a family of a long name", "giant"), ("toy", "s")):
            run_exp1(
                model_size=size,
                model_family=family,
                savedir="out/",
                val_transform=lambda image: (seen.append(image.copy()), transform(image))[1],
                model=model,
                layers=layers,
                layer_id=2,
            )
        return seen, plots, saved(), layers[1].feat, sorted(os.listdir("."))


@compare(rtol=1e-9, atol=1e-9)
def case_plot_that_fails(seed):
    """The exception passes and the files stay."""
    replace_plot(KeyError)
    with workplace(seed):
        model, layers, transform = load_double("dinov2_reg", seed)
        return outcome(run_exp1, 1, layers, model, transform, "out", "clip", "giant", errors=KeyError), saved()


@compare(rtol=1e-9, atol=1e-9)
def case_call_of_the_model(seed):
    """One call, one batch, no gradients, only the chosen block patched, in whatever mode the model is."""
    found = []
    for training, enabled in ((False, True), (True, False)):
        model, layers, transform = load_double("dinov2_reg", seed)
        model.train(training)
        calls: list[Any] = []

        def note(module: nn.Module, args: tuple[Tensor, ...], layers=layers, calls=calls) -> None:
            calls.append((args, torch.is_grad_enabled(), module.training, marks(layers)))

        model.register_forward_pre_hook(note)
        replace_plot()
        with workplace(seed), torch.set_grad_enabled(enabled):
            returned = run_exp1(3, layers, model, transform, "out", "toy", "large")
            found.append((returned, calls, torch.is_grad_enabled(), model.training, marks(layers)))
    return found


@compare(rtol=1e-9, atol=1e-9)
def case_order_and_kind_of_layers(seed):
    """A tuple, and lists that are reversed or hold some of the blocks; magnitudes stay in float64."""
    found = []
    for arrange in (tuple, lambda blocks: blocks[::-1], lambda blocks: blocks[1::2]):
        model, layers, transform = load_double("dinov2_reg", seed)
        plots = replace_plot()
        with workplace(seed):
            run_exp1(2, arrange(layers), model, transform, "out", "toy", "large")
        found.append((plots, marks(layers)))
    return found
