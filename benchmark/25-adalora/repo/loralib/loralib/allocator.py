"""Spend a shrinking rank budget on the triplets that matter most: importance scores, budget schedule and pruning."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .adalora import SVDLinear


@dataclass(frozen=True)
class BudgetSchedule:
    """How many triplets all adapters together may keep at each step, counted from 1."""

    initial: int  # triplets before pruning starts
    final: int  # triplets that stay
    total_steps: int
    warmup_steps: int  # at the start, without pruning
    final_steps: int  # at the end, with a fixed set of triplets
    interval: int  # steps between two allocations while the budget falls

    def __post_init__(self) -> None:
        if not 0 < self.final <= self.initial:
            raise ValueError(f"the final budget {self.final} must be between 1 and the initial one, {self.initial}")
        if self.warmup_steps + self.final_steps >= self.total_steps:
            raise ValueError("warm-up and final phase leave no step for the budget to fall")

    def budget(self, step: int) -> int:
        """Cubic decay from the initial to the final budget between the two outer phases."""
        falling_steps = self.total_steps - self.warmup_steps - self.final_steps
        progress = min(max((step - self.warmup_steps) / falling_steps, 0.0), 1.0)
        return self.final + round((self.initial - self.final) * (1 - progress) ** 3)

    def is_final(self, step: int) -> bool:
        """Whether the set of triplets does not change any more."""
        return step > self.total_steps - self.final_steps


class RankAllocator:
    """Score the triplets of all adapters of a model, and zero the singular values of those outside the budget.

    A pruned triplet keeps its vectors, so that it may come back as long as the budget falls. The allocator never writes
    to a layer's `ranknum`: to prune one triplet does not rescale the others.

    Args:
        model: holds the adapters.
        schedule: the budget.
        sensitivity_decay, uncertainty_decay: factors of the two exponential averages, beta_1 and beta_2 of the paper.
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
        self._sensitivity = {parameter: torch.zeros_like(parameter) for parameter in self._parameters()}
        self._uncertainty = {parameter: torch.zeros_like(parameter) for parameter in self._parameters()}
        self._kept: dict[str, Tensor] = {}

    @torch.no_grad()
    def update_scores(self) -> None:
        """Update the averages from the gradients; call it after each backward pass, before the optimiser's step."""
        for parameter in self._parameters():
            sensitivity = (parameter * parameter.grad).abs()
            average = self._sensitivity[parameter].lerp_(sensitivity, 1 - self.sensitivity_decay)
            self._uncertainty[parameter].lerp_((sensitivity - average).abs(), 1 - self.uncertainty_decay)

    @torch.no_grad()
    def allocate(self, step: int) -> None:
        """Prune to the budget of this step; call it after the optimiser's step, which revives pruned values."""
        schedule = self.schedule
        if step <= schedule.warmup_steps:
            return
        if not schedule.is_final(step):
            if step % schedule.interval:
                return
            self._choose(schedule.budget(step))
        elif not self._kept or step == schedule.total_steps - schedule.final_steps + 1:
            self._choose(schedule.final)
        for name, kept in self._kept.items():
            self.layers[name].lora_E.mul_(kept)

    def ranks(self) -> dict[str, int]:
        """Number of triplets with a non-zero singular value, layer by layer."""
        return {name: int(layer.lora_E.count_nonzero()) for name, layer in self.layers.items()}

    def _choose(self, budget: int) -> None:
        """Keep the triplets with the highest importance, over all layers together."""
        importance = {name: self._importance(layer) for name, layer in self.layers.items()}
        scores = torch.cat(list(importance.values()))
        kept = torch.zeros_like(scores).index_fill_(0, scores.topk(budget).indices, 1.0)
        parts = kept.split([len(part) for part in importance.values()])
        self._kept = {name: part.unsqueeze(1) for name, part in zip(importance, parts, strict=True)}

    def _importance(self, layer: SVDLinear) -> Tensor:
        """(r,) scores: that of the singular value plus the mean scores of both of its vectors."""
        value, right, left = (
            self._sensitivity[parameter] * self._uncertainty[parameter]
            for parameter in (layer.lora_E, layer.lora_A, layer.lora_B)
        )
        return value.squeeze(1) + right.mean(dim=1) + left.mean(dim=0)

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for layer in self.layers.values() for parameter in (layer.lora_A, layer.lora_E, layer.lora_B)]
