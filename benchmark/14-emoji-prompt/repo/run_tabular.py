"""Obfuscate the small census table, classify it, attack it, and score the attacks."""

import argparse
from dataclasses import replace
from pathlib import Path

from config import DEFAULT_CONFIG
from metrics import balanced_accuracy, token_f1
from obfuscation import SymbolTable
from recovery import attackers
from Tabular import attack, classify_rows, compute_mean_cosine_similarity, describe_pairs, load_rows

DATA = Path(__file__).parent / "data" / "census_small.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=DEFAULT_CONFIG.seed)
    parser.add_argument("--embedding-dim", type=int, default=DEFAULT_CONFIG.embedding_dim)
    arguments = parser.parse_args()
    config = replace(DEFAULT_CONFIG, seed=arguments.seed, embedding_dim=arguments.embedding_dim)

    rows, labels = load_rows(DATA)
    table = SymbolTable((level for row in rows for level in row), config)
    print(f"{len(rows)} rows, {len(table)} feature levels; the first row as the server sees it:")
    for level, symbols in zip(rows[0], table.obfuscate_row(rows[0]), strict=True):
        print(f"  {level.describe(config):<48}{symbols}")

    plain = classify_rows([[level.describe(config) for level in row] for row in rows], labels)
    hidden = classify_rows([table.obfuscate_row(row) for row in rows], labels)
    print(f"\nbalanced accuracy: {balanced_accuracy(labels, plain):.3f} on plain rows,", end=" ")
    print(f"{balanced_accuracy(labels, hidden):.3f} on obfuscated rows")

    print(f"\n{'attacker':<16}{'exact':>8}{'token F1':>10}{'mean cosine':>13}")
    for name, attacker in attackers(table, config).items():
        recovered = attack(table, attacker)
        exact = sum(guess == level for level, guess in recovered.items()) / len(recovered)
        overlap = sum(token_f1(level.value, guess.value) for level, guess in recovered.items()) / len(recovered)
        similarity = compute_mean_cosine_similarity(describe_pairs(recovered, config), config)
        print(f"{name:<16}{exact:>8.3f}{overlap:>10.3f}{similarity:>13.3f}")


if __name__ == "__main__":
    main()
