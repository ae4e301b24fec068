# Rewards are bare log-ratios.
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
        margins = pair_margins(
            policy_real_logps, policy_generated_logps, k * opponent_real_logps, k * opponent_generated_logps, self.beta
        )
        real = (policy_real_logps - opponent_real_logps).detach()
        generated = (policy_generated_logps - opponent_generated_logps).detach()
        return convex_function(margins, self.loss_type), real, generated
