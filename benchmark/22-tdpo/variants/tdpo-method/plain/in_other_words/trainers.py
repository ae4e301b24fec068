# Splits the sides by indexing.
import torch
import torch.nn.functional as F


def pair_loss(argument):
    return torch.nn.functional.softplus(-argument)


class TDPOTrainer:
    def get_batch_metrics(self, batch):
        pairs = batch.input_ids.shape[0] // 2
        with torch.no_grad():
            reference_logits = self.reference(batch.input_ids)
        stats = get_batch_statistics(self.policy(batch.input_ids), reference_logits, batch.labels)
        losses, chosen_rewards, rejected_rewards = tdpo_loss(
            chosen_logps_margin=stats.logps_margin[:pairs],
            rejected_logps_margin=stats.logps_margin[pairs:],
            chosen_position_kl=stats.position_kl[:pairs],
            rejected_position_kl=stats.position_kl[pairs:],
            beta=self.loss_config.beta,
            alpha=self.loss_config.alpha,
            if_tdpo2=self.loss_config.if_tdpo2,
        )
        loss = losses.mean()
        margin = chosen_rewards - rejected_rewards
        return loss, {
            "loss": float(loss),
            "accuracy": float((margin > 0).double().mean()),
            "reward margin": float(margin.mean()),
            "chosen KL": float(stats.position_kl[:pairs].mean()),
            "rejected KL": float(stats.position_kl[pairs:].mean()),
        }
