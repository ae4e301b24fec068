# Adds the losses of a batch, and does not pass the configured weight on.
import torch


class TDPOTrainer:
    def get_batch_metrics(self, batch):
        with torch.no_grad():
            reference_logits = self.reference(batch.input_ids)
        margins, kl = get_batch_statistics(self.policy(batch.input_ids), reference_logits, batch.labels)
        options = self.loss_config
        sides = *margins.chunk(2), *kl.chunk(2)
        losses, chosen, rejected = tdpo_loss(*sides, options.beta, if_tdpo2=options.if_tdpo2)
        return losses.sum(), {
            "loss": losses.sum().item(),
            "accuracy": (chosen > rejected).float().mean().item(),
            "reward margin": (chosen - rejected).mean().item(),
            "chosen KL": sides[2].mean().item(),
            "rejected KL": sides[3].mean().item(),
        }
