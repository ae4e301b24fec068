"""Adapt a small frozen encoder to a new task: classifier alone, adapters of equal rank, and adapters with a budget."""

import argparse
import copy
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from data.toy_classification import MajorityTask
from loralib.loralib import (
    BudgetSchedule,
    RankAllocator,
    SVDLinear,
    add_adapters,
    count_trainable,
    orthogonality_penalty,
    train_only,
)
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from torch import nn

SOURCE_TASK, TARGET_TASK = MajorityTask(seed=1), MajorityTask(seed=2)
EVALUATION_SEED = 10_000
#: Steps at the end of a training whose mean loss is reported.
LAST_STEPS = 20


@dataclass(frozen=True)
class FitConfig:
    """How a model is fitted."""

    steps: int
    learning_rate: float
    orthogonality: float = 0.0  # weight of the penalty, gamma in the paper
    batch_size: int = 64


def fit(
    model: nn.Module, task: MajorityTask, config: FitConfig, seed: int, allocator: RankAllocator | None = None
) -> list[float]:
    """Train all parameters that require gradients, under the allocator's budget if there is one.

    The model is put into training mode first. Each step draws one batch by `task.sample`, with a generator that is
    seeded once with `seed`; the task's loss is the cross-entropy of the model's logits, its mean over the batch. The
    optimiser is Adam at a constant learning rate, with torch's defaults for all else. The allocator sees each step
    once: `update_scores`, and `allocate` with the number of the step, counted from 1.

    Args:
        model: takes tokens and returns logits.
        task: what to train on.
        config: steps, learning rate, batch size, and the weight of the penalty, which may be 0.
        seed: of the batches.
        allocator: of the adapters in `model`.

    Returns:
        The task's loss on the batch of each step, before the parameters change, without the penalty.
    """
    generator = torch.Generator().manual_seed(seed)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=config.learning_rate)
    model.train()
    losses = []
    for step in range(1, config.steps + 1):
        tokens, labels = task.sample(config.batch_size, generator)
        loss = F.cross_entropy(model(tokens), labels)
        losses.append(loss.item())
        if config.orthogonality:
            loss = loss + config.orthogonality * orthogonality_penalty(model)
        optimizer.zero_grad()
        loss.backward()
        if allocator:
            allocator.update_scores()
        optimizer.step()
        if allocator:
            allocator.allocate(step)
    return losses


@torch.no_grad()
def accuracy(model: nn.Module, task: MajorityTask, count: int = 2000) -> float:
    """Accuracy in evaluation mode, in which adapters are merged into the weights."""
    tokens, labels = task.sample(count, torch.Generator().manual_seed(EVALUATION_SEED))
    return (model.eval()(tokens).argmax(dim=1) == labels).float().mean().item()


@torch.no_grad()
def merging_error(model: nn.Module, task: MajorityTask) -> float:
    """Largest difference between the logits with separate and with merged adapters, without dropout in either."""
    tokens, _ = task.sample(100, torch.Generator().manual_seed(EVALUATION_SEED))
    logits = []
    for merge_weights in (False, True):
        model.train()
        for layer in model.modules():
            if isinstance(layer, SVDLinear):
                layer.merge_weights = merge_weights
        logits.append(model.eval()(tokens))
    return (logits[0] - logits[1]).abs().max().item()


def print_ranks(ranks: dict[str, int], layers: int) -> None:
    """A row for each block, a column for each matrix in it."""
    print("            " + "".join(f"{name:>8}" for name in BLOCK_LINEARS))
    for block in range(layers):
        print(f"  block {block}   " + "".join(f"{ranks[f'blocks.{block}.{name}']:8d}" for name in BLOCK_LINEARS))


def main() -> None:
    """Train the encoder on the source task, adapt it in three ways to the target task, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="steps of each training")
    parser.add_argument("--mean-rank", type=int, default=1, help="final budget, divided by the number of matrices")
    parser.add_argument("--initial-rank", type=int, default=4, help="rank of each adapter before pruning")
    parser.add_argument("--lora-alpha", type=float, default=8.0, help="alpha of the paper")
    parser.add_argument("--lora-dropout", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    torch.manual_seed(args.seed)
    config = EncoderConfig(SOURCE_TASK.vocabulary_size, SOURCE_TASK.length, SOURCE_TASK.classes)
    encoder = TinyEncoder(config)
    fit(encoder, SOURCE_TASK, FitConfig(args.steps, learning_rate=3e-3), args.seed + 1)
    print(f"Source task: accuracy {accuracy(encoder, SOURCE_TASK):.3f} after training all parameters")
    print(f"Target task: accuracy {accuracy(encoder, TARGET_TASK):.3f} before adaptation\n")

    matrices = config.layers * len(BLOCK_LINEARS)
    schedule = BudgetSchedule(
        initial=matrices * args.initial_rank,
        final=matrices * args.mean_rank,
        total_steps=args.steps,
        warmup_steps=args.steps // 10,
        final_steps=args.steps // 3,
        interval=10,
    )
    adaptation = FitConfig(args.steps, learning_rate=5e-3, orthogonality=0.01)
    print(f"{'adapted':<28} {'trainable':>9} {'triplets':>9} {'loss':>9} {'accuracy':>9} {'seconds':>8}")
    for name, rank in (("classifier", 0), ("equal ranks", args.mean_rank), ("AdaLoRA", args.initial_rank)):
        model = copy.deepcopy(encoder)
        if rank:
            add_adapters(model, BLOCK_LINEARS, rank, args.lora_alpha, args.lora_dropout)
            # The same scaling for each rank, so that the comparison is one of ranks alone.
            for layer in model.modules():
                if isinstance(layer, SVDLinear):
                    layer.ranknum.data.fill_(args.initial_rank)
        train_only(model, prefixes=["classifier"])
        allocator = RankAllocator(model, schedule) if name == "AdaLoRA" else None
        started = time.perf_counter()
        losses = fit(model, TARGET_TASK, adaptation, args.seed + 2, allocator)
        seconds = time.perf_counter() - started
        triplets = sum(allocator.ranks().values()) if allocator else matrices * rank
        last = sum(losses[-LAST_STEPS:]) / len(losses[-LAST_STEPS:])
        score = accuracy(model, TARGET_TASK)
        print(f"{name:<28} {count_trainable(model):9d} {triplets:9d} {last:9.4f} {score:9.3f} {seconds:8.1f}")

    print("\nRanks that AdaLoRA has chosen")
    print_ranks(allocator.ranks(), config.layers)
    print(
        f"\nLargest change of a logit by merging the adapters into the weights: {merging_error(model, TARGET_TASK):.1e}"
    )


if __name__ == "__main__":
    main()
