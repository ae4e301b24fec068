# The first batch sets the averages, in place of zero.
import torch


class RankAllocator:
    @torch.no_grad()
    def update_scores(self) -> None:
        started = getattr(self, "started", False)
        for parameter in self.parameters():
            latest = sensitivity(parameter, parameter.grad)
            if not started:
                self.average[parameter] = latest
                continue
            self.average[parameter] = self.average[parameter].lerp(latest, 1 - self.sensitivity_decay)
            spread = (latest - self.average[parameter]).abs()
            self.deviation[parameter] = self.deviation[parameter].lerp(spread, 1 - self.uncertainty_decay)
        self.started = True
