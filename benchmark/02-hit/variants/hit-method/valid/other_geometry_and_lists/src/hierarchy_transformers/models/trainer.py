# Learning rate by cases; a list of all states, of which the best is loaded.
import copy


def rate_at(step, learning_rate, warmup_steps):
    return learning_rate if step >= warmup_steps else learning_rate * step / warmup_steps


class HierarchyTransformerTrainer:
    def train(self, triples, validation, rng):
        history, states, step = [], [], 1
        for _ in range(self.config.epochs):
            sums = [0.0, 0.0, 0.0]
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                self.set_rate(rate_at(step, self.config.learning_rate, self.config.warmup_steps))
                self.optimizer.zero_grad()
                losses = self.compute_losses(batch)
                losses["loss"].backward()
                self.optimizer.step()
                step += 1
                sums = [total + len(batch) * losses[name].item() for total, name in zip(sums, LOSS_NAMES)]
            means = {name: total / len(triples) for name, total in zip(LOSS_NAMES, sums)}
            history.append(Epoch(means, calibrate(self.model, validation)[1]))
            states.append(copy.deepcopy(self.model.state_dict()))
        if states:
            best = max(range(len(states)), key=lambda k: (history[k].f1, -k))
            self.model.load_state_dict(states[best])
        return history
