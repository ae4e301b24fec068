"""Print the frontier of reward and divergence for several values of beta, beside the closed-form optimum."""

import copy

import torch
from closed_form import optimal_log_policy
from controlled import ControlledRun, FrontierConfig, SentimentTask
from model import ModelConfig, TransformerLM
from rankings import ranking_loss
from trainers import LossConfig
from utils import seed_everything


def make_reference(task: SentimentTask, seed: int, sharpness: float = 3.0) -> TransformerLM:
    """A seeded language model in float64, in place of one that has learnt from text."""
    seed_everything(seed)
    context = task.prompt_length + task.max_response
    model = TransformerLM(ModelConfig(task.vocabulary_size, context, layers=1, width=16, heads=2)).double()
    with torch.no_grad():
        model.head.weight.mul_(sharpness)
    return model


def ranking_fit(run: ControlledRun) -> torch.Tensor:
    """Mean loss of the implicit rewards on the rankings of all completions by their true rewards."""
    order = run.rewards.argsort(dim=1, descending=True)
    return ranking_loss(run.completion_rewards().gather(1, order)).mean()


def best_reward(run: ControlledRun, beta: float) -> torch.Tensor:
    """Mean true reward of the optimal policy, if each prompt had only the sampled completions, equally likely."""
    uniform = torch.full_like(run.rewards, 1 / run.rewards.size(1)).log()
    return (optimal_log_policy(uniform, run.rewards, beta).exp() * run.rewards).sum(dim=1).mean()


def main() -> None:
    """Train one policy for each beta and print its points."""
    torch.set_num_threads(1)
    task = SentimentTask(seed=0)
    for beta in (0.1, 0.3, 1.0):
        reference = make_reference(task, seed=1)
        run = ControlledRun(copy.deepcopy(reference), reference, task, LossConfig(beta), FrontierConfig())
        run.fit_reference()
        print(f"beta {beta}: {len(run.pairs)} pairs, mean reward {run.rewards.mean():.4f}, ", end="")
        print(f"optimum among the completions {best_reward(run, beta):.4f}, ranking loss {ranking_fit(run):.4f}")
        for point in run.train():
            print(f"  step {point.step:3d}   reward {point.reward:.4f}   divergence {point.kl:.4f}")
        print(f"  ranking loss after training {ranking_fit(run):.4f}")


if __name__ == "__main__":
    main()
