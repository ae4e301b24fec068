"""Plots as SVG files, drawn without a plotting library."""

import math
import os
from collections.abc import Sequence

import numpy as np
from torch import Tensor

#: How titles name the families; others are named as they are.
TITLES = {"dinov2": "DINOv2 ViT", "dinov2_reg": "DINOv2-reg ViT"}

#: Tokens in a 3D plot: CLS, four registers and three patches of a model with registers.
PLOTTED_TOKENS = 8

_WIDTH, _HEIGHT = 720, 480
_COLOURS = ("#1f4e79", "#c55a11", "#548235", "#7f6000")


def plot_3d_feat_vit(feat: Tensor, layer_id: int, model_name: str, model_size: str, savedir: str) -> None:
    """Draw the magnitudes of the first tokens over their channels, one line a token, the last token at the back.

    Writes `<savedir>/<model_name>_<model_size>_layer_<layer>.svg`, the layer counted from 1.

    Args:
        feat: (1, N, C) magnitudes on the CPU, drawn as they are.
        layer_id: number of the layer, counted from 0.
        model_name: the family, such as "dinov2_reg".
    """
    lines = feat[0, :PLOTTED_TOKENS].double().numpy()
    tokens, channels = lines.shape
    highest = max(float(lines.max()), 1e-12)
    shift_x, shift_y = 18, -16  # of a token against the one before it
    span = _WIDTH - 130 - shift_x * PLOTTED_TOKENS
    parts = []
    for token in reversed(range(tokens)):
        left, base = 80 + shift_x * token, _HEIGHT - 70 + shift_y * token
        x = left + span * np.arange(channels) / max(channels - 1, 1)
        y = base - 230 * lines[token] / highest
        parts.append(_polyline(x, y, _COLOURS[token % len(_COLOURS)], fill="white"))
        parts.append(_text(left - 34, base + 4, str(token)))
    title = f"{_title(model_name, model_size)}, layer {layer_id + 1}"
    parts += [
        _text(_WIDTH / 2 - 120, 30, title, size=18),
        _text(20, 60, f"magnitude, up to {highest:.1f}"),
        _text(_WIDTH / 2 - 60, _HEIGHT - 30, f"channels 0 to {channels - 1}"),
        _text(16, _HEIGHT - 40, "token"),
    ]
    _write(os.path.join(savedir, f"{model_name}_{model_size}_layer_{layer_id + 1}.svg"), parts)


def plot_layerwise(curves: dict[str, Sequence[float]], model_name: str, model_size: str, savedir: str) -> None:
    """Draw statistics of all layers on a logarithmic axis and write `<model_name>_<model_size>_layerwise.svg`.

    Args:
        curves: positive values for each layer, by the name of the statistic.
    """
    exponents = [math.log10(value) for values in curves.values() for value in values]
    lowest, highest = math.floor(min(exponents)), math.ceil(max(exponents) + 1e-9)
    scale = (_HEIGHT - 150) / max(highest - lowest, 1)
    parts = [_text(_WIDTH / 2 - 120, 30, f"{_title(model_name, model_size)}, all layers", size=18)]
    for exponent in range(lowest, highest + 1):
        parts.append(_text(20, _HEIGHT - 70 - scale * (exponent - lowest), f"1e{exponent}"))
    for number, (name, values) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        x = 80 + (_WIDTH - 220) * np.arange(len(values)) / max(len(values) - 1, 1)
        y = _HEIGHT - 70 - scale * (np.log10(values) - lowest)
        parts += [_polyline(x, y, colour), _text(x[-1] + 10, y[-1] + 4, name)]
    parts.append(_text(_WIDTH / 2 - 60, _HEIGHT - 30, "layer, from first to last"))
    _write(os.path.join(savedir, f"{model_name}_{model_size}_layerwise.svg"), parts)


def _title(model_name: str, model_size: str) -> str:
    return f"{TITLES.get(model_name, model_name)}, {model_size}"


def _polyline(x: np.ndarray, y: np.ndarray, colour: str, fill: str = "none") -> str:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="{fill}" fill-opacity="0.6" stroke="{colour}" stroke-width="1.5"/>'


def _text(x: float, y: float, text: str, size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size}">{text}</text>'


def _write(path: str, parts: list[str]) -> None:
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">'
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([opening, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"]))
