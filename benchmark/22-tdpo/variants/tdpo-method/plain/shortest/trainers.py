# The equations, a line each.
import torch
import torch.nn.functional as F


def divergence_term(chosen_kl, rejected_kl, alpha, if_tdpo2):
    if if_tdpo2:
        return alpha * (rejected_kl - chosen_kl.detach())
    return rejected_kl - chosen_kl


def pair_loss(argument):
    return -F.logsigmoid(argument)


def response_reward(logps_margin, position_kl, beta):
    return beta * (logps_margin + position_kl)


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    u = chosen_logps_margin - rejected_logps_margin
    delta = divergence_term(chosen_position_kl, rejected_position_kl, alpha, if_tdpo2)
    losses = pair_loss(beta * (u - delta))
    rc = response_reward(chosen_logps_margin, chosen_position_kl, beta).detach()
    rr = response_reward(rejected_logps_margin, rejected_position_kl, beta).detach()
    return losses, rc, rr


class TDPOTrainer:
    def get_batch_metrics(self, batch):
        logits = self.policy(batch.input_ids)
        with torch.no_grad():
            ref = self.reference(batch.input_ids)
        m, kl = get_batch_statistics(logits, ref, batch.labels)
        mw, ml = m.chunk(2)
        kw, kl = kl.chunk(2)
        c = self.loss_config
        losses, rw, rl = tdpo_loss(mw, ml, kw, kl, c.beta, c.alpha, c.if_tdpo2)
        metrics = {
            "loss": losses.mean().item(),
            "accuracy": (rw > rl).float().mean().item(),
            "reward margin": (rw - rl).mean().item(),
            "chosen KL": kw.mean().item(),
            "rejected KL": kl.mean().item(),
        }
        return losses.mean(), metrics
