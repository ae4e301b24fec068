# Averages the log-likelihood over all tokens of a batch.
import torch


class ControlledRun:
    def fit_reference(self):
        opt = torch.optim.RMSprop(self.policy.parameters(), lr=self.config.learning_rate)
        batches = self.batches()
        for step in range(1, self.config.reference_steps + 1):
            for g in opt.param_groups:
                g["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            batch = next(batches)
            chosen, _ = concatenated_forward(self.policy, batch)
            loss = -chosen.sum() / (batch.chosen_labels != IGNORE_LABEL).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.reference.load_state_dict(self.policy.state_dict())
