"""Labelled inputs for vit-layer-activation-magnitudes.

Hidden states of real blocks are compared with a tolerance; whatever the function only passes on is compared exactly.
"""

import os
import pickle
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MethodType
from typing import Any

import lib.plot_utils_vit
import main_vit
import monkey_patch.modify_vit
import numpy as np
import torch
from lib.load_model import load_vit
from lmrbench_cases import compare, outcome
from main_vit import run_exp1
from torch import Tensor, nn

Study = tuple[list[nn.Module], nn.Module, Callable[[np.ndarray], Tensor]]


class Gain(nn.Module):
    """Layer scale with a factor of its own in training mode."""

    def __init__(self, gain: float) -> None:
        super().__init__()
        self.gain = gain

    def forward(self, x: Tensor) -> Tensor:
        return self.gain * (3 if self.training else 1) * x


class ToyBlock(nn.Module):
    """A block of linear maps, with the attributes that the patch helper asks for."""

    def __init__(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.Identity(), nn.LayerNorm(width, dtype=dtype)
        self.attn, self.mlp = (nn.Linear(width, width, dtype=dtype) for _ in range(2))
        self.ls1, self.ls2 = Gain(0.5), Gain(-1.5)
        self.drop_path1, self.drop_path2 = nn.Identity(), nn.Identity()
        for parameter in (*self.attn.parameters(), *self.mlp.parameters()):
            parameter.data = torch.randn(parameter.shape, generator=generator, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        return x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))


