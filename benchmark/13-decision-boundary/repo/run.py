"""Compares the decision boundaries of three learners on three kinds of tasks."""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from active_learning import ActiveConfig, active_learning, nearest_example_oracle
from config import DATA_TYPES, ExperimentConfig
from data_utils import Split, generate_dataset, generate_tasks
from get_llm_decision_boundary import decision_map, grid_points, predict, split_tasks
from icl_model import Learner, Logistic, NearestNeighbours, PromptedAttention
from metrics import accuracy, boundary_length, mean_entropy
from plotting import render_map

#: Learner -> its candidates, among which the training tasks decide.
LEARNERS: dict[str, list[Callable[[], Learner | PromptedAttention]]] = {
    "logistic regression": [Logistic],
    "nearest neighbours": [lambda k=k: NearestNeighbours(k) for k in (1, 5, 15)],
    "prompted attention": [lambda w=w: PromptedAttention(width=w) for w in (2.0, 5.0, 20.0)],
}


def tune(
    candidates: Sequence[Callable[[], Learner | PromptedAttention]], splits: Sequence[Split]
) -> Learner | PromptedAttention:
    """The candidate with the highest mean accuracy on training tasks; the first one of a tie."""

    def score(candidate: Callable[[], Learner | PromptedAttention]) -> float:
        model = candidate()
        return float(np.mean([accuracy(predict(model, split, split.query_x), split.query_y) for split in splits]))

    return max(candidates, key=score)()


def compare_contexts(model: Learner | PromptedAttention, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
    """Print accuracy and boundary of one task (n, d) with a small context, grown at random and by active learning."""
    start = generate_dataset(features, labels, 16, seed)
    config = ActiveConfig(rounds=4, per_round=8)
    grown = active_learning(model, start, grid_points(25), nearest_example_oracle(features, labels), config)
    drawn = generate_dataset(features, labels, len(grown.context_y), seed)
    print(f"\n{'context':22}{'examples':>10}{'accuracy':>10}{'boundary length':>18}")
    for name, split in (("start", start), ("drawn at random", drawn), ("active learning", grown)):
        right = accuracy(predict(model, split, features), labels)
        length = boundary_length(decision_map(model, split, 25))
        print(f"{name:22}{len(split.context_y):>10}{right:>10.1%}{length:>18.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-tasks", type=int, default=ExperimentConfig.num_tasks)
    parser.add_argument("--num-context", type=int, default=ExperimentConfig.num_context)
    parser.add_argument("--grid-size", type=int, default=ExperimentConfig.grid_size)
    parser.add_argument("--seed", type=int, default=ExperimentConfig.seed)
    config = ExperimentConfig(**vars(parser.parse_args()))

    rows, drawing = [], ""
    for data_type in DATA_TYPES:
        features, labels = generate_tasks(
            config.num_tasks,
            config.num_samples,
            2,
            config.seed,
            data_type=data_type,
            factor=config.factor,
            class_sep=config.class_sep,
        )
        splits = [
            generate_dataset(x, y, config.num_context, config.seed) for x, y in zip(features, labels, strict=True)
        ]
        train, test = split_tasks(config.num_tasks, config.train_share)
        for name, candidates in LEARNERS.items():
            model = tune(candidates, [splits[index] for index in train])
            tested = [splits[index] for index in test]
            maps = [decision_map(model, split, config.grid_size) for split in tested]
            right = [accuracy(predict(model, split, split.query_x), split.query_y) for split in tested]
            lengths = [boundary_length(probabilities) for probabilities in maps]
            entropies = [mean_entropy(probabilities) for probabilities in maps]
            rows.append((data_type, name, np.mean(right), np.mean(lengths), np.mean(entropies)))
            drawing = render_map(maps[0], tested[0].context_x, tested[0].context_y)

    print(f"\n{'task':8}{'learner':22}{'accuracy':>10}{'boundary length':>18}{'entropy (bits)':>17}")
    for data_type, name, right, length, entropy in rows:
        print(f"{data_type:8}{name:22}{right:>10.1%}{length:>18.2f}{entropy:>17.3f}")
    print(f"\ndecision map of {rows[-1][1]} on a task of the kind {rows[-1][0]}\n{drawing}")
    compare_contexts(model, features[-1], labels[-1], config.seed)


if __name__ == "__main__":
    main()
