# The final phase chooses anew after each step.
import torch


class RankAllocator:
    @torch.no_grad()
    def allocate(self, step: int) -> None:
        schedule = self.schedule
        pruning = step > schedule.warmup_steps and step % schedule.interval == 0
        if not (schedule.is_final(step) or pruning):
            return
        chosen = select(self.importance(), schedule.budget(step))
        for name, kept in chosen.items():
            self.layers[name].lora_E.mul_(kept.unsqueeze(1))
