# Leaves the opponent out of the rewards, too, if it is left out of the loss.
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
            opponent_real_logps = opponent_generated_logps = torch.zeros_like(policy_real_logps)
        margins = pair_margins(
            policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, self.beta
        )
        real = self.beta * (policy_real_logps - opponent_real_logps).detach()
        generated = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
        return convex_function(margins, self.loss_type), real, generated
