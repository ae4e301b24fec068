# Takes chosen and rejected responses to alternate.
import torch


class TDPOTrainer:
    def get_batch_metrics(self, batch):
        with torch.no_grad():
            reference_logits = self.reference(batch.input_ids)
        margins, kl = get_batch_statistics(self.policy(batch.input_ids), reference_logits, batch.labels)
        options = self.loss_config
        losses, chosen, rejected = tdpo_loss(
            margins[::2], margins[1::2], kl[::2], kl[1::2], options.beta, options.alpha, options.if_tdpo2
        )
        return losses.mean(), {
            "loss": losses.mean().item(),
            "accuracy": (chosen > rejected).float().mean().item(),
            "reward margin": (chosen - rejected).mean().item(),
            "chosen KL": kl[::2].mean().item(),
            "rejected KL": kl[1::2].mean().item(),
        }
