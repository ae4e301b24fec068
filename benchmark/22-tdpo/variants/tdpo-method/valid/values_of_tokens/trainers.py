# Takes the loss as a two-class cross-entropy of rewards, and the metrics from rewards before they are detached.
import torch
import torch.nn.functional as F


def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    mark = chosen_kl.detach() if if_tdpo2 else chosen_kl
    weight = alpha if if_tdpo2 else 1.0
    return weight * rejected_kl - weight * mark


def pair_loss(argument):
    return F.binary_cross_entropy_with_logits(argument, torch.ones_like(argument), reduction="none")


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    with torch.no_grad():
        rewards = [
            response_reward(margin, divergence, beta)
            for margin, divergence in (
                (chosen_logps_margin, chosen_position_kl),
                (rejected_logps_margin, rejected_position_kl),
            )
        ]
    u = beta * chosen_logps_margin - beta * rejected_logps_margin
    delta = divergence_term(beta * chosen_position_kl, beta * rejected_position_kl, alpha, if_tdpo2)
    return pair_loss(u - delta), *rewards


class TDPOTrainer:
    def get_batch_metrics(self, batch):
        with torch.no_grad():
            reference_logits = self.reference(batch.input_ids)
        margins, divergences = get_batch_statistics(self.policy(batch.input_ids), reference_logits, batch.labels)
        count = len(batch.labels) // 2
        options = self.loss_config
        losses, chosen, rejected = tdpo_loss(
            margins[:count],
            margins[count:],
            divergences[:count],
            divergences[count:],
            options.beta,
            options.alpha,
            options.if_tdpo2,
        )
        loss = losses.sum() / count
        names = ("loss", "accuracy", "reward margin", "chosen KL", "rejected KL")
        values = (
            loss,
            (chosen > rejected).double().mean(),
            (chosen - rejected).mean(),
            *divergences.view(2, -1).mean(1),
        )
        return loss, {name: value.item() for name, value in zip(names, values)}
