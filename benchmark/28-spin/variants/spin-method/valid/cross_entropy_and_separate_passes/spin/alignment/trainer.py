# Rewards with gradients, whose difference the loss is a function of; passes of half batches.
import torch
import torch.nn.functional as F


def convex_function(margins, loss_type):
    functions = {"sigmoid": lambda t: F.softplus(-t), "hinge": lambda t: (1 - t).clamp(min=0)}
    if loss_type not in functions:
        raise ValueError(loss_type)
    return functions[loss_type](margins)


class SPINTrainer:
    def spin_loss(
        self,
        policy_real_logps,
        policy_generated_logps,
        opponent_real_logps,
        opponent_generated_logps,
        reference_free=False,
    ):
        real = self.beta * (policy_real_logps - opponent_real_logps)
        generated = self.beta * (policy_generated_logps - opponent_generated_logps)
        margins = self.beta * (policy_real_logps - policy_generated_logps) if reference_free else real - generated
        return convex_function(margins, self.loss_type), real.detach(), generated.detach()

    def get_batch_metrics(self, batch, reference_free=False):
        logps = []
        for model, gradients in ((self.policy, torch.is_grad_enabled()), (self.opponent, False)):
            with torch.set_grad_enabled(gradients):
                rows = get_batch_logps(model(batch.input_ids), batch.labels)
            logps += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
        losses, real, generated = self.spin_loss(*logps, reference_free)
        report = {"loss": losses.mean().item(), "accuracy": (real > generated).double().mean().item()}
        report["real reward"], report["generated reward"] = real.mean().item(), generated.mean().item()
        return losses.mean(), report

    def train(self, pairs, config, rng):
        per_epoch = -(-len(pairs) // config.batch_size)
        optimizer = RMSProp(self.policy.parameters())
        losses = []
        for epoch in range(config.epochs):
            for number, batch in enumerate(iterate_batches(pairs, config.batch_size, rng)):
                optimizer.zero_grad()
                loss = self.get_batch_metrics(batch, config.reference_free)[0]
                loss.backward()
                losses.append(loss.detach().item())
                step = epoch * per_epoch + number + 1
                optimizer.step(rate_at(step, config.learning_rate, config.epochs * per_epoch))
        return losses
