"""Probe one toy model for every data set, with and without noise, and compare the depths."""

import argparse
import time

from dataset import CONCEPTS, DataProcessing
from main import probe_concept, report, teach_model

NOISES = (0, 6)


def main() -> None:
    """Print scores and curve of each setting, then all depths in one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    start = time.perf_counter()
    llm = teach_model(seed)
    summary = []
    for name in CONCEPTS:
        for noise in NOISES:
            depth = report(f"{name}, {noise} letters of noise", probe_concept(llm, DataProcessing(name, noise, seed)))
            summary.append(f"  {name:8s}  noise {noise}  {depth}")
    print("\nSummary", *summary, f"{time.perf_counter() - start:.0f} seconds", sep="\n")


if __name__ == "__main__":
    main()
