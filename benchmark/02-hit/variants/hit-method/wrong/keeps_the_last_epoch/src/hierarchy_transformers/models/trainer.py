# Leaves the model as it is after the last epoch.
class HierarchyTransformerTrainer:
    def train(self, triples, validation, rng):
        epochs, k = [], 0
        for _ in range(self.config.epochs):
            sums = {name: 0.0 for name in LOSS_NAMES}
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                k += 1
                losses = self.compute_losses(batch)
                self.set_rate(rate_at(k, self.config.learning_rate, self.config.warmup_steps))
                self.optimizer.zero_grad()
                losses["loss"].backward()
                self.optimizer.step()
                for name in sums:
                    sums[name] += losses[name].item() * len(batch) / len(triples)
            epochs.append(Epoch(sums, calibrate(self.model, validation)[1]))
        return epochs
