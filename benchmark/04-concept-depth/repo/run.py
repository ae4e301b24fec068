"""Probe one toy model for every data set, disturb the prompts or the weights, and compare the depths."""

import argparse
import time
from collections.abc import Sequence

import torch
from dataset import CONCEPTS, DataProcessing
from main import Scores, probe_concept, report, teach_model
from precision import quantise_model
from utils import LLM

NOISES = (6,)
BITS = (8, 3)


def study(llm: LLM, name: str, noises: Sequence[int], bits: Sequence[int], seed: int) -> dict[tuple[int, int], Scores]:
    """Probe a model for one data set under the disturbances of the paper.

    Args:
        llm: a model that has been taught; it stays as it is.
        name: of the data set.
        noises: numbers of random letters, without 0.
        bits: precisions of the weights, without 32.
        seed: of the noise; every `DataProcessing` gets it.

    Returns:
        (letters, bits) of each setting -> scores of all layers, as `probe_concept` returns them for it; (0, 32) is the
        setting without disturbance.
    """
    settings = [(0, 32), *((noise, 32) for noise in noises), *((0, precision) for precision in bits)]
    return {
        (noise, precision): probe_concept(quantise_model(llm, precision), DataProcessing(name, noise, seed))
        for noise, precision in settings
    }


def main() -> None:
    """Print scores and curve of each setting, then all depths in one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    start = time.perf_counter()
    llm = teach_model(seed)
    summary = []
    for name in CONCEPTS:
        for (noise, bits), scores in study(llm, name, NOISES, BITS, seed).items():
            depth = report(f"{name}, {noise} letters of noise, {bits} bits", scores)
            summary.append(f"  {name:8s}  noise {noise}  {bits:2d} bits  {depth}")
    print("\nSummary", *summary, f"{time.perf_counter() - start:.0f} seconds", sep="\n")


if __name__ == "__main__":
    main()
