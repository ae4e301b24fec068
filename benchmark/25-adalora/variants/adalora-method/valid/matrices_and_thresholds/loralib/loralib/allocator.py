# Selects by a threshold, averages in place, and walks over the layers.
from collections.abc import Mapping

import torch
from torch import Tensor


def select(importance: Mapping[str, Tensor], budget: int) -> dict[str, Tensor]:
    ordered = torch.cat([values.flatten() for values in importance.values()]).sort(descending=True).values
    return {name: values >= ordered[budget - 1] for name, values in importance.items()}


class RankAllocator:
    @torch.no_grad()
    def update_scores(self) -> None:
        for parameter, average in self.average.items():
            latest = sensitivity(parameter, parameter.grad)
            average.lerp_(latest, 1 - self.sensitivity_decay)
            self.deviation[parameter].lerp_((latest - average).abs(), 1 - self.uncertainty_decay)

    @torch.no_grad()
    def allocate(self, step: int) -> None:
        schedule = self.schedule
        end_of_fall = schedule.total_steps - schedule.final_steps
        if schedule.warmup_steps < step <= end_of_fall and step % schedule.interval == 0:
            self._prune(select(self.importance(), schedule.budget(step)))
        elif step > end_of_fall:
            self.kept = self.kept or select(self.importance(), schedule.final)
            self._prune(self.kept)

    def _prune(self, chosen: Mapping[str, Tensor]) -> None:
        for name, mask in chosen.items():
            self.layers[name].lora_E[~mask] = 0.0
