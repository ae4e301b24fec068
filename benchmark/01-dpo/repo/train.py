"""Train a tiny language model on the bundled pairs: supervised fine-tuning, then direct preference optimisation."""

import argparse
import copy
import tomllib
from pathlib import Path

import torch
from model import ModelConfig, TransformerLM
from preference_datasets import PreferencePair, collate, load_pairs, split_pairs
from trainers import DPOTrainer, LossConfig, OptimizerConfig, SFTTrainer
from utils import seed_everything

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Run both stages as the configuration says, and show the implicit rewards of the held-out pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "config" / "dpo.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    seed_everything(config["seed"])
    pairs = load_pairs(ROOT / config["pairs"])
    train_pairs, eval_pairs = split_pairs(pairs, config["held_out"], config["seed"])
    print(
        f"{len(train_pairs)} training pairs, {len(eval_pairs)} held-out pairs; metrics are those of the held-out pairs"
    )

    policy = TransformerLM(ModelConfig(**config["model"]))
    print("\nSupervised fine-tuning on the chosen responses")
    SFTTrainer(policy, OptimizerConfig(**config["sft"])).train(train_pairs, eval_pairs, config["seed"])

    loss_config = LossConfig(**config["loss"])
    print(f"\nPreference optimisation, {loss_config}")
    trainer = DPOTrainer(policy, copy.deepcopy(policy), OptimizerConfig(**config["dpo"]), loss_config)
    trainer.train(train_pairs, eval_pairs, config["seed"])

    print_rewards(trainer, eval_pairs)


def print_rewards(trainer: DPOTrainer, pairs: list[PreferencePair]) -> None:
    """List each pair's responses with their implicit rewards."""
    _, chosen_rewards, rejected_rewards = trainer.get_losses_and_rewards(collate(pairs))
    print("\nImplicit rewards of the held-out responses")
    for pair, chosen_reward, rejected_reward in zip(pairs, chosen_rewards, rejected_rewards, strict=True):
        print(f"  {pair.prompt}")
        print(f"    {chosen_reward.item():+7.3f}  chosen    {pair.chosen}")
        print(f"    {rejected_reward.item():+7.3f}  rejected  {pair.rejected}")


if __name__ == "__main__":
    main()
