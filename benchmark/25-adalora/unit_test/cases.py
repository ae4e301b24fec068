"""Labelled inputs for svd-adapted-linear-forward.

Core cases use float32 and tolerances that an honest reordering of the arithmetic meets. The others use float64.
"""

import itertools

import torch
from lmrbench_cases import compare, core
from loralib.loralib.adalora import SVDLinear
from torch import Tensor, nn

#: Names of the tensors that the gradient cases look at.
PARAMETERS = ("weight", "bias", "lora_A", "lora_E", "lora_B", "ranknum")


class FixedMask(nn.Module):
    """In place of dropout: the same factors on every call, whatever the mode."""

    def __init__(self, factors: Tensor) -> None:
        super().__init__()
        self.register_buffer("factors", factors)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factors


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers, the same for each dtype up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def make_layer(
    seed: int, in_features: int = 5, out_features: int = 4, *, ranknum: float | None = None, **options
) -> SVDLinear:
    """A layer whose parameters are all of order one: singular values of both signs, none of them zero."""
    layer = SVDLinear(in_features, out_features, **options)
    with torch.no_grad():
        for number, name in enumerate(PARAMETERS[:-1]):
            parameter = getattr(layer, name, None)
            if parameter is not None:
                parameter.copy_(normal(100 * seed + number, *parameter.shape))
        if ranknum is not None:
            layer.ranknum.fill_(ranknum)
    return layer


def with_gradients(layer: SVDLinear, x: Tensor, seed: int) -> dict[str, object]:
    """Output, and the gradients of a random projection of it; None where a tensor has none."""
    x = x.clone().requires_grad_()
    y = layer(x)
    (y * normal(1000 + seed, *y.shape, dtype=y.dtype)).sum().backward()
    parameters = {name: getattr(layer, name, None) for name in PARAMETERS}
    gradients = {name: None if parameter is None else parameter.grad for name, parameter in parameters.items()}
    return {"y": y.detach(), "x": x.grad, **gradients}


@core
@compare(rtol=1e-3, atol=2e-3)
def case_update(seed):
    """Ranks below, at and above the sizes, square layers, batches of rows and of sequences."""
    results = {}
    for in_features, out_features in ((5, 4), (4, 6), (4, 4)):
        for r in (1, 2, 4, 8):
            layer = make_layer(seed + r, in_features, out_features, r=r, lora_alpha=4)
            results[f"{in_features} to {out_features}, r={r}"] = [
                layer(normal(seed, *shape, in_features)) for shape in ((3,), (1,), (2, 3))
            ]
    return results


@core
@compare(rtol=1e-3, atol=2e-3)
def case_scaling(seed):
    """Some values of lora_alpha, zero too, which the rank replaces; a ranknum that is not the rank."""
    x = normal(seed, 6, 5)
    results = {f"alpha={alpha}": make_layer(seed, r=3, lora_alpha=alpha)(x) for alpha in (16, 1, 0.25, 0)}
    for ranknum in (1.0, 2.0, 12.0):
        results[f"ranknum={ranknum}"] = make_layer(seed, r=3, lora_alpha=8, ranknum=ranknum)(x)
    return results


@core
@compare(rtol=1e-3, atol=2e-3)
def case_layout_bias_and_gradients(seed):
    """The weight stored either way, with and without bias; a square layer, where a mistake shows in numbers only."""
    results = {}
    for out_features, fan_in_fan_out, bias in itertools.product((4, 5), (False, True), (False, True)):
        options = {"r": 3, "lora_alpha": 5, "ranknum": 2.0, "fan_in_fan_out": fan_in_fan_out, "bias": bias}
        layer = make_layer(seed, 5, out_features, **options)
        results[f"{out_features}, {fan_in_fan_out}, {bias}"] = with_gradients(layer, normal(20 + seed, 2, 3, 5), seed)
    return results


@core
@compare(rtol=1e-3, atol=2e-3)
def case_without_adapter(seed):
    """Rank zero, in both layouts and modes: a linear layer whose weight trains."""
    results = {}
    for fan_in_fan_out, training in itertools.product((False, True), (False, True)):
        layer = make_layer(seed, r=0, fan_in_fan_out=fan_in_fan_out, lora_dropout=0.5).train(training)
        results[f"{fan_in_fan_out}, {training}"] = with_gradients(layer, normal(30 + seed, 4, 5), seed)
    return results


