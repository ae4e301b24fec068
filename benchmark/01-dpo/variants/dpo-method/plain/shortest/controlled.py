# Plain loops.
import torch


def preference_pairs(rewards):
    P, K = rewards.shape
    pairs = []
    for p in range(P):
        for i in range(K):
            for j in range(K):
                if rewards[p, i] > rewards[p, j]:
                    pairs.append([p * K + i, p * K + j])
    return torch.tensor(pairs)


def learning_rate(step, peak, warmup_steps):
    return peak * min(1, step / warmup_steps)


def sequence_kl(policy_logits, reference_logits, labels):
    p = policy_logits.softmax(-1)
    kl = (p * (policy_logits.log_softmax(-1) - reference_logits.log_softmax(-1))).sum(-1)
    return (kl[:, :-1] * (labels[:, 1:] != IGNORE_LABEL)).sum(-1)


class ControlledRun:
    def fit_reference(self):
        opt = torch.optim.RMSprop(self.policy.parameters(), lr=self.config.learning_rate)
        batches = self.batches()
        for step in range(1, self.config.reference_steps + 1):
            for g in opt.param_groups:
                g["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            chosen, _ = concatenated_forward(self.policy, next(batches))
            loss = -chosen.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.reference.load_state_dict(self.policy.state_dict())

    def train(self):
        opt = torch.optim.RMSprop(self.policy.parameters(), lr=self.config.learning_rate)
        points = []
        batches = self.batches()
        for step in range(1, self.config.steps + 1):
            for g in opt.param_groups:
                g["lr"] = learning_rate(step, self.config.learning_rate, self.config.warmup_steps)
            loss = losses_and_rewards(self.policy, self.reference, next(batches), self.loss_config)[0].mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % self.config.evaluate_every == 0:
                responses = self.test_responses()
                with torch.no_grad():
                    p, q = self.logits(self.policy, responses), self.logits(self.reference, responses)
                kl = sequence_kl(p, q, responses.labels).mean()
                points.append(FrontierPoint(step, self.task.reward(responses).mean(), kl))
        return points
