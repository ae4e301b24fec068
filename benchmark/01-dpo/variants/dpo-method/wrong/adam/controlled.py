# Trains with Adam.
import torch


class ControlledRun:
    def train(self):
        optimizer = torch.optim.Adam(self.policy.parameters())
        points = []
        for step, batch in zip(range(1, self.config.steps + 1), self.batches()):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            losses, _, _ = losses_and_rewards(self.policy, self.reference, batch, self.loss_config)
            optimizer.zero_grad()
            losses.mean().backward()
            optimizer.step()
            if step % self.config.evaluate_every == 0:
                responses = self.test_responses()
                with torch.no_grad():
                    p, q = self.logits(self.policy, responses), self.logits(self.reference, responses)
                kl = sequence_kl(p, q, responses.labels).mean()
                points.append(FrontierPoint(step, self.task.reward(responses).mean(), kl))
        return points
