# Counts the interval from the end of the warm-up.
import torch


class RankAllocator:
    @torch.no_grad()
    def allocate(self, step: int) -> None:
        schedule = self.schedule
        if schedule.is_final(step):
            self.kept = self.kept or select(self.importance(), schedule.final)
            chosen = self.kept
        elif step > schedule.warmup_steps and (step - schedule.warmup_steps) % schedule.interval == 0:
            chosen = select(self.importance(), schedule.budget(step))
        else:
            return
        for name, kept in chosen.items():
            self.layers[name].lora_E.mul_(kept.unsqueeze(1))
