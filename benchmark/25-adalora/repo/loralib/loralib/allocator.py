"""The rank budget: its schedule, the importance of triplets, and pruning."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .adalora import SVDLinear


@dataclass(frozen=True)
class BudgetSchedule:
    """How many triplets all adapters together may keep at each step. Steps are counted from 1."""

    initial: int  # b^(0) of the paper
    final: int  # b^(T)
    total_steps: int  # T
    warmup_steps: int  # steps of the phase at the start; t_i
    final_steps: int  # steps of the phase at the end; t_f
    interval: int  # Delta T

    def __post_init__(self) -> None:
        if not 0 < self.final <= self.initial:
            raise ValueError(f"the final budget {self.final} must be between 1 and the initial one, {self.initial}")
        if self.warmup_steps + self.final_steps >= self.total_steps:
            raise ValueError("warm-up and final phase leave no step for the budget to fall")

    def budget(self, step: int) -> int:
        """b of the paper at a step from 1 to `total_steps`, rounded to the nearest integer, halves to the even one."""
        falling_steps = self.total_steps - self.warmup_steps - self.final_steps
        progress = min(max((step - self.warmup_steps) / falling_steps, 0.0), 1.0)
        return self.final + round((self.initial - self.final) * (1 - progress) ** 3)

    def is_final(self, step: int) -> bool:
        """Whether a step is one of the last `final_steps`."""
        return step > self.total_steps - self.final_steps


def sensitivity(parameter: Tensor, gradient: Tensor) -> Tensor:
    """I of the paper for each number in a parameter, from the parameter and its gradient, all of one shape."""
    return (parameter * gradient).abs()


def score(average: Tensor, deviation: Tensor) -> Tensor:
    """s of the paper for each number in a parameter, from its smoothed statistics, all of one shape.

    Args:
        average: I-bar of the paper.
        deviation: U-bar of the paper.
    """
    return average * deviation


def triplet_importance(value: Tensor, right: Tensor, left: Tensor) -> Tensor:
    """S of the paper for the triplets of one adapter, from the scores s of its parameters.

    Args:
        value: (r, 1), scores of `lora_E`.
        right: (r, in_features), scores of `lora_A`.
        left: (out_features, r), scores of `lora_B`.

    Returns:
        (r,).
    """
    return value.squeeze(1) + right.mean(dim=1) + left.mean(dim=0)


def select(importance: Mapping[str, Tensor], budget: int) -> dict[str, Tensor]:
    """The triplets that stay under a budget.

    Args:
        importance: name of each adapter -> (r,) importance of its triplets; r may differ. No two values are equal.
        budget: from 1 to the number of all triplets.

    Returns:
        Name of each adapter -> (r,) bool, in the order of `importance`; `budget` of them are true in all.
    """
    everything = torch.cat(list(importance.values()))
    kept = torch.zeros_like(everything, dtype=torch.bool)
    kept[everything.topk(budget).indices] = True
    parts = kept.split([len(part) for part in importance.values()])
    return dict(zip(importance, parts, strict=True))


class RankAllocator:
    """Score the triplets of all adapters of a model, and zero the singular values of those outside the budget.

    A pruned triplet keeps its vectors, so that it may come back as long as the budget falls. The allocator never writes
    to a layer's `ranknum`: to prune one triplet does not rescale the others.

    Args:
        model: holds the adapters.
        schedule: the budget.
        sensitivity_decay, uncertainty_decay: beta_1 and beta_2 of the paper.

    Attributes:
        layers: name -> adapter with r > 0, in the order of `model.named_modules()`.
        average, deviation: parameter of an adapter -> I-bar and U-bar of the paper, tensors of its shape; zeros at
            first. Both may be read and set from outside. `update_scores` may add attributes for more.
        kept: for `allocate`, to remember triplets that were chosen for good, as `select` returns them; empty at first.
    """

    def __init__(
        self,
        model: nn.Module,
        schedule: BudgetSchedule,
        sensitivity_decay: float = 0.85,
        uncertainty_decay: float = 0.85,
    ) -> None:
        self.schedule = schedule
        self.sensitivity_decay = sensitivity_decay
        self.uncertainty_decay = uncertainty_decay
        self.layers = {
            name: module for name, module in model.named_modules() if isinstance(module, SVDLinear) and module.r > 0
        }
        self.average = {parameter: torch.zeros_like(parameter) for parameter in self.parameters()}
        self.deviation = {parameter: torch.zeros_like(parameter) for parameter in self.parameters()}
        self.kept: dict[str, Tensor] = {}

    def parameters(self) -> list[nn.Parameter]:
        """The parameters that are scored: `lora_A`, `lora_E` and `lora_B` of all adapters."""
        return [parameter for layer in self.layers.values() for parameter in (layer.lora_A, layer.lora_E, layer.lora_B)]

    @torch.no_grad()
    def update_scores(self) -> None:
        """Update `average` and `deviation` from the present parameters and their gradients.

        `fit` calls it once a step, when all of these parameters have a gradient. Parameters and gradients stay as they
        are. Tensors in `average` and `deviation` may be replaced or changed in place.
        """
        for parameter in self.parameters():
            latest = sensitivity(parameter, parameter.grad)
            average = self.sensitivity_decay * self.average[parameter] + (1 - self.sensitivity_decay) * latest
            spread = (latest - average).abs()
            self.deviation[parameter] = (
                self.uncertainty_decay * self.deviation[parameter] + (1 - self.uncertainty_decay) * spread
            )
            self.average[parameter] = average

    @torch.no_grad()
    def importance(self) -> dict[str, Tensor]:
        """Name of each adapter -> (r,) importance of its triplets at present, in the order of `layers`."""
        result = {}
        for name, layer in self.layers.items():
            parameters = (layer.lora_E, layer.lora_A, layer.lora_B)
            scores = [score(self.average[parameter], self.deviation[parameter]) for parameter in parameters]
            result[name] = triplet_importance(*scores)
        return result

    @torch.no_grad()
    def allocate(self, step: int) -> None:
        """Prune as the paper prescribes for a step: change `lora_E` of the adapters in place, and no other parameter.

        `fit` calls it once a step, for each step from 1 on, in order.
        """
        schedule = self.schedule
        if schedule.is_final(step):
            if not self.kept:
                self.kept = select(self.importance(), schedule.budget(step))
            chosen = self.kept
        elif step > schedule.warmup_steps and step % schedule.interval == 0:
            chosen = select(self.importance(), schedule.budget(step))
        else:
            return
        for name, kept in chosen.items():
            self.layers[name].lora_E.mul_(kept.unsqueeze(1))

    def ranks(self) -> dict[str, int]:
        """Number of triplets with a non-zero singular value, layer by layer."""
        return {name: int(layer.lora_E.count_nonzero()) for name, layer in self.layers.items()}
