# Fits the reference to preferred and dispreferred responses.
import torch


class ControlledRun:
    def fit_reference(self):
        opt = torch.optim.RMSprop(self.policy.parameters(), lr=self.config.learning_rate)
        batches = self.batches()
        for step in range(1, self.config.reference_steps + 1):
            for g in opt.param_groups:
                g["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            chosen, rejected = concatenated_forward(self.policy, next(batches))
            loss = -(chosen.mean() + rejected.mean()) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.reference.load_state_dict(self.policy.state_dict())
