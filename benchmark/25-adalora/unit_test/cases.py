"""Labelled inputs for svd-adapted-linear-forward.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import torch
from lmrbench_cases import compare
from loralib.loralib.adalora import SVDLinear
from torch import Tensor, nn

#: Names of the tensors that the gradient cases look at.
PARAMETERS = ("weight", "bias", "lora_A", "lora_E", "lora_B", "ranknum")


class FixedMask(nn.Module):
    """In place of dropout: the same factor for a feature on every call."""

    def __init__(self, factors: Tensor) -> None:
        super().__init__()
        self.register_buffer("factors", factors)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factors


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers, the same for each dtype up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def make_layer(
    seed: int,
    in_features: int = 5,
    out_features: int = 4,
    *,
    dtype: torch.dtype = torch.float64,
    ranknum: float | None = None,
    **options: float | bool,
) -> SVDLinear:
    """A layer whose parameters are all of order one: singular values of both signs, none of them zero."""
    layer = SVDLinear(in_features, out_features, dtype=dtype, **options)
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


@compare(rtol=1e-8, atol=1e-9)
def case_leading_axes(seed):
    """None to four leading axes, of length one and of length zero too."""
    layer = make_layer(seed, r=3, lora_alpha=16)
    shapes = ((), (1,), (7,), (2, 3), (2, 1, 3), (2, 2, 2, 2), (0,), (3, 0), (0, 2, 1))
    return {str(shape): layer(normal(10 + seed, *shape, 5)) for shape in shapes}


@compare(rtol=1e-8, atol=1e-9)
def case_sizes(seed):
    """Rank one, ranks equal to either size and above both, square layers, single features."""
    return {
        f"{in_features} to {out_features}, r={r}": make_layer(seed + r, in_features, out_features, r=r, lora_alpha=2)(
            normal(seed, 3, in_features)
        )
        for in_features, out_features in ((5, 4), (4, 6), (3, 3), (1, 4), (5, 1))
        for r in (1, 3, 4, 5, 8)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_scaling(seed):
    """Positive values of lora_alpha; zero and negative ones, which the rank replaces; a scaling set afterwards."""
    x = normal(seed, 6, 5)
    results = {
        f"lora_alpha={alpha}, r={r}": make_layer(seed, r=r, lora_alpha=alpha)(x)
        for alpha in (16, 1, 0.25, 0, -2)
        for r in (2, 3)
    }
    layer = make_layer(seed, r=3, lora_alpha=4)
    layer.scaling = 7.5
    return results | {"default": make_layer(seed, r=2)(x), "set": layer(x)}


@compare(rtol=1e-9, atol=1e-9)
def case_ranknum(seed):
    """The divisor follows ranknum whatever the rank, is read at each call, and is 1e-5 for a ranknum of zero."""
    x = normal(seed, 6, 5)
    results = {
        f"ranknum={ranknum}": make_layer(seed, r=3, lora_alpha=8, ranknum=ranknum)(x)
        for ranknum in (0.0, 0.5, 1.0, 2.0, 3.0, 3.7, 12.0, 1e6)
    }
    layer = make_layer(seed, r=4, lora_alpha=8)
    results["before"] = layer(x)
    layer.ranknum.data = torch.tensor([1.0], dtype=torch.float64)
    return results | {"after": layer(x)}


@compare(rtol=1e-8, atol=1e-9)
def case_layout_and_bias(seed):
    """The weight stored either way, with and without bias; a square layer, where a mistake shows in numbers only."""
    results = {}
    for in_features, out_features in ((5, 4), (4, 4), (2, 7)):
        for fan_in_fan_out in (False, True):
            for bias in (False, True):
                layer = make_layer(seed, in_features, out_features, r=3, fan_in_fan_out=fan_in_fan_out, bias=bias)
                name = f"{in_features} to {out_features}, fan_in_fan_out={fan_in_fan_out}, bias={bias}"
                results[name] = layer(normal(20 + seed, 3, in_features))
    return results


@compare(rtol=1e-12, atol=1e-12)
def case_no_adapter(seed):
    """Rank zero, in both layouts and modes: a plain linear layer whose weight trains."""
    results = {}
    for fan_in_fan_out in (False, True):
        for training in (False, True):
            layer = make_layer(seed, r=0, fan_in_fan_out=fan_in_fan_out, lora_dropout=0.5).train(training)
            name = f"fan_in_fan_out={fan_in_fan_out}, training={training}"
            results[name] = with_gradients(layer, normal(30 + seed, 4, 5), seed)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_flags(seed):
    """All combinations of mode and `merged`, set by hand: the flag decides, the mode does not."""
    results = {}
    for fan_in_fan_out in (False, True):
        for training in (False, True):
            for merged in (False, True):
                layer = make_layer(seed, r=2, lora_alpha=4, fan_in_fan_out=fan_in_fan_out, merge_weights=False)
                layer.train(training).merged = merged
                name = f"fan_in_fan_out={fan_in_fan_out}, training={training}, merged={merged}"
                results[name] = with_gradients(layer, normal(40 + seed, 3, 5), seed)
    return results


@compare(rtol=1e-7, atol=1e-8)
def case_merging(seed):
    """Into the weight and out of it again, through the layer and through a module around it."""
    x = normal(50 + seed, 6, 5)
    results = {}
    for fan_in_fan_out in (False, True):
        layer = make_layer(seed, r=3, lora_alpha=6, lora_dropout=0.5, ranknum=2.0, fan_in_fan_out=fan_in_fan_out)
        layer.eval()
        results[f"{fan_in_fan_out}, merged"] = {"y": layer(x), "weight": layer.weight.clone(), "flag": layer.merged}
        model = nn.Sequential(layer, nn.Tanh()).train()
        results[f"{fan_in_fan_out}, restored"] = {"weight": layer.weight.clone(), "flag": layer.merged}
        results[f"{fan_in_fan_out}, merged again"] = {"y": model.eval()(x), "flag": layer.merged}
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_dropout_placement(seed):
    """A known mask in place of dropout, in both modes: only the input of the update goes through it."""
    results = {}
    for name, factors in (
        ("some", torch.tensor([0.0, 2.0, 2.0, 0.0, 2.0])),
        ("none", torch.zeros(5)),
        ("all", torch.tensor([1.5, -1.0, 0.5, 3.0, 1.0])),
    ):
        for training in (False, True):
            layer = make_layer(seed, r=3, lora_alpha=6, merge_weights=False)
            layer.lora_dropout = FixedMask(factors.double())
            results[f"{name}, training={training}"] = with_gradients(layer.train(training), normal(seed, 2, 3, 5), seed)
    return results


@compare(rtol=1e-9, atol=1e-10)
def case_dropout_without_effect(seed):
    """In evaluation mode, unmerged; in training mode, if the adapter reads only features that are zero in the input."""
    options = {"r": 3, "lora_alpha": 6, "lora_dropout": 0.5, "merge_weights": False}
    results = {"evaluation": with_gradients(make_layer(seed, **options).eval(), normal(80 + seed, 4, 5), seed)}
    layer = make_layer(seed, in_features=6, **options)
    x = normal(60 + seed, 40, 6)
    x[:, ::2] = 0
    with torch.no_grad():
        layer.lora_A[:, 1::2] = 0
    return results | {"training": layer(x)}


@compare(rtol=0.0, atol=0.02)
def case_dropout_statistics(seed):
    """Mean and deviation over 40,000 draws. Deviations are 1/4 and 1/2, and 0.02 is at least eight standard errors."""
    results = {}
    for probability in (0.2, 0.5):
        layer = make_layer(seed, r=2, lora_dropout=probability)
        x = normal(70 + seed, 5)
        with torch.no_grad():
            reach = layer.lora_B @ (layer.lora_E * layer.lora_A * x)
            layer.lora_B /= reach.norm(dim=1, keepdim=True)
        y = layer(x.expand(40_000, 5))
        results[f"p={probability}"] = {"mean": y.mean(dim=0), "deviation": y.std(dim=0)}
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_gradients(seed):
    """To input, bias and the three factors, none to weight and ranknum; also to a weight that is made trainable."""
    results = {}
    for fan_in_fan_out in (False, True):
        for trainable in (False, True):
            layer = make_layer(seed, r=3, lora_alpha=5, ranknum=2.0, fan_in_fan_out=fan_in_fan_out)
            layer.weight.requires_grad_(trainable)
            name = f"fan_in_fan_out={fan_in_fan_out}, trainable={trainable}"
            results[name] = with_gradients(layer, normal(90 + seed, 2, 3, 5), seed)
    frozen = make_layer(seed, r=3, lora_alpha=5).requires_grad_(False)
    results["frozen"] = with_gradients(frozen, normal(90 + seed, 3, 5), seed)
    results["requires_grad"] = [frozen(normal(seed, 2, 5)).requires_grad]
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_zero_singular_values(seed):
    """All zero, as at the start: base output, and a gradient for them alone. Some zero: their triplets drop out."""
    results = {}
    for name, kept in (("start", []), ("one", [1]), ("two", [0, 3]), ("all", [0, 1, 2, 3])):
        layer = make_layer(seed, r=4, lora_alpha=8)
        with torch.no_grad():
            layer.lora_E[[k for k in range(4) if k not in kept]] = 0
        results[name] = with_gradients(layer, normal(95 + seed, 3, 5), seed)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_nothing_changes(seed):
    """Strided and transposed inputs, twice each; input and state of the layer come back as they were."""
    wide, tall = normal(seed, 3, 10), normal(seed + 1, 5, 4)
    layer = make_layer(seed, r=3, lora_alpha=4)
    results = {}
    for name, x in (("strided", wide[:, ::2]), ("transposed", tall.t()), ("expanded", wide[:1, :5].expand(2, 3, 5))):
        outputs = [layer(x), layer(x=x)]
        state = {key: value.clone() for key, value in layer.state_dict().items()}
        results[name] = {"outputs": outputs, "x": x.clone(), "state": state, "merged": layer.merged}
    return results


@compare(rtol=5e-2, atol=0.2)
def case_dtypes(seed):
    """The output has the dtype of the layer; the values have the few digits of bfloat16."""
    return {
        str(dtype): make_layer(seed, r=3, dtype=dtype)(normal(seed, 4, 5, dtype=dtype))
        for dtype in (torch.float64, torch.float32, torch.bfloat16)
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_layer(seed):
    """Sizes of a real layer, with the constructor's own small factors and singular values of order one."""
    layer = SVDLinear(64, 96, r=8, lora_alpha=16)
    with torch.no_grad():
        for number, name in enumerate(("weight", "lora_A", "lora_B", "bias")):
            parameter = getattr(layer, name)
            parameter.copy_(normal(200 + 10 * seed + number, *parameter.shape) / 8)
        layer.lora_E.copy_(normal(300 + seed, 8, 1))
    return with_gradients(layer, normal(400 + seed, 4, 10, 64, dtype=torch.float32), seed)
