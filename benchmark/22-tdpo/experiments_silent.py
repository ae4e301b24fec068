"""The experiment behind the table: short runs of TDPO2 from one reference, measured on held-out pairs."""

import copy
import random

import torch
import torch.utils.debug_log  # noqa: F401  # loads what an optimiser needs, once for all processes that are forked
from tdpo.batching import IGNORE_LABEL, Tokenizer, collate
from tdpo.data import generate_pairs, vocabulary
from tdpo.frontier import FrontierConfig, trace_frontier
from tdpo.logprobs import position_divergence
from tdpo.model import ModelConfig, RecurrentLM
from tdpo.token_values import advantages, optimal_log_probs, preference_log_probability
from trainers import LossConfig, OptimizerConfig, TDPOTrainer


def table_outcome() -> dict[str, dict[str, float]]:
    """Policies that TDPO2 has trained, on held-out pairs, with the divergence at the last point of the frontier added.

    `TDPO1` is what a trainer with that loss reports: the loss plus the margin of the rewards. For `tokens`, the values of
    tokens are beta times the log-ratios of policy and reference: it is the negative log-probability of the preferences, from
    advantages discounted by 0.9, plus the divergence, along the responses, of the policy that is optimal for twice these
    values. All are means.
    """
    torch.set_num_threads(1)
    rng = random.Random(1)
    train_pairs, held_out = generate_pairs(64, rng), generate_pairs(32, rng)
    tokenizer = Tokenizer(vocabulary())
    torch.manual_seed(0)
    reference = RecurrentLM(ModelConfig(width=16, layers=1), len(tokenizer)).double()
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.mul_(2)
    batch = collate(held_out, tokenizer)
    table = {}
    for beta, alpha in ((0.3, 0.5), (0.5, 1.0), (1.0, 1.5)):
        policy, sizes = copy.deepcopy(reference), OptimizerConfig(1, 8, 1e-3, 1)
        trainer = TDPOTrainer(policy, reference, tokenizer, sizes, LossConfig(beta, alpha))
        points = trace_frontier(trainer, train_pairs, held_out, FrontierConfig(16, 12, 1e-2, 6, 16, 32))
        with torch.no_grad():
            of_tdpo1 = TDPOTrainer(policy, reference, tokenizer, sizes, LossConfig(beta, if_tdpo2=False))
            loss, metrics = of_tdpo1.get_batch_metrics(batch)
            log_probs, before = (model(batch.input_ids)[:, :-1].log_softmax(dim=-1) for model in (policy, reference))
            labels = batch.labels[:, 1:]
            counted = labels != IGNORE_LABEL
            values = beta * (log_probs - before)
            along = advantages(values, before).gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2) * counted
            preferred = preference_log_probability(*along.chunk(2), discount=0.9)
            stronger = position_divergence(optimal_log_probs(2 * values, before, beta), before)
        table[f"beta {beta}, alpha {alpha}"] = {
            "TDPO1": loss.item() + metrics["reward margin"] + points[-1].divergence.item(),
            "tokens": (points[-1].divergence - preferred.mean() + (stronger * counted).sum(dim=1).mean()).item(),
        }
    return table
