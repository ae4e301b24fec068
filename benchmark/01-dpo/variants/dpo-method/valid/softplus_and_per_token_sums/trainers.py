# Takes losses from softplus, rewards with their gradients first, and sums token by token.
import torch
import torch.nn.functional as F
from torch import Tensor


def implicit_reward(policy_logps: Tensor, reference_logps: Tensor, beta: float) -> Tensor:
    return beta * policy_logps - beta * reference_logps


def reward_margin(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps):
    chosen = implicit_reward(policy_chosen_logps, reference_chosen_logps, 1.0)
    return chosen - implicit_reward(policy_rejected_logps, reference_rejected_logps, 1.0)


def pair_loss(margin: Tensor) -> Tensor:
    return F.softplus(-margin)


def preference_loss(
    policy_chosen_logps,
    policy_rejected_logps,
    reference_chosen_logps,
    reference_rejected_logps,
    beta,
    label_smoothing=0.0,
    ipo=False,
    reference_free=False,
):
    chosen = implicit_reward(policy_chosen_logps, reference_chosen_logps, beta)
    rejected = implicit_reward(policy_rejected_logps, reference_rejected_logps, beta)
    margin = chosen - rejected
    if reference_free:
        margin = beta * (policy_chosen_logps - policy_rejected_logps)
    if ipo:
        return (margin / beta - 0.5 / beta).square(), chosen.detach(), rejected.detach()
    losses = pair_loss(margin) + label_smoothing * margin
    return losses, chosen.detach(), rejected.detach()


def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    log_probs = model(input_ids).logits.log_softmax(-1)
    totals = []
    for row, row_labels in zip(log_probs, labels):
        positions = [t for t in range(1, len(row_labels)) if row_labels[t] != IGNORE_LABEL]
        totals.append(sum(row[t - 1, row_labels[t]] for t in positions))
    half = len(totals) // 2
    return torch.stack(totals[:half]), torch.stack(totals[half:])
