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
from torch import nn

ROOT = Path(__file__).resolve().parent
MAX_NEW_TOKENS = MAX_LENGTH + 3  # room for an answer that overshoots


def main() -> None:
    """Run both stages as the configuration says; after each, measure how good the sampled answers are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "config.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    torch.manual_seed(config["seed"])
    examples = all_examples()
    train_examples, eval_examples = split_examples(examples, config["held_out"], Random(config["seed"]))
    tokenizer = Tokenizer(examples)
    print(f"{len(train_examples)} training examples, {len(eval_examples)} held-out examples")

    policy = TransformerLM(ModelConfig(**config["model"]), len(tokenizer))
    fine_tune(policy, tokenizer, train_examples, config["sft"], config["seed"])
    evaluate("fine-tuned", policy, tokenizer, eval_examples, config)

    for iteration in range(config["spin"]["iterations"]):
        print(f"\nSelf-play, iteration {iteration}")
        opponent = copy.deepcopy(policy)
        pairs = play(opponent, tokenizer, train_examples, config["seed"] + iteration)
        trainer = SPINTrainer(policy, opponent, config["spin"]["beta"], config["spin"]["loss_type"])
        trainer.train(pairs, TrainingConfig(**config["training"]), config["seed"])
        evaluate(f"iteration {iteration}", policy, tokenizer, eval_examples, config)
