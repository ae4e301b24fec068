# Reuses the pieces in another order.
import torch


def pair_loss(margin):
    return torch.nn.functional.binary_cross_entropy_with_logits(margin, torch.ones_like(margin), reduction="none")


def implicit_reward(policy_logps, reference_logps, beta):
    log_ratio = policy_logps - reference_logps
    return log_ratio * beta


def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    logits = model(input_ids).logits
    all_logps = get_batch_logps(logits, labels, average_log_prob=False)
    return all_logps[: len(batch.chosen_labels)], all_logps[len(batch.chosen_labels) :]
