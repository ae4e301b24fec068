"""The experiments behind the tables: short runs of TDPO from one reference, measured on held-out pairs."""

import copy
import random

import torch
from tdpo.batching import PreferenceBatch, Tokenizer, collate
from tdpo.data import generate_pairs, vocabulary
from tdpo.frontier import FrontierConfig, trace_frontier
from tdpo.logprobs import get_batch_statistics
from tdpo.model import ModelConfig, RecurrentLM
from trainers import LossConfig, OptimizerConfig, TDPOTrainer, tdpo_loss


def _measure(trainer: TDPOTrainer, batch: PreferenceBatch) -> dict[str, float]:
    """Continuous measures of the present policy on a batch."""
    config = trainer.loss_config
    statistics = get_batch_statistics(trainer.policy(batch.input_ids), trainer.reference(batch.input_ids), batch.labels)
    margins, divergences = statistics.logps_margin.chunk(2), statistics.position_kl.chunk(2)
    losses, _, _ = tdpo_loss(*margins, *divergences, config.beta, config.alpha, config.if_tdpo2)
    weights = torch.linspace(0.5, 1.5, len(losses), dtype=losses.dtype)
    (gradient,) = torch.autograd.grad((weights * losses).mean(), trainer.policy.head.weight)
    chosen, rejected = divergences
    return {
        "margin": (margins[0] - margins[1]).mean().item(),
        "chosen": chosen.mean().item(),
        "rejected": rejected.mean().item(),
        "gradient": gradient.norm().item(),
    }


def table_runs() -> dict[str, dict[str, float]]:
    """TDPO1 and TDPO2 with several weights, two rounds each: margin, divergences and gradient norm on held-out pairs.

    The margin is that of the log-ratios of policy and reference, in nats; the divergences along chosen and rejected
    responses are relative to the first round. The gradient is that of the losses, with weights that grow from pair to pair.
    """
    rng = random.Random(0)
    train_pairs, held_out = generate_pairs(48, rng), generate_pairs(12, rng)
    tokenizer = Tokenizer(vocabulary())
    torch.manual_seed(0)
    reference = RecurrentLM(ModelConfig(width=12, layers=1), len(tokenizer)).double()
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.mul_(2)
    batch = collate(held_out, tokenizer)
    runs = {"TDPO1": (0.3, 1.0, False), "TDPO2, alpha 0.5": (0.3, 0.5, True), "TDPO2, alpha 1.5": (0.6, 1.5, True)}
    table = {}
    for name, (beta, alpha, if_tdpo2) in runs.items():
        options = LossConfig(beta, alpha, if_tdpo2)
        trainer = TDPOTrainer(copy.deepcopy(reference), reference, tokenizer, OptimizerConfig(1, 8, 1e-3, 1), options)
        first: dict[str, float] = {}
        for number in (1, 2):
            trace_frontier(trainer, train_pairs, held_out, FrontierConfig(8, 8, 1e-2, 5, 20, 4, seed=number))
            cells = _measure(trainer, batch)
            first = first or cells
            relative = {column: cells[column] / first[column] for column in ("chosen", "rejected")}
            table[f"{name}, beta {beta}, round {number}"] = {
                "margin": cells["margin"],
                **relative,
                "gradient": cells["gradient"],
            }
    return table
