# Warms up and falls anew in each epoch.
class SPINTrainer:
    def train(self, pairs, config, rng):
        optimizer = RMSProp(self.policy.parameters())
        n = math.ceil(len(pairs) / config.batch_size)
        losses = []
        for _ in range(config.epochs):
            for k, batch in enumerate(iterate_batches(pairs, config.batch_size, rng), start=1):
                loss, _ = self.get_batch_metrics(batch, config.reference_free)
                losses.append(loss.item())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step(rate_at(k, config.learning_rate, n))
        return losses
