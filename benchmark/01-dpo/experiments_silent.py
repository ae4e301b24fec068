"""The experiment behind the table: training under a known reward, measured on all completions."""

import copy

import torch
import torch.utils.debug_log  # noqa: F401  # loads what an optimiser needs, once for all processes that are forked
from closed_form import optimal_log_policy
from controlled import ControlledRun, FrontierConfig, SentimentTask, sequence_kl
from frontier import make_reference, ranking_fit
from trainers import LossConfig, concatenated_forward


def table_outcome() -> dict[str, dict[str, float]]:
    """Two losses of a trained policy, each with a divergence from the reference added.

    `rankings` is the loss of the implicit rewards on the rankings of all completions, plus the divergence along them.
    `optimum` is the KL divergence from the closed-form optimum to the policy, both among the completions to a prompt, plus
    the divergence at the last point of the frontier. All are means.
    """
    torch.set_num_threads(1)
    config = FrontierConfig(
        test_prompts=64,
        batch_size=12,
        reference_steps=8,
        steps=16,
        learning_rate=3e-3,
        warmup_steps=8,
        evaluate_every=16,
    )
    table = {}
    for name, loss_config in {
        "beta 0.3": LossConfig(0.3),
        "beta 0.5, no reference": LossConfig(0.5, reference_free=True),
        "beta 1, smoothed labels": LossConfig(1.0, label_smoothing=0.1),
    }.items():
        task = SentimentTask(seed=0)
        reference = make_reference(task, seed=1)
        run = ControlledRun(copy.deepcopy(reference), reference, task, loss_config, config)
        run.fit_reference()
        [point] = run.train()
        everything = run.completions.batch_with(run.completions)
        models = run.policy, run.reference
        with torch.no_grad():
            divergence = sequence_kl(*(run.logits(model, run.completions) for model in models), run.completions.labels)
            of_policy, of_reference = (
                concatenated_forward(model, everything)[0].view_as(run.rewards).log_softmax(dim=1) for model in models
            )
            optimum = optimal_log_policy(of_reference, run.rewards, loss_config.beta)
            distance = (optimum.exp() * (optimum - of_policy)).sum(dim=1)
        table[name] = {
            "rankings": (ranking_fit(run) + divergence.mean()).item(),
            "optimum": (distance.mean() + point.kl).item(),
        }
    return table
