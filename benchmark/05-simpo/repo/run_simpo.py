"""Train a tiny language model on the bundled pairs: imitation of all responses, then SimPO."""

import argparse
import tomllib
from collections.abc import Iterable
from pathlib import Path

import torch
from scripts.simpo_config import ScheduleConfig, SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from simpo.data import PreferenceBatch, PreferenceCollator, WordTokenizer, load_pairs, split_pairs
from simpo.model import ModelConfig, TinyLM
from torch import Tensor
from torch.utils.data import DataLoader

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Run both stages as the configuration says, and compare two ways to rank the held-out responses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "training_configs" / "toy.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)
    simpo_config = SimPOConfig(**config["simpo"])

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    torch.manual_seed(config["seed"])
    train_pairs, eval_pairs = split_pairs(load_pairs(ROOT / config["pairs"]), config["hold_out_every"])
    texts = (text for pair in train_pairs for text in (pair.prompt, pair.chosen, pair.rejected))
    collator = PreferenceCollator(WordTokenizer(texts), simpo_config.label_pad_token_id)
    batches = DataLoader(train_pairs, config["batch_size"], shuffle=True, collate_fn=collator)
    eval_batch = collator(eval_pairs)
    print(
        f"{len(train_pairs)} training pairs, {len(eval_pairs)} held-out pairs; metrics are those of the held-out pairs"
    )

    model = TinyLM(ModelConfig(**config["model"]), len(collator.tokenizer))
    trainer = SimPOTrainer(model, simpo_config)
    print("\nImitation of chosen and rejected responses: negative log-probability")
    imitate(trainer, batches, eval_batch, ScheduleConfig(**config["imitation"]))
    print_rankings(trainer, eval_batch)

    print(f"\nPreference optimisation, {simpo_config}")
    trainer.train(batches, eval_batch, ScheduleConfig(**config["preference"]))
    print_rankings(trainer, eval_batch)


def imitate(
    trainer: SimPOTrainer, batches: Iterable[PreferenceBatch], eval_batch: PreferenceBatch, schedule: ScheduleConfig
) -> None:
    """Supervised training that tells good responses from bad ones in no way: the base model of the second stage."""
    optimizer = torch.optim.AdamW(trainer.model.parameters(), lr=schedule.learning_rate, weight_decay=0.0)
    for epoch in range(1, schedule.epochs + 1):
        for batch in batches:
            loss = -torch.cat(trainer.concatenated_forward(batch)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % schedule.report_every == 0:
            with torch.no_grad():
                chosen_logps, rejected_logps = trainer.concatenated_forward(eval_batch)
            print(f"  epoch {epoch:3d}   chosen {-chosen_logps.mean():7.3f}   rejected {-rejected_logps.mean():7.3f}")


@torch.no_grad()
def print_rankings(trainer: SimPOTrainer, batch: PreferenceBatch) -> None:
    """Print how often the chosen response of a pair scores higher, by plain and by normalised log-probability."""
    chosen_lengths, rejected_lengths = (
        (labels != trainer.label_pad_token_id).sum(dim=1).float()
        for labels in (batch.chosen_labels, batch.rejected_labels)
    )
    by_sum = _chosen_wins(*trainer.concatenated_forward(batch, normalized=False))
    by_normalized = _chosen_wins(*trainer.concatenated_forward(batch))
    chosen_is_shorter = chosen_lengths < rejected_lengths
    print("  pairs ranked correctly by log-probability    plain normalised")
    for name, members in (("chosen shorter", chosen_is_shorter), ("chosen longer", ~chosen_is_shorter)):
        lengths = f"{chosen_lengths[members].mean():2.0f} against {rejected_lengths[members].mean():2.0f} tokens"
        print(f"    {name:14} {lengths}   {by_sum[members].mean():8.2f} {by_normalized[members].mean():10.2f}")


def _chosen_wins(chosen_logps: Tensor, rejected_logps: Tensor) -> Tensor:
    return (chosen_logps > rejected_logps).float()


if __name__ == "__main__":
    main()
