# Measures the deviation from the smoothed value of the step before.
import torch


class RankAllocator:
    @torch.no_grad()
    def update_scores(self) -> None:
        for parameter in self.parameters():
            latest = sensitivity(parameter, parameter.grad)
            spread = (latest - self.average[parameter]).abs()
            self.average[parameter] = self.average[parameter].lerp(latest, 1 - self.sensitivity_decay)
            self.deviation[parameter] = self.deviation[parameter].lerp(spread, 1 - self.uncertainty_decay)
