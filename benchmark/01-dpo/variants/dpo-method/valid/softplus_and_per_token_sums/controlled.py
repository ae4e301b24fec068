# Builds pairs from sorted completions, takes the divergence from F.kl_div, and lets a scheduler set the learning rate.
import torch
import torch.nn.functional as F


def preference_pairs(rewards):
    rows = []
    for p, row in enumerate(rewards):
        order = row.argsort(descending=True).tolist()
        for place, k in enumerate(order):
            rows += [[p * len(order) + k, p * len(order) + j] for j in order[place + 1 :] if row[k] > row[j]]
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


def learning_rate(step, peak, warmup_steps):
    if step >= warmup_steps:
        return peak
    return peak * step / warmup_steps


def sequence_kl(policy_logits, reference_logits, labels):
    counted = labels[:, 1:] != IGNORE_LABEL
    policy, reference = policy_logits[:, :-1].log_softmax(-1), reference_logits[:, :-1].log_softmax(-1)
    pointwise = F.kl_div(reference, policy, reduction="none", log_target=True).sum(-1)
    return torch.where(counted, pointwise, 0.0).sum(1)


class ControlledRun:
    def train(self):
        config = self.config
        optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=1.0)
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda done: learning_rate(done + 1, config.learning_rate, config.warmup_steps)
        )
        batches, frontier = self.batches(), []
        for step in range(1, config.steps + 1):
            optimizer.zero_grad()
            losses = losses_and_rewards(self.policy, self.reference, next(batches), self.loss_config)[0]
            losses.mean().backward()
            optimizer.step()
            scheduler.step()
            if not step % config.evaluate_every:
                responses = self.test_responses()
                with torch.no_grad():
                    p, q = self.logits(self.policy, responses), self.logits(self.reference, responses)
                kl = sequence_kl(p, q, responses.labels).mean()
                frontier.append(FrontierPoint(step, self.task.reward(responses).mean(), kl))
        return frontier

    def fit_reference(self):
        config, model = self.config, self.reference.requires_grad_(True)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=config.learning_rate)
        batches = self.batches()
        for step in range(config.reference_steps):
            batch = next(batches)
            optimizer.param_groups[0]["lr"] = learning_rate(step + 1, config.learning_rate, config.warmup_steps)
            log_probs = model(batch.chosen_input_ids).logits[:, :-1].log_softmax(-1)
            labels = batch.chosen_labels[:, 1:]
            loss = F.nll_loss(log_probs.transpose(1, 2), labels, ignore_index=IGNORE_LABEL, reduction="sum")
            optimizer.zero_grad()
            (loss / len(labels)).backward()
            optimizer.step()
        model.requires_grad_(False).zero_grad()
        self.policy.load_state_dict(model.state_dict())
