# Writes the optimiser out, since the paper gives its constants.
import itertools

import torch


def preference_pairs(rewards):
    rows = []
    for prompt in range(rewards.size(0)):
        for i, j in itertools.combinations(range(rewards.size(1)), 2):
            a, b = rewards[prompt, i].item(), rewards[prompt, j].item()
            if a == b:
                continue
            better, worse = (i, j) if a > b else (j, i)
            rows.append((prompt * rewards.size(1) + better, prompt * rewards.size(1) + worse))
    return torch.tensor(rows)


class ControlledRun:
    def train(self):
        parameters = list(self.policy.parameters())
        squares = [torch.zeros_like(parameter) for parameter in parameters]
        points, step = [], 0
        for batch in self.batches():
            step += 1
            lr = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            losses, _, _ = losses_and_rewards(self.policy, self.reference, batch, self.loss_config)
            gradients = torch.autograd.grad(losses.mean(), parameters)
            with torch.no_grad():
                for parameter, square, gradient in zip(parameters, squares, gradients):
                    square.mul_(0.99).add_(gradient**2, alpha=0.01)
                    parameter -= lr * gradient / (square.sqrt() + 1e-8)
            if step % self.config.evaluate_every == 0:
                responses = self.test_responses()
                with torch.no_grad():
                    p, q = self.logits(self.policy, responses), self.logits(self.reference, responses)
                kl = sequence_kl(p, q, responses.labels).mean()
                points.append(FrontierPoint(step, self.task.reward(responses).mean(), kl))
            if step == self.config.steps:
                return points
