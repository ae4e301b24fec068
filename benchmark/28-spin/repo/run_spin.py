"""Fine-tune a tiny language model on instructions, then let it play against its own previous iterates."""

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from spin.alignment.collate import collate_answers, collate_pairs
from spin.alignment.logps import get_batch_logps
from spin.data import MAX_LENGTH, Example, Tokenizer, all_examples, split_examples
from spin.generate import generate_answers
from spin.model import ModelConfig, TransformerLM
from spin.self_play import IterationRecord, SelfPlayConfig, self_play
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent
MAX_NEW_TOKENS = MAX_LENGTH + 3  # room for answers that go too far


def main() -> None:
    """Run both stages as the configuration says; after each, measure how likely the real answers are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "config.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    torch.manual_seed(config["seed"])
    rng = Random(config["seed"])
    generator = torch.Generator().manual_seed(config["seed"])
    examples = all_examples()
    train_examples, eval_examples = split_examples(examples, config["held_out"], rng)
    tokenizer = Tokenizer(examples)
    print(f"{len(train_examples)} training examples, {len(eval_examples)} held-out examples")

    policy = TransformerLM(ModelConfig(**config["model"]), len(tokenizer))
    fine_tune(policy, tokenizer, train_examples, rng, **config["sft"])
    print("\nSupervised fine-tuning")
    print_correct_share(policy, tokenizer, train_examples, eval_examples)

    settings = SelfPlayConfig(max_new_tokens=MAX_NEW_TOKENS, **config["self_play"])
    prompts = encode_prompts(tokenizer, train_examples)
    real = [tokenizer.encode_answer(example.answer) for example in train_examples]
    for iteration, record in enumerate(self_play(policy, prompts, real, settings, rng, generator)):
        print(f"\nSelf-play, iteration {iteration}")
        print_metrics(record)
        print_correct_share(policy, tokenizer, train_examples, eval_examples)

    print("\nAnswers of the last iterate to held-out prompts")
    shown = eval_examples[:5]
    numbers = torch.rand(len(shown), MAX_NEW_TOKENS, generator=generator, dtype=torch.float64)
    answers = generate_answers(policy, encode_prompts(tokenizer, shown), MAX_NEW_TOKENS, numbers)
    for example, answer in zip(shown, answers, strict=True):
        print(f"  {' '.join(example.prompt)} {tokenizer.decode(answer)}")


def fine_tune(
    model: nn.Module,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    rng: Random,
    epochs: int,
    batch_size: int,
    learning_rate: float,
) -> None:
    """Supervised training: raise the log-probability of the real answers."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    for _ in range(epochs):
        shuffled = rng.sample(examples, k=len(examples))
        for start in range(0, len(shuffled), batch_size):
            loss = -real_logps(model, tokenizer, shuffled[start : start + batch_size]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@torch.no_grad()
def print_metrics(record: IterationRecord) -> None:
    """Print the first loss of an iteration, and the metrics on all of its pairs at its end."""
    _, metrics = record.trainer.get_batch_metrics(collate_pairs(record.pairs))
    print(f"  first loss {record.losses[0]:7.4f}")
    print("  at the end " + "   ".join(f"{name} {value:7.4f}" for name, value in metrics.items()))


def real_logps(model: nn.Module, tokenizer: Tokenizer, examples: Sequence[Example]) -> Tensor:
    """Log-probabilities of the real answers, (B,)."""
    answers = [tokenizer.encode_answer(example.answer) for example in examples]
    batch = collate_answers(encode_prompts(tokenizer, examples), answers)
    return get_batch_logps(model(batch.input_ids), batch.labels)


@torch.no_grad()
def print_correct_share(
    model: nn.Module, tokenizer: Tokenizer, train_examples: Sequence[Example], eval_examples: Sequence[Example]
) -> None:
    """Print the share of sampled answers that are right.

    There is one right answer to a prompt, so its probability is the expected share, and nothing needs to be sampled.
    """
    train, held_out = (real_logps(model, tokenizer, part).exp().mean() for part in (train_examples, eval_examples))
    print(f"  right answers: {train:.3f} to training prompts, {held_out:.3f} to held-out prompts")


def encode_prompts(tokenizer: Tokenizer, examples: Sequence[Example]) -> list[list[int]]:
    """Tokens of the prompts."""
    return [tokenizer.encode_prompt(example.prompt) for example in examples]


if __name__ == "__main__":
    main()
