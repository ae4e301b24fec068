"""Let a model write the symbols, under stricter and looser demands; classify the rows, and attack the levels."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from config import GenerationConfig
from generation import sequence_log_probability
from generative import alignment, leakage, obfuscate_rows
from metrics import balanced_accuracy, token_f1
from recovery import likelihood_attacker
from symbol_model import SymbolModel
from Tabular import classify_rows, compute_mean_cosine_similarity, describe_pairs, load_rows

DATA = Path(__file__).parent / "data" / "census_small.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=GenerationConfig.seed)
    parser.add_argument("--temperature", type=float, default=GenerationConfig.temperature)
    arguments = parser.parse_args()
    config = GenerationConfig(seed=arguments.seed, temperature=arguments.temperature)
    rows, labels = load_rows(DATA)
    domains = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    model = SymbolModel()
    print(f"{'epsilon':>8}{'mode':>14}{'accuracy':>10}{'leakage':>9}{'alignment':>11}{'token F1':>10}{'cosine':>8}")
    for epsilon in (8.0, 2.0, 0.5):
        config = replace(config, epsilon=epsilon)
        for reusable in (True, False):
            hidden = obfuscate_rows(rows, model, config, np.random.default_rng(config.seed), reusable)
            right = balanced_accuracy(labels, classify_rows([[model.text(s) for s in row] for row in hidden], labels))
            leaks, aligned, recovered = [], [], {}
            for column, domain in enumerate(domains):
                attacker = likelihood_attacker(domain, model, config)
                for row, sequences in zip(rows, hidden, strict=True):
                    level, sequence = row[column], sequences[column]
                    logs = [sequence_log_probability(model, x.describe(config), sequence, config) for x in domain]
                    leaks.append(leakage(np.array(logs), domain.index(level)))
                    aligned.append(alignment(level, sequence, model))
                    recovered[level] = attacker(model.text(sequence))
            overlap = np.mean([token_f1(level.value, guess.value) for level, guess in recovered.items()])
            cosine = compute_mean_cosine_similarity(describe_pairs(recovered, config), config)
            mode = "reusable" if reusable else "non-reusable"
            print(
                f"{epsilon:>8}{mode:>14}{right:>10.3f}{np.mean(leaks):>9.2f}{np.mean(aligned):>11.3f}"
                f"{overlap:>10.3f}{cosine:>8.3f}"
            )


if __name__ == "__main__":
    main()
