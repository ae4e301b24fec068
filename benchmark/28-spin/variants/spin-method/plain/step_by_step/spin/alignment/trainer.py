# Each step in names of its own.
import torch
import torch.nn.functional as F


def pair_margins(policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, beta):
    real_ratio = policy_real_logps - opponent_real_logps
    generated_ratio = policy_generated_logps - opponent_generated_logps
    return beta * (real_ratio - generated_ratio)


def convex_function(margins, loss_type):
    if loss_type == "sigmoid":
        return -F.logsigmoid(margins)
    elif loss_type == "hinge":
        return torch.maximum(1.0 - margins, torch.zeros_like(margins))
    else:
        raise ValueError(f"loss_type must be 'sigmoid' or 'hinge', got {loss_type}")


class SPINTrainer:
    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        if reference_free:
            reference_real = torch.zeros_like(policy_real_logps).detach()
            reference_generated = torch.zeros_like(policy_generated_logps).detach()
        else:
            reference_real = opponent_real_logps
            reference_generated = opponent_generated_logps
        margins = pair_margins(
            policy_real_logps, policy_generated_logps, reference_real, reference_generated, self.beta
        )
        losses = convex_function(margins, self.loss_type)
        with torch.no_grad():
            real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
            generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
        return losses, real_rewards, generated_rewards

    def get_batch_metrics(self, batch, reference_free=False):
        policy_real, policy_generated = self.concatenated_forward(self.policy, batch)
        with torch.no_grad():
            opponent_real, opponent_generated = self.concatenated_forward(self.opponent, batch)
        losses, real_rewards, generated_rewards = self.spin_loss(
            policy_real, policy_generated, opponent_real, opponent_generated, reference_free=reference_free
        )
        loss = losses.mean()
        correct = (real_rewards > generated_rewards).sum().item()
        metrics = {}
        metrics["loss"] = loss.item()
        metrics["accuracy"] = correct / len(losses)
        metrics["real reward"] = real_rewards.mean().item()
        metrics["generated reward"] = generated_rewards.mean().item()
        return loss, metrics

    def train(self, pairs, config, rng):
        optimizer = RMSProp(self.policy.parameters())
        batches_per_epoch = (len(pairs) + config.batch_size - 1) // config.batch_size
        total_steps = batches_per_epoch * config.epochs
        losses = []
        step = 0
        for _epoch in range(config.epochs):
            for batch in iterate_batches(pairs, config.batch_size, rng):
                step += 1
                optimizer.zero_grad()
                loss, _ = self.get_batch_metrics(batch, reference_free=config.reference_free)
                loss.backward()
                rate = rate_at(step, config.learning_rate, total_steps)
                optimizer.step(rate)
                losses.append(float(loss.detach()))
        return losses
