# The formulas of the paper, a line each.
class BudgetSchedule:
    def budget(self, step):
        if step <= self.warmup_steps:
            return self.initial
        if self.is_final(step):
            return self.final
        x = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps - self.final_steps)
        return round(self.final + (self.initial - self.final) * (1 - x) ** 3)


def sensitivity(parameter, gradient):
    return torch.abs(parameter.detach() * gradient)


def score(average, deviation):
    return average * deviation


def triplet_importance(value, right, left):
    return value[:, 0] + right.mean(1) + left.mean(0)


def select(importance, budget):
    flat = torch.cat(list(importance.values()))
    keep = set(flat.argsort(descending=True)[:budget].tolist())
    out, i = {}, 0
    for name, s in importance.items():
        out[name] = torch.tensor([i + k in keep for k in range(len(s))])
        i += len(s)
    return out


class RankAllocator:
    @torch.no_grad()
    def update_scores(self):
        b1, b2 = self.sensitivity_decay, self.uncertainty_decay
        for p in self.parameters():
            i = sensitivity(p, p.grad)
            self.average[p] = b1 * self.average[p] + (1 - b1) * i
            self.deviation[p] = b2 * self.deviation[p] + (1 - b2) * (i - self.average[p]).abs()

    @torch.no_grad()
    def allocate(self, step):
        s = self.schedule
        if step <= s.warmup_steps:
            return
        if s.is_final(step):
            if not self.kept:
                self.kept = select(self.importance(), s.final)
            keep = self.kept
        elif step % s.interval == 0:
            keep = select(self.importance(), s.budget(step))
        else:
            return
        for name, mask in keep.items():
            self.layers[name].lora_E[~mask] = 0
