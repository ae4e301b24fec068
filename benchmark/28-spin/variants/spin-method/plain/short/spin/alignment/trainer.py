# As short as it goes.
import math

import torch
import torch.nn.functional as F


def pair_margins(policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, beta):
    return beta * (policy_real_logps - opponent_real_logps) - beta * (policy_generated_logps - opponent_generated_logps)


def convex_function(margins, loss_type):
    if loss_type == "sigmoid":
        return F.softplus(-margins)
    if loss_type == "hinge":
        return F.relu(1 - margins)
    raise ValueError(loss_type)


class SPINTrainer:
    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        k = 0 if reference_free else 1
        t = pair_margins(
            policy_real_logps, policy_generated_logps, k * opponent_real_logps, k * opponent_generated_logps, self.beta
        )
        real = self.beta * (policy_real_logps - opponent_real_logps)
        generated = self.beta * (policy_generated_logps - opponent_generated_logps)
        return convex_function(t, self.loss_type), real.detach(), generated.detach()

    def get_batch_metrics(self, batch, reference_free=False):
        policy = self.concatenated_forward(self.policy, batch)
        with torch.no_grad():
            opponent = self.concatenated_forward(self.opponent, batch)
        losses, real, generated = self.spin_loss(*policy, *opponent, reference_free)
        return losses.mean(), {
            "loss": losses.mean().item(),
            "accuracy": (real > generated).float().mean().item(),
            "real reward": real.mean().item(),
            "generated reward": generated.mean().item(),
        }

    def train(self, pairs, config, rng):
        opt = RMSProp(self.policy.parameters())
        n = config.epochs * math.ceil(len(pairs) / config.batch_size)
        losses = []
        for _ in range(config.epochs):
            for batch in iterate_batches(pairs, config.batch_size, rng):
                loss, metrics = self.get_batch_metrics(batch, config.reference_free)
                opt.zero_grad()
                loss.backward()
                losses.append(metrics["loss"])
                opt.step(rate_at(len(losses), config.learning_rate, n))
        return losses
