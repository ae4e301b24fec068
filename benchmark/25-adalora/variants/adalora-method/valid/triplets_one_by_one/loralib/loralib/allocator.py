# States the schedule case by case, and selects from a list of labelled triplets.
from collections.abc import Mapping

import torch
from torch import Tensor


class BudgetSchedule:
    def budget(self, step: int) -> int:
        last = self.total_steps - self.final_steps
        if step <= self.warmup_steps:
            return self.initial
        if step > last:
            return self.final
        remaining = (last - step) / (last - self.warmup_steps)
        return int(self.final + remaining**3 * (self.initial - self.final) + 0.5)


def triplet_importance(value: Tensor, right: Tensor, left: Tensor) -> Tensor:
    in_features, out_features = right.shape[1], left.shape[0]
    return value[:, 0] + right.sum(1) / in_features + left.T.sum(1) / out_features


def select(importance: Mapping[str, Tensor], budget: int) -> dict[str, Tensor]:
    triplets = [(value, name, k) for name, values in importance.items() for k, value in enumerate(values.tolist())]
    kept = {name: torch.zeros(len(values), dtype=torch.bool) for name, values in importance.items()}
    for _, name, k in sorted(triplets, reverse=True)[:budget]:
        kept[name][k] = True
    return kept
