"""The experiments behind the tables: short runs of SimPO on the bundled pairs, measured on held-out pairs."""

import copy
from pathlib import Path

import torch
from compare_objectives import losses_of
from scripts.optimize import optimize
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from simpo.data import PreferenceBatch, PreferenceCollator, WordTokenizer, load_pairs, split_pairs
from simpo.model import ModelConfig, TinyLM

ROOT = Path(__file__).resolve().parent


def _measure(trainer: SimPOTrainer, batch: PreferenceBatch) -> dict[str, float]:
    """Continuous measures of a model on a batch; plain log-probabilities are not normalised."""
    losses, chosen_rewards, rejected_rewards = trainer.simpo_loss(*trainer.concatenated_forward(batch))
    weights = torch.linspace(0.5, 1.5, len(losses), dtype=losses.dtype)
    (gradient,) = torch.autograd.grad((weights * losses).mean(), trainer.model.token_embedding.weight)
    with torch.no_grad():
        chosen, rejected = trainer.concatenated_forward(batch, normalized=False)
    return {
        "plain": (chosen - rejected).mean().item(),
        "rewards": (chosen_rewards - rejected_rewards).std().item(),
        "gradient": gradient.norm().item(),
    }


def table_training() -> dict[str, dict[str, float]]:
    """Runs with several settings: lead in plain log-probability, spread of the leads in reward, and gradient norm.

    The lead is the mean over the held-out pairs and counts from the start of training, in nats. The spread is relative to
    its value at the start. The gradient is that of the held-out losses after training, with weights that grow from pair to
    pair.
    """
    train_pairs, eval_pairs = split_pairs(load_pairs(ROOT / "data" / "pairs.jsonl"), 5)
    texts = [text for pair in train_pairs for text in (pair.prompt, pair.chosen, pair.rejected)]
    collator = PreferenceCollator(WordTokenizer(texts), -100)
    batches = [collator(train_pairs[start : start + 8]) for start in range(0, 32, 8)]
    held_out = collator(eval_pairs)
    torch.manual_seed(0)
    model = TinyLM(ModelConfig(context_length=64, layers=1, width=12, heads=2), len(collator.tokenizer)).double()
    table = {}
    for beta, ratio, rounds in ((2.0, 0.4, 2), (2.0, 0.4, 4), (2.0, 0.8, 3), (5.0, 0.5, 3)):
        trainer = SimPOTrainer(copy.deepcopy(model), SimPOConfig(beta=beta, gamma_beta_ratio=ratio))
        before = _measure(trainer, held_out)
        optimize(trainer.model, losses_of(trainer, model, None), batches * rounds, 5e-3)
        after = _measure(trainer, held_out)
        table[f"beta {beta}, gamma/beta {ratio}, {4 * rounds} steps"] = {
            "lead": after["plain"] - before["plain"],
            "spread": after["rewards"] / before["rewards"],
            "gradient": after["gradient"],
        }
    return table
