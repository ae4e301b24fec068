# Another style: more names, fewer formulas on a line.
import math
from collections.abc import Mapping

import torch
from torch import Tensor


class BudgetSchedule:
    def budget(self, step: int) -> int:
        start = self.warmup_steps
        end = self.total_steps - self.final_steps
        if step <= start:
            value = float(self.initial)
        elif step > end:
            value = float(self.final)
        else:
            fraction = (step - start) / (end - start)
            value = self.final + (self.initial - self.final) * math.pow(1.0 - fraction, 3)
        return round(value)


def sensitivity(parameter: Tensor, gradient: Tensor) -> Tensor:
    return parameter.abs() * gradient.abs()


def score(average: Tensor, deviation: Tensor) -> Tensor:
    return torch.mul(average, deviation)


def triplet_importance(value: Tensor, right: Tensor, left: Tensor) -> Tensor:
    total = value.view(-1).clone()
    total += right.mean(dim=-1)
    total += left.mean(dim=-2)
    return total


def select(importance: Mapping[str, Tensor], budget: int) -> dict[str, Tensor]:
    names = list(importance)
    lengths = [importance[name].numel() for name in names]
    scores = torch.cat([importance[name] for name in names])
    _, winners = torch.topk(scores, k=budget)
    mask = torch.zeros(scores.numel(), dtype=torch.bool).scatter(0, winners, True)
    return {name: part for name, part in zip(names, torch.split(mask, lengths))}


class RankAllocator:
    @torch.no_grad()
    def update_scores(self) -> None:
        for layer in self.layers.values():
            for parameter in (layer.lora_A, layer.lora_E, layer.lora_B):
                current = sensitivity(parameter.data, parameter.grad.data)
                average = self.average[parameter]
                average.mul_(self.sensitivity_decay).add_(current, alpha=1 - self.sensitivity_decay)
                uncertainty = torch.abs(current - average)
                deviation = self.deviation[parameter]
                deviation.mul_(self.uncertainty_decay).add_(uncertainty, alpha=1 - self.uncertainty_decay)

    @torch.no_grad()
    def allocate(self, step: int) -> None:
        schedule = self.schedule
        if schedule.is_final(step):
            first_final_step = schedule.total_steps - schedule.final_steps + 1
            if step == first_final_step or not self.kept:
                self.kept = select(self.importance(), schedule.budget(step))
            mask_by_name = self.kept
        else:
            falling = step > schedule.warmup_steps
            if not falling or step % schedule.interval != 0:
                return
            mask_by_name = select(self.importance(), schedule.budget(step))
        for name, layer in self.layers.items():
            layer.lora_E.data.masked_fill_(~mask_by_name[name].unsqueeze(1), 0.0)
