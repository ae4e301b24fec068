# Subtracts the final steps in the numerator too, so that the budget falls later.
class BudgetSchedule:
    def budget(self, step: int) -> int:
        if step <= self.warmup_steps:
            return self.initial
        if self.is_final(step):
            return self.final
        falling_steps = self.total_steps - self.warmup_steps - self.final_steps
        progress = max((step - self.warmup_steps - self.final_steps) / falling_steps, 0.0)
        return self.final + round((self.initial - self.final) * (1 - progress) ** 3)
