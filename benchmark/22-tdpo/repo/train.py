"""Fine-tune a tiny language model on generated reviews, then make them more positive with DPO, TDPO1 and TDPO2."""

import argparse
import copy
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path

import torch
from tdpo.batching import IGNORE_LABEL, Tokenizer
from tdpo.data import PreferencePair, generate_pairs, vocabulary
from tdpo.frontier import FrontierConfig, review_divergences, sample_reviews, trace_frontier
from tdpo.model import ModelConfig, RecurrentLM
from trainers import LossConfig, OptimizerConfig, SFTTrainer, TDPOTrainer

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Run all stages as the configuration says, and compare the policies by what they write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "config" / "tdpo.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    torch.manual_seed(config["seed"])
    rng = random.Random(config["seed"])
    train_pairs = generate_pairs(config["training_pairs"], rng)
    eval_pairs = generate_pairs(config["held_out_pairs"], rng)
    print(f"{len(train_pairs)} training pairs; metrics are those of {len(eval_pairs)} held-out pairs")

    tokenizer = Tokenizer(vocabulary())
    reference = RecurrentLM(ModelConfig(**config["model"]), len(tokenizer))
    print("\nSupervised fine-tuning on all responses, cross-entropy a token")
    SFTTrainer(reference, tokenizer, OptimizerConfig(**config["sft"])).train(train_pairs, eval_pairs, config["seed"])

    policies = {"reference": reference}
    for name, options in config["runs"].items():
        loss_config = LossConfig(**options)
        print(f"\n{name}, {loss_config}")
        policies[name] = copy.deepcopy(reference)
        optimizer_config = OptimizerConfig(**config["preference"])
        trainer = TDPOTrainer(policies[name], reference, tokenizer, optimizer_config, loss_config)
        trainer.train(train_pairs, eval_pairs, config["seed"])

    print(f"\n{config['samples']} reviews from each policy: mean sentiment, and sequential KL from the reference")
    for name, policy in policies.items():
        print_samples(name, policy, reference, tokenizer, eval_pairs, config["samples"], config["seed"])

    print("\nFrontier: sentiment and divergence on the way")
    for name, options in config["runs"].items():
        trainer = TDPOTrainer(
            copy.deepcopy(reference),
            reference,
            tokenizer,
            OptimizerConfig(**config["preference"]),
            LossConfig(**options),
        )
        points = trace_frontier(trainer, train_pairs, eval_pairs, FrontierConfig(**config["frontier"]))
        print(f"  {name:10}", *(f"{point.sentiment:+.3f} at {point.divergence:6.3f}" for point in points), sep="   ")


@torch.no_grad()
def print_samples(
    name: str,
    policy: RecurrentLM,
    reference: RecurrentLM,
    tokenizer: Tokenizer,
    pairs: Sequence[PreferencePair],
    count: int,
    seed: int,
) -> None:
    """Sample `count` continuations of the pairs' prompts; print their mean sentiment and divergence, and the first."""
    reviews = sample_reviews(policy, tokenizer, pairs, count, seed)
    divergence = review_divergences(policy, reference, reviews).mean()
    first = tokenizer.decode(reviews.labels[0][reviews.labels[0] != IGNORE_LABEL].tolist())
    print(f"  {name:10} sentiment {reviews.sentiments.mean():+.3f}   KL {divergence:6.3f}   ... {' '.join(first)}")


if __name__ == "__main__":
    main()