class ToyModel(nn.Module):
    """Reads the pixels as tokens of three channels, and notes how it is called."""

    def __init__(self, seed: int, depth: int = 3, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.blocks = nn.ModuleList(ToyBlock(3, generator, dtype) for _ in range(depth))
        self.norm = nn.LayerNorm(3, dtype=dtype)
        self.calls: list[dict[str, Any]] = []

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        self.calls.append(
            {
                "images": [image.detach().clone() for image in args],
                "keywords": sorted(kwargs),
                "grad": torch.is_grad_enabled(),
                "training": self.training,
                "patched": ["forward" in vars(block) for block in self.blocks],
            }
        )
        x = args[0].flatten(2).transpose(1, 2).to(self.norm.weight.dtype)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def toy_transform(image: np.ndarray) -> Tensor:
    return torch.from_numpy(image.astype(np.float64)).permute(2, 0, 1) / 255 - 0.5


def toy_study(seed: int, **options: Any) -> Study:
    model = ToyModel(seed, **options).eval()
    return list(model.blocks), model, toy_transform


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Write (height, width, 3) uint8 pixels as a PNG file without prediction."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


@contextmanager
def workplace(seed: int, height: int = 3, width: int = 4) -> Iterator[Path]:
    """A temporary working directory with a random image for a probe and an empty folder `out`."""
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng([18, seed, height, width])
        write_png(Path(folder, "assets", "bird.png"), rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
        Path(folder, "out").mkdir()
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(start)


def replace_everywhere(name: str, function: Callable[..., Any]) -> None:
    """Put another helper where the repository's stands, whichever way it is imported."""
    for module in (main_vit, monkey_patch, monkey_patch.modify_vit, lib.plot_utils_vit):
        if module is main_vit or hasattr(module, name):
            setattr(module, name, function)


def record_plots(folder: str = "out") -> list[dict[str, Any]]:
    """Replace the plot helper by one that notes its arguments and what `folder` holds when it is called."""
    plots: list[dict[str, Any]] = []

    def plot_3d_feat_vit(feat: Tensor, layer_id: int, model_name: str, model_size: str, savedir: str) -> None:
        plots.append(
            {
                "feat": feat.clone(),
                "device": feat.device.type,
                "others": [layer_id, model_name, model_size, savedir],
                "files": saved(folder),
            }
        )

    replace_everywhere("plot_3d_feat_vit", plot_3d_feat_vit)
    return plots


def saved(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Name and content of all files in a folder; of plots, the name alone."""
    contents = {}
    for path in sorted(Path(folder).iterdir()):
        content = pickle.loads(path.read_bytes()) if path.suffix == ".pkl" else None
        contents[path.name] = content
    return contents


def marks(layers: list[nn.Module]) -> list[tuple[bool, bool, Any]]:
    """What a patch leaves on each block: a forward of its own, features, a number."""
    return [("forward" in vars(block), "feat" in vars(block), vars(block).get("layer_id")) for block in layers]


@compare(rtol=1e-5, atol=2e-5)
def case_every_layer(seed):
    """One study after the other on one model with registers; the first block's hidden state and the last one's."""
    model, layers, val_transform = load_vit("dinov2_reg", "tiny", seed=seed)
    with workplace(seed, 10, 13):
        results = [
            run_exp1(layer_id, layers, model, val_transform, "out", "dinov2_reg", "tiny") for layer_id in (1, 2, 3, 4)
        ]
        return results, saved("out")


@compare(rtol=1e-5, atol=2e-5)
def case_without_registers(seed):
    model, layers, val_transform = load_vit("dinov2", "tiny", seed=seed + 10)
    with workplace(seed, 4, 5):
        run_exp1(3, layers, model, val_transform, "out", "dinov2", "tiny")
        return saved("out")


@compare(exact=True)
def case_place_of_the_massive_activation(seed):
    """It arises in layer 3 of the tiny model, at register 3 (token 3), and is still there in layer 4."""
    model, layers, val_transform = load_vit("dinov2_reg", "tiny", seed=seed)
    places = {}
    for layer_id in (2, 3, 4):
        with workplace(seed):
            run_exp1(layer_id, layers, model, val_transform, "out", "dinov2_reg", "tiny")
            magnitudes = saved("out")[f"feat_abs_layer_{layer_id}.pkl"]
        token, channel = np.unravel_index(magnitudes[0].argmax(), magnitudes.shape[1:])
        places[layer_id] = (int(token), int(channel), int((magnitudes > 100).sum()))
    return places


@compare(rtol=1e-5, atol=2e-5)
def case_bundled_image(seed):
    """Called from the root of the repository, with the model's own transform."""
    model, layers, val_transform = load_vit("dinov2_reg", "tiny", seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        run_exp1(2, layers, model, val_transform, folder, "dinov2_reg", "tiny")
        results = saved(folder)
    results["run_exp1_inputs_layer_2.pkl"]["savedir"] = "a temporary folder"
    return results


@compare(rtol=1e-10, atol=1e-12)
def case_double_precision(seed):
    """A model in float64: the magnitudes do not pass through float32; images of one pixel and of many."""
    results = {}
    for height, width in ((1, 1), (2, 9), (7, 3)):
        study = toy_study(seed + height, depth=2)
        plots = record_plots()
        with workplace(seed, height, width):
            run_exp1(2, *study, "out", "toy", "large")
            results[f"{height} x {width}"] = saved("out"), plots, study[0][1].feat
    return results


@compare(rtol=1e-10, atol=1e-12)
def case_what_the_model_sees(seed):
    """One call, one batch, no gradients, only the chosen block patched before it."""
    results = {}
    for layer_id in (1, 2, 3):
        layers, model, transform = toy_study(seed)
        record_plots()
        with workplace(seed):
            returned = run_exp1(layer_id, layers, model, transform, "out", "toy", "large")
        gradients = [parameter.grad is None for parameter in model.parameters()]
        results[layer_id] = returned, model.calls, gradients, torch.is_grad_enabled(), marks(layers)
    return results


@compare(exact=True)
def case_gradient_mode_stays(seed):
    modes = {}
    for enabled in (True, False):
        study = toy_study(seed)
        record_plots()
        with workplace(seed), torch.set_grad_enabled(enabled):
            run_exp1(1, *study, "out", "toy", "large")
            modes[str(enabled)] = torch.is_grad_enabled(), [call["grad"] for call in study[1].calls]
    return modes


@compare(exact=True)
def case_what_the_transform_sees(seed):
    """One call with the pixels; the tensor that it returns is not changed, although it is the transform's own."""
    layers, model, transform = toy_study(seed)
    seen: list[dict[str, Any]] = []

    def recording_transform(image: np.ndarray) -> Tensor:
        seen.append({"type": type(image).__name__, "pixels": image.copy(), "result": transform(image)})
        return seen[-1]["result"]

    record_plots()
    with workplace(seed, 5, 2):
        run_exp1(2, layers, model, recording_transform, "out", "toy", "large")
    return seen


@compare(rtol=1e-10, atol=1e-12)
def case_dtype_of_the_images_stays(seed):
    """The transform's float64 goes into a float32 model as it is, and the other way round."""
    results = {}
    for images, parameters in ((torch.float64, torch.float32), (torch.float32, torch.float64)):
        layers, model, _ = toy_study(seed, dtype=parameters)
        record_plots()
        with workplace(seed):
            run_exp1(1, layers, model, lambda image, to=images: toy_transform(image).to(to), "out", "toy", "large")
        results[str(images)] = model.calls
    return results


@compare(rtol=1e-10, atol=1e-12)
def case_training_mode_stays(seed):
    """In training mode the blocks compute something else, and that is what is recorded."""
    results = {}
    for training in (True, False):
        layers, model, transform = toy_study(seed)
        model.train(training)
        plots = record_plots()
        with workplace(seed):
            run_exp1(3, layers, model, transform, "out", "toy", "large")
        facts = [call["training"] for call in model.calls], [module.training for module in model.modules()]
        results[str(training)] = plots[0]["feat"], *facts
    return results


@compare(rtol=1e-10, atol=1e-12)
def case_order_and_kind_of_layers(seed):
    """A tuple, a module list, and lists that are reversed or hold some of the blocks."""
    results = {}
    for name, arrange in {
        "tuple": tuple,
        "module list": nn.ModuleList,
        "reversed": lambda blocks: blocks[::-1],
        "every second": lambda blocks: blocks[1::2],
    }.items():
        blocks, model, transform = toy_study(seed, depth=5)
        plots = record_plots()
        with workplace(seed):
            for layer_id in (1, 2):
                run_exp1(layer_id, arrange(blocks), model, transform, "out", "toy", "large")
        results[name] = plots, marks(blocks)
    return results


@compare(rtol=1e-10, atol=1e-12)
def case_files_before_the_plot(seed):
    """What the plot helper is given, and what is on disk by then; and what stays if it raises."""
    study = toy_study(seed)
    plots = record_plots()
    with workplace(seed):
        run_exp1(3, *study, "out", "clip", "giant")
    written = list(plots)

    def broken_plot(feat: Tensor, layer_id: int, model_name: str, model_size: str, savedir: str) -> None:
        raise KeyError(model_name)

    replace_everywhere("plot_3d_feat_vit", broken_plot)
    with workplace(seed + 1):
        raised = outcome(run_exp1, 2, *study, "out", "clip", "giant", errors=KeyError)
        return written, raised, saved("out"), marks(study[0])


@compare(rtol=1e-10, atol=1e-12)
def case_arguments_by_keyword(seed):
    """Another folder, relative with a slash at the end; names that look like paths of no file."""
    layers, model, transform = toy_study(seed)
    with workplace(seed):
        os.makedirs("deep/er")
        plots = record_plots("deep/er")
        run_exp1(
            model_size="large_518",
            model_family="openai clip",
            savedir="deep/er/",
            val_transform=transform,
            model=model,
            layers=layers,
            layer_id=2,
        )
        return plots, saved("deep/er"), sorted(os.listdir("out")), sorted(os.listdir("."))


@compare(rtol=1e-10, atol=1e-12)
def case_files_are_replaced(seed):
    """The same layer twice, with another image and other names; two digits in the layer's number."""
    layers, model, transform = toy_study(seed, depth=12)
    plots = record_plots()
    with workplace(seed, 6, 6) as folder:
        run_exp1(11, layers, model, transform, "out", "a family of a long name", "large")
        first = saved("out")
        pixels = np.random.default_rng(seed).integers(0, 256, (1, 2, 3), dtype=np.uint8)
        write_png(folder / "assets" / "bird.png", pixels)
        run_exp1(11, layers, model, transform, "out", "toy", "s")
        return first, saved("out"), len(plots), marks(layers)


@compare(exact=True)
def case_names_of_the_plots(seed):
    """Files of the real plot helper: eight tokens and fewer."""
    layers, model, transform = toy_study(seed)
    names = {}
    for layer_id, size in ((1, (2, 4)), (2, (4, 4)), (3, (1, 1))):
        with workplace(seed, *size):
            run_exp1(layer_id, layers, model, transform, "out", "dinov2_reg", "giant")
            names[layer_id] = sorted(os.listdir("out"))
    return names


@compare(rtol=1e-10, atol=1e-12)
def case_another_patch_helper(seed):
    """A helper that reports other numbers, with both signs, zeros, infinities and NaN; it is called once."""
    calls: list[tuple[bool, int, int]] = []
    blocks, model, transform = toy_study(seed)

    def enable_vit_custom_block(layer: nn.Module, layer_id: int) -> None:
        def forward(self: nn.Module, x: Tensor) -> Tensor:
            result = type(self).forward(self, x)
            self.feat = torch.cat([-2 * result.detach(), special], dim=1)
            return result

        calls.append((layer is blocks[1], layer_id, len(model.calls)))
        layer.forward = MethodType(forward, layer)

    special = torch.tensor(
        [[[float("inf"), -float("inf"), float("nan")], [-0.0, -1e-300, -1e300]]], dtype=torch.float64
    )
    replace_everywhere("enable_vit_custom_block", enable_vit_custom_block)
    plots = record_plots()
    with workplace(seed):
        run_exp1(2, blocks, model, transform, "out", "toy", "large")
        return calls, saved("out"), plots, blocks[1].feat


@compare(exact=True)
def case_device_of_the_model(seed):
    """Parameters on the meta device, which has shapes but no values: the images have to follow them there."""

    class MetaModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(2, 2, device="meta") for _ in range(2))
            self.devices: list[str] = []

        def forward(self, images: Tensor) -> Tensor:
            self.devices.append(images.device.type)
            for number, block in enumerate(self.blocks):
                if hasattr(block, "layer_id"):
                    block.feat = -torch.arange(6.0, dtype=torch.float64).view(1, 3, 2) - number
            return images

    def enable_vit_custom_block(layer: nn.Module, layer_id: int) -> None:
        layer.layer_id = layer_id

    replace_everywhere("enable_vit_custom_block", enable_vit_custom_block)
    model = MetaModel()
    plots = record_plots()
    with workplace(seed):
        run_exp1(2, list(model.blocks), model, toy_transform, "out", "toy", "large")
        devices = {parameter.device.type for parameter in model.parameters()}
        return model.devices, devices, saved("out"), plots


@compare(rtol=1e-5, atol=2e-5)
def case_model_computes_the_same_afterwards(seed):
    model, layers, val_transform = load_vit("dinov2_reg", "tiny", seed=seed)
    images = torch.randn(2, 3, 56, 56, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        before = model(images)
        with workplace(seed):
            run_exp1(4, layers, model, val_transform, "out", "dinov2_reg", "tiny")
        after = model(images)
    return before, after, tuple(layers[3].feat.shape), marks(layers)
