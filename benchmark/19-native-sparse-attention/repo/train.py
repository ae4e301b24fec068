"""Train small decoders on the copy task, with all branches of the attention or some of them, simple or as published."""

import argparse
import time
from collections.abc import Iterator

import torch
from copy_task import IGNORED, CopyTask
from sparse_attention.layer import AttentionConfig
from sparse_attention.model import Decoder, build_model
from sparse_attention.native import NativeConfig
from torch import Tensor, nn

EVALUATION_SEED = 10_000
MODELS = {
    "window": AttentionConfig(branches=("window",)),
    "compressed + window": AttentionConfig(branches=("compressed", "window")),
    "all branches": AttentionConfig(),
    "all branches, as in the paper": NativeConfig(),
}


def next_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over the targets that are not ignored."""
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


@torch.no_grad()
def recall(model: Decoder, task: CopyTask, batch_size: int = 128) -> float:
    """Share of the second pattern's tokens that the model predicts, on sequences it was not trained on."""
    tokens, targets = task.sample(batch_size, torch.Generator().manual_seed(EVALUATION_SEED))
    asked = targets != IGNORED
    return (model(tokens).argmax(dim=-1) == targets)[asked].float().mean().item()


def fit(
    model: Decoder, task: CopyTask, steps: int, batch_size: int, learning_rate: float, seed: int
) -> Iterator[float]:
    """Fit the model on fresh batches and yield the loss of each step, as it is before the step."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    for _ in range(steps):
        tokens, targets = task.sample(batch_size, generator)
        loss = next_token_loss(model(tokens), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def main() -> None:
    """Train one model with each kind of attention and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are tiny: more threads cost more than they bring
    task = CopyTask()
    results = {}
    for name, config in MODELS.items():
        print(f"{name}:")
        model = build_model(task.symbols, task.length, config, args.seed)
        started = time.perf_counter()
        losses = fit(model, task, args.steps, args.batch_size, args.learning_rate, args.seed)
        for step, loss in enumerate(losses, start=1):
            if step % max(1, args.steps // 5) == 0:
                print(f"  step {step:4d}   loss {loss:.3f}   recall {recall(model, task):.3f}")
        print(f"  {time.perf_counter() - started:.1f} s")
        results[name] = (config.keys_per_query(task.length), recall(model, task))

    print(f"\n{'attention':<30} {'keys per query':>15} {'recall':>8}")
    for name, (keys, accuracy) in results.items():
        print(f"{name:<30} {f'{keys} of {task.length}':>15} {accuracy:8.3f}")
    print(f"{'guessing':<30} {'':>15} {1 / task.symbols:8.3f}")


if __name__ == "__main__":
    main()
