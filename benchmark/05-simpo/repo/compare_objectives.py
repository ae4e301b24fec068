"""Train one model for each objective from the same start, and compare rankings and the influence of length."""

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path

import torch
from run_simpo import imitate
from scripts.analysis import length_correlation, ranking_table
from scripts.objectives import OBJECTIVES, PairScores, pair_scores
from scripts.optimize import optimize
from scripts.simpo_config import ScheduleConfig, SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from simpo.data import PreferenceBatch, PreferenceCollator, WordTokenizer, load_pairs, split_pairs
from simpo.model import ModelConfig, TinyLM
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent


def losses_of(
    trainer: SimPOTrainer, reference: nn.Module, objective: Callable[[PairScores], Tensor] | None
) -> Callable[[PreferenceBatch], Tensor]:
    """Batch -> (B,) losses of an objective, or of SimPO if there is none."""
    if objective is None:
        return lambda batch: trainer.simpo_loss(*trainer.concatenated_forward(batch))[0]
    return lambda batch: objective(pair_scores(trainer, reference, batch))


@torch.no_grad()
def describe(trainer: SimPOTrainer, reference: nn.Module, batch: PreferenceBatch) -> tuple[Tensor, Tensor]:
    """Ranking table of the reward of DPO at beta = 1, and correlation of plain log-probability and length."""
    scores = pair_scores(trainer, reference, batch)
    chosen = scores.chosen_logps - scores.reference_chosen_logps
    rejected = scores.rejected_logps - scores.reference_rejected_logps
    likelihood = scores.chosen_logps / scores.chosen_lengths - scores.rejected_logps / scores.rejected_lengths
    logps = torch.cat([scores.chosen_logps, scores.rejected_logps])
    lengths = torch.cat([scores.chosen_lengths, scores.rejected_lengths])
    return ranking_table(chosen - rejected, likelihood), length_correlation(logps, lengths)


def main() -> None:
    """Run the comparison with the sizes of the configuration."""
    with (ROOT / "training_configs" / "toy.toml").open("rb") as file:
        config = tomllib.load(file)
    torch.set_num_threads(1)
    torch.manual_seed(config["seed"])
    train_pairs, eval_pairs = split_pairs(load_pairs(ROOT / config["pairs"]), config["hold_out_every"])
    texts = (text for pair in train_pairs for text in (pair.prompt, pair.chosen, pair.rejected))
    simpo_config = SimPOConfig(**config["simpo"])
    collator = PreferenceCollator(WordTokenizer(texts), simpo_config.label_pad_token_id)
    size = config["batch_size"]
    batches = [collator(train_pairs[start : start + size]) for start in range(0, len(train_pairs), size)]
    eval_batch = collator(eval_pairs)

    base = TinyLM(ModelConfig(**config["model"]), len(collator.tokenizer))
    imitate(SimPOTrainer(base, simpo_config), batches, eval_batch, ScheduleConfig(**config["imitation"]))
    for name, objective in {"SimPO": None, **OBJECTIVES}.items():
        trainer = SimPOTrainer(copy.deepcopy(base), simpo_config)
        losses = optimize(
            trainer.model,
            losses_of(trainer, base, objective),
            batches * config["comparison"]["epochs"],
            config["comparison"]["learning_rate"],
        )
        table, correlation = describe(trainer, base, eval_batch)
        print(f"{name:8} loss {losses[0]:8.3f} to {losses[-1]:8.3f}   ranked correctly by likelihood ", end="")
        print(f"{table[:, 0].sum():.2f}   correlation with length {correlation:+.3f}")


if __name__ == "__main__":
    main()
