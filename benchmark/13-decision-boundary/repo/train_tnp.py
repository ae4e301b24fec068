"""Train a transformer neural process on many small tasks, and test it on tasks that are harder than those."""

import argparse
from dataclasses import dataclass

import numpy as np
import torch
from config import DATA_TYPES
from data_utils import Split, generate_dataset, generate_x_y
from get_llm_decision_boundary import decision_map, predict
from metrics import accuracy, boundary_length
from tnp import TransformerNeuralProcess
from torch import Tensor
from uncertainty import class_probabilities


@dataclass(frozen=True)
class TrainConfig:
    """How a transformer neural process is trained.

    Attributes:
        data_type: kind of all tasks.
        steps: number of gradient steps.
        learning_rate: of Adam.
        batch_size: B, tasks of a batch.
        num_samples: N, samples of a task.
        min_context, max_context: range of m, the size of a context.
    """

    data_type: str = "linear"
    steps: int = 150
    learning_rate: float = 3e-3
    batch_size: int = 16
    num_samples: int = 48
    min_context: int = 4
    max_context: int = 24


def task_options(data_type: str, training: bool, rng: np.random.Generator) -> dict[str, float]:
    """Draw how hard one task is, as in Appendix G.

    Args:
        data_type: kind of the task.
        training: whether models are tuned on the task, or tested with it.
        rng: draws the number, in one call of `rng.uniform(low, high)`.

    Returns:
        The argument of `generate_x_y` that makes a task of this kind easy or hard, by its name, and its value; nothing
        else.
    """
    name, *ranges = {
        "linear": ("class_sep", (1.5, 2.0), (1.0, 1.4)),
        "circle": ("factor", (0.1, 0.4), (0.5, 0.9)),
        "moon": ("noise_moon", (0.05, 0.1), (0.1, 0.2)),
    }[data_type]
    low, high = ranges[0] if training else ranges[1]
    return {name: rng.uniform(low, high)}


def sample_batch(config: TrainConfig, rng: np.random.Generator, training: bool = True) -> tuple[Tensor, Tensor]:
    """Fresh tasks: features, float64 (b, n, 2), and labels, int64 (b, n); the samples of a task are in random order."""
    tasks = []
    for task_seed in rng.integers(2**31, size=config.batch_size).tolist():
        options = task_options(config.data_type, training, rng)
        tasks.append(generate_x_y(config.num_samples, 2, task_seed, data_type=config.data_type, **options))
    features, labels = zip(*tasks, strict=True)
    return torch.from_numpy(np.stack(features)), torch.from_numpy(np.stack(labels))


def query_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Loss of one batch, a scalar, from the logits (b, q, K) of all queries and their labels (b, q), int64."""
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return -log_probabilities.sum(dim=1).mean()


def fit(model: TransformerNeuralProcess, config: TrainConfig, rng: np.random.Generator) -> list[float]:
    """Train all parameters of a model as the paper trains it.

    The optimiser is Adam at a constant learning rate, with torch's defaults for all else. Each step draws its tasks by
    `sample_batch`, and then m by one call of `rng.integers`. Features are cast to the dtype of the model.

    Returns:
        The loss of each step, before the parameters change.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    dtype = next(model.parameters()).dtype
    model.train()
    losses = []
    for _ in range(config.steps):
        x, y = sample_batch(config, rng)
        m = int(rng.integers(config.min_context, config.max_context, endpoint=True))
        x = x.to(dtype)
        loss = query_loss(model(x[:, :m], y[:, :m], x[:, m:]), y[:, m:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class TNPLearner:
    """A trained transformer neural process behind the interface of the other learners."""

    def __init__(self, model: TransformerNeuralProcess) -> None:
        self.model = model.eval()

    @torch.no_grad()
    def predict_proba(self, context_x: np.ndarray, context_y: np.ndarray, query_x: np.ndarray) -> np.ndarray:
        """Probability of class 1 for each query (q,), from examples (n, d) with labels (n,) and queries (q, d)."""
        dtype = next(self.model.parameters()).dtype
        x, queries = (torch.from_numpy(np.asarray(part, dtype=np.float64)).to(dtype) for part in (context_x, query_x))
        logits = self.model(x[None], torch.from_numpy(context_y)[None], queries[None])[0]
        return class_probabilities(logits.numpy(), range(self.model.classes))[:, 1]


def test_tasks(config: TrainConfig, num_context: int, rng: np.random.Generator) -> list[Split]:
    """Tasks as models are tested with, split into contexts and queries."""
    features, labels = sample_batch(config, rng, training=False)
    tasks = enumerate(zip(features.numpy(), labels.numpy(), strict=True))
    return [generate_dataset(x, y, num_context, seed) for seed, (x, y) in tasks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=TrainConfig.steps)
    parser.add_argument("--grid-size", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    print(f"{'task':8}{'first loss':>12}{'last loss':>12}{'accuracy':>10}{'boundary length':>18}")
    for data_type in DATA_TYPES:
        torch.manual_seed(args.seed)
        rng = np.random.default_rng(args.seed)
        config = TrainConfig(data_type=data_type, steps=args.steps)
        model = TransformerNeuralProcess()
        losses = fit(model, config, rng)
        learner = TNPLearner(model)
        splits = test_tasks(config, config.max_context, rng)
        right = np.mean([accuracy(predict(learner, split, split.query_x), split.query_y) for split in splits])
        length = np.mean([boundary_length(decision_map(learner, split, args.grid_size)) for split in splits])
        first, last = np.mean(losses[:10]), np.mean(losses[-10:])
        print(f"{data_type:8}{first:>12.2f}{last:>12.2f}{right:>10.1%}{length:>18.2f}")


if __name__ == "__main__":
    main()
