"""Fine-tune a tiny language model on instructions, then let it play against its own previous iterates."""

import argparse
import copy
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from spin.alignment.collate import AnswerPair, collate_answers
from spin.alignment.logps import get_batch_logps
from spin.alignment.trainer import SPINTrainer, TrainingConfig
from spin.data import MAX_LENGTH, Example, Tokenizer, all_examples, split_examples
from spin.generate import generate_answers
from spin.model import ModelConfig, TransformerLM
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

    spin = config["spin"]
    for iteration in range(spin["iterations"]):
        print(f"\nSelf-play, iteration {iteration}")
        opponent = copy.deepcopy(policy)
        pairs = write_pairs(opponent, tokenizer, train_examples, spin["answers_per_prompt"], generator)
        trainer = SPINTrainer(policy, opponent, spin["beta"], spin["loss_type"])
        trainer.train(pairs, TrainingConfig(**config["training"]), rng)
        print_correct_share(policy, tokenizer, train_examples, eval_examples)

    print("\nAnswers of the last iterate to held-out prompts")
    shown = eval_examples[:5]
    answers = generate_answers(policy, encode_prompts(tokenizer, shown), MAX_NEW_TOKENS, generator)
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


def write_pairs(
    opponent: nn.Module, tokenizer: Tokenizer, examples: Sequence[Example], count: int, generator: torch.Generator
) -> list[AnswerPair]:
    """Let the opponent answer every prompt `count` times, and set each of its answers against the real one."""
    repeated = list(examples) * count
    prompts = encode_prompts(tokenizer, repeated)
    generated = generate_answers(opponent, prompts, MAX_NEW_TOKENS, generator)
    real = [tokenizer.encode_answer(example.answer) for example in repeated]
    return [AnswerPair(*parts) for parts in zip(prompts, real, generated, strict=True)]


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
