"""Print how accuracy depends on the number of reasoning steps, in the demonstrations and in the trigger's request."""

import argparse
from statistics import mean

from analysis import linear_trend
from run_inference import METHODS, evaluate, parse_arguments
from toy_llm import ToyLLM
from triggers import ANSWER_TRIGGERS

DATASETS = tuple(ANSWER_TRIGGERS)


def mean_accuracy(dataset: str, seeds: int, *options: str) -> float:
    """Accuracy on a data set under command-line options of `run_inference.py`, averaged over toy models."""
    runs = [parse_arguments(["--dataset", dataset, "--seed", str(seed), *options]) for seed in range(seeds)]
    return mean(evaluate(args, ToyLLM(args.seed).complete) for args in runs)


def print_table(title: str, rows: dict[str, tuple[str, ...]], seeds: int) -> list[float]:
    """Print accuracies in per cent: a row for each set of options, a column for each data set, and their mean.

    Returns:
        The means.
    """
    means = []
    print(f"\n{title:<32}" + "".join(f"{name:>14}" for name in (*DATASETS, "mean")))
    for label, options in rows.items():
        accuracies = [mean_accuracy(dataset, seeds, *options) for dataset in DATASETS]
        means.append(mean(accuracies))
        print(f"{label:<32}" + "".join(f"{100 * value:14.1f}" for value in (*accuracies, means[-1])))
    return means


def main() -> None:
    """Compare methods, triggers and lengths of the demonstrations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max_steps", type=int, default=8, help="longest reasoning in the demonstrations")
    parser.add_argument("--seeds", type=int, default=10, help="toy models to average over")
    options = parser.parse_args()
    lengths = range(1, options.max_steps + 1)

    print_table("method", {method: ("--method", method) for method in METHODS}, options.seeds)
    print_table(
        "zero_shot_cot, by trigger",
        {name: ("--method", "zero_shot_cot", "--trigger", name) for name in ("standard", "more_steps")},
        options.seeds,
    )
    for method, extra in (("few_shot_cot", ()), ("few_shot_cot", ("--mislead",)), ("auto_cot", ())):
        means = print_table(
            " ".join([f"{method}, by steps shown", *extra]),
            {str(length): ("--method", method, "--demo_steps", str(length), *extra) for length in lengths},
            options.seeds,
        )
        gain, correlation = linear_trend(list(lengths), means)
        print(f"{100 * gain:+.1f} for each step, correlation {correlation:.3f}")


if __name__ == "__main__":
    main()
