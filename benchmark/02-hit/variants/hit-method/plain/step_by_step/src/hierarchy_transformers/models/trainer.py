# Each step in names of its own.
def rate_at(step, learning_rate, warmup_steps):
    if warmup_steps > 0 and step < warmup_steps:
        return learning_rate * (step / warmup_steps)
    return learning_rate


class HierarchyTransformerTrainer:
    def train(self, triples, validation, rng):
        history = []
        best_f1 = float("-inf")
        best_state = None
        step = 0
        for _epoch in range(self.config.epochs):
            totals = {name: 0.0 for name in LOSS_NAMES}
            count = 0
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                step += 1
                self.set_rate(rate_at(step, self.config.learning_rate, self.config.warmup_steps))
                losses = self.compute_losses(batch)
                self.optimizer.zero_grad()
                losses["loss"].backward()
                self.optimizer.step()
                for name in LOSS_NAMES:
                    totals[name] += losses[name].item() * len(batch)
                count += len(batch)
            mean_losses = {name: total / count for name, total in totals.items()}
            _rule, f1 = calibrate(self.model, validation)
            history.append(Epoch(losses=mean_losses, f1=f1))
            if f1 > best_f1:
                best_f1 = f1
                best_state = {key: value.detach().clone() for key, value in self.model.state_dict().items()}
        if best_state is not None:
            self.model.load_state_dict(best_state)
        return history
