"""The experiments behind the tables: training under a known reward, measured on the sampled completions."""

import copy

import torch
from controlled import ControlledRun, FrontierConfig, SentimentTask, sequence_kl
from frontier import make_reference, ranking_fit
from trainers import LossConfig, losses_and_rewards


def _measure(run: ControlledRun) -> dict[str, float]:
    """Continuous measures of the present policy on all completions and all pairs."""
    chosen, rejected = run.pairs.unbind(dim=1)
    batch = run.completions[chosen].batch_with(run.completions[rejected])
    losses, _, _ = losses_and_rewards(run.policy, run.reference, batch, run.loss_config)
    rewards = run.rewards.flatten()
    importance = rewards[chosen] - rewards[rejected]
    (gradient,) = torch.autograd.grad((importance * losses).sum() / importance.sum(), run.policy.head.weight)
    with torch.no_grad():
        logits = [run.logits(model, run.completions) for model in (run.policy, run.reference)]
        divergence = sequence_kl(*logits, run.completions.labels).mean()
    return {
        "divergence": divergence.item(),
        "spread": run.completion_rewards().std().item(),
        "ranking": ranking_fit(run).item(),
        "gradient": 10 * gradient.norm().item(),
    }


def table_frontier() -> dict[str, dict[str, float]]:
    """Two values of beta, three rounds each: divergence, spread and ranking loss of the implicit rewards, gradient norm.

    Divergence, spread and ranking loss are relative to the first round of the same beta. The gradient is that of the mean
    loss of all pairs, weighted by the differences of their true rewards.
    """
    table = {}
    for beta in (0.2, 1.0):
        task = SentimentTask(seed=0)
        reference = make_reference(task, seed=1)
        config = FrontierConfig(
            train_prompts=8, test_prompts=4, reference_steps=8, steps=10, warmup_steps=6, evaluate_every=10
        )
        run = ControlledRun(copy.deepcopy(reference), reference, task, LossConfig(beta), config)
        run.fit_reference()
        first: dict[str, float] = {}
        for number in (1, 2, 3):
            run.train()
            cells = _measure(run)
            first = first or cells
            relative = {name: cells[name] / first[name] for name in ("divergence", "spread", "ranking")}
            table[f"beta {beta}, round {number}"] = {**relative, "gradient": cells["gradient"]}
    return table