@core
@compare(rtol=1e-3, atol=2e-3)
def case_merging(seed):
    """Evaluation mode with and without merging, and training mode again: the same function of x."""
    results, x = {}, normal(50 + seed, 6, 5)
    for fan_in_fan_out in (False, True):
        options = {"r": 3, "lora_alpha": 6, "ranknum": 2.0, "fan_in_fan_out": fan_in_fan_out, "lora_dropout": 0.5}
        for merge_weights in (False, True):
            layer = make_layer(seed, merge_weights=merge_weights, **options)
            model = nn.Sequential(layer, nn.Tanh()).eval()
            results[f"{fan_in_fan_out}, {merge_weights}"] = [layer(x), layer.weight.clone(), model.train()[0].merged]
    return results


@core
@compare(rtol=1e-3, atol=2e-3)
def case_dropout(seed):
    """A known mask in place of dropout; input and factors are square, so that it would fit elsewhere, too."""
    mask = 2.0 * (torch.rand(5, 5, generator=torch.Generator().manual_seed(seed)) < 0.5)
    results = {}
    for name, factors in (("mask", mask), ("nothing left", torch.zeros(5, 5))):
        layer = make_layer(seed, 5, 5, r=5, lora_alpha=6)
        layer.lora_dropout = FixedMask(factors)
        results[name] = with_gradients(layer, normal(seed, 5, 5), seed)
    layer = make_layer(seed, r=3, lora_alpha=6, lora_dropout=0.5, merge_weights=False).eval()
    return results | {"evaluation": layer(normal(60 + seed, 4, 5))}


@core
@compare(rtol=1e-3, atol=2e-3)
def case_pruned_triplets(seed):
    """All singular values zero, as at the start, or some of them, as after pruning; with gradients."""
    results = {}
    for kept in ([], [1], [0, 3]):
        layer = make_layer(seed, r=4, lora_alpha=8)
        with torch.no_grad():
            layer.lora_E[[k for k in range(4) if k not in kept]] = 0
        results[str(kept)] = with_gradients(layer, normal(95 + seed, 3, 5), seed)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_small_number(seed):
    """Both numbers of the factor set by hand: what is added to ranknum shows if it is small."""
    layer = make_layer(seed, r=3, lora_alpha=8, dtype=torch.float64)
    results = {}
    for scaling, ranknum in ((8.0, 0.0), (0.5, 1e-4), (7.5, 3.0)):
        layer.scaling = scaling
        layer.ranknum.data = torch.tensor([ranknum], dtype=torch.float64)
        results[f"{scaling}, {ranknum}"] = layer(normal(seed, 6, 5, dtype=torch.float64))
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_flags(seed):
    """All combinations of mode and `merged`, set by hand, with a weight that is made trainable."""
    results = {}
    for training, merged in itertools.product((False, True), (False, True)):
        layer = make_layer(seed, r=2, lora_alpha=4, merge_weights=False, dtype=torch.float64).train(training)
        layer.weight.requires_grad_()
        layer.merged = merged
        x = normal(40 + seed, 3, 5, dtype=torch.float64)
        results[f"training={training}, merged={merged}"] = with_gradients(layer, x, seed)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_inputs(seed):
    """No leading axis, empty ones, strided and expanded inputs; input and layer stay as they were."""
    layer = make_layer(seed, r=3, lora_alpha=4, dtype=torch.float64)
    wide = normal(seed, 4, 10, dtype=torch.float64)
    tall = normal(seed + 1, 5, 4, dtype=torch.float64)
    inputs = (wide[0, :5], wide[:0, :5], wide.new_zeros(3, 0, 5), wide[:, ::2], tall.t(), wide[:1, :5].expand(2, 3, 5))
    outputs = [layer(x) for x in inputs]
    state = {key: value.clone() for key, value in layer.state_dict().items()}
    return {"outputs": outputs, "inputs": [x.clone() for x in inputs], "state": state, "merged": layer.merged}


@compare(rtol=5e-2, atol=0.2)
def case_bfloat16(seed):
    """The output has the dtype of the layer; its values have few digits."""
    return make_layer(seed, r=3, dtype=torch.bfloat16)(normal(seed, 4, 5, dtype=torch.bfloat16))
