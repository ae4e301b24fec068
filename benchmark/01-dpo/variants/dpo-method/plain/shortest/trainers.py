# The equations, a line each.
import torch
import torch.nn.functional as F


def implicit_reward(policy_logps, reference_logps, beta):
    return beta * (policy_logps - reference_logps)


def reward_margin(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps):
    return (policy_chosen_logps - reference_chosen_logps) - (policy_rejected_logps - reference_rejected_logps)


def pair_loss(margin):
    return -F.logsigmoid(margin)


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
    rc = implicit_reward(policy_chosen_logps, reference_chosen_logps, beta).detach()
    rr = implicit_reward(policy_rejected_logps, reference_rejected_logps, beta).detach()
    if reference_free:
        reference_chosen_logps = reference_rejected_logps = 0
    h = reward_margin(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps)
    if ipo:
        loss = (h - 1 / (2 * beta)) ** 2
    else:
        loss = pair_loss(beta * h) * (1 - label_smoothing) + pair_loss(-beta * h) * label_smoothing
    return loss, rc, rr


def concatenated_forward(model, batch):
    ids, labels = concatenated_inputs(batch)
    logps = get_batch_logps(model(ids).logits, labels)
    n = batch.chosen_input_ids.shape[0]
    return logps[:n], logps[n:]
