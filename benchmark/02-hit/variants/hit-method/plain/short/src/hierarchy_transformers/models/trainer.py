# As short as it goes.
import copy


def rate_at(step, learning_rate, warmup_steps):
    return learning_rate * min(1, step / warmup_steps) if warmup_steps else learning_rate


class HierarchyTransformerTrainer:
    def train(self, triples, validation, rng):
        epochs, best, state, k = [], -1, None, 0
        for _ in range(self.config.epochs):
            sums = {name: 0.0 for name in LOSS_NAMES}
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                k += 1
                losses = self.compute_losses(batch)
                self.optimizer.zero_grad()
                losses["loss"].backward()
                self.set_rate(rate_at(k, self.config.learning_rate, self.config.warmup_steps))
                self.optimizer.step()
                for name in sums:
                    sums[name] += losses[name].item() * len(batch)
            _, f1 = calibrate(self.model, validation)
            epochs.append(Epoch({name: x / len(triples) for name, x in sums.items()}, f1))
            if f1 > best:
                best, state = f1, copy.deepcopy(self.model.state_dict())
        self.model.load_state_dict(state)
        return epochs
