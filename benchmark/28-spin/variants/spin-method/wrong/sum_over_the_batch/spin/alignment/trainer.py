# Minimises the sum over the batch.
class SPINTrainer:
    def get_batch_metrics(self, batch, reference_free=False):
        policy = self.concatenated_forward(self.policy, batch)
        with torch.no_grad():
            opponent = self.concatenated_forward(self.opponent, batch)
        losses, real, generated = self.spin_loss(*policy, *opponent, reference_free)
        return losses.sum(), {
            "loss": losses.sum().item(),
            "accuracy": (real > generated).float().mean().item(),
            "real reward": real.mean().item(),
            "generated reward": generated.mean().item(),
        }
