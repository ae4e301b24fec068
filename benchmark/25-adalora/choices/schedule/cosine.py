import math


class BudgetSchedule:
    def budget(self, step):
        falling_steps = self.total_steps - self.warmup_steps - self.final_steps
        progress = min(max((step - self.warmup_steps) / falling_steps, 0.0), 1.0)
        return self.final + round((self.initial - self.final) * (1 + math.cos(math.pi * progress)) / 2)
