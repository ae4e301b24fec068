# Divides each log-likelihood by the number of tokens.
import torch


class ControlledRun:
    def fit_reference(self):
        opt = torch.optim.RMSprop(self.policy.parameters(), lr=self.config.learning_rate)
        batches = self.batches()
        for step in range(1, self.config.reference_steps + 1):
            for g in opt.param_groups:
                g["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            batch = next(batches)
            counted = (batch.chosen_labels[:, 1:] != IGNORE_LABEL).sum(dim=1)
            loss = -(concatenated_forward(self.policy, batch)[0] / counted).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.reference.load_state_dict(self.policy.state_dict())
