"""Experiment behind the table: short seeded adaptations of a small encoder under a budget, in double precision."""

import copy

import torch
import torch.nn.functional as F
from loralib.loralib import BudgetSchedule, RankAllocator, add_adapters, train_only
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from train import SOURCE_TASK, TARGET_TASK, FitConfig, fit

BATCH, STEPS, RANK = 8, 30, 5
#: Gradients are multiplied by it before they are scored, so that importances are of order one.
GRADIENT_UNIT = 1000.0


def trained_encoder() -> TinyEncoder:
    """An encoder with one block, trained briefly on the source task."""
    torch.manual_seed(0)
    sizes = EncoderConfig(SOURCE_TASK.vocabulary_size, SOURCE_TASK.length, SOURCE_TASK.classes, 1, width=16, heads=2)
    encoder = TinyEncoder(sizes).double()
    fit(encoder, SOURCE_TASK, FitConfig(15, 1e-2, batch_size=BATCH), seed=1)
    return encoder


class UnitAllocator(RankAllocator):
    """An allocator that scores gradients in a larger unit."""

    def update_scores(self) -> None:
        """Update the scores and leave the gradients as they were."""
        gradients = [parameter.grad for parameter in self.parameters()]
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = GRADIENT_UNIT * gradient
        super().update_scores()
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = gradient


def adapted(encoder: TinyEncoder, alpha: float, gamma: float, final: int) -> tuple[TinyEncoder, list[float]]:
    """Adapt a copy of the encoder, with adapters of moderate size; return it and the loss of each step."""
    model = copy.deepcopy(encoder)
    torch.manual_seed(3)
    add_adapters(model, BLOCK_LINEARS, RANK, alpha, lora_dropout=0.0)
    for name, parameter in model.named_parameters():
        if name.endswith("lora_E"):
            parameter.data.normal_(std=0.1)
        elif name.endswith(("lora_A", "lora_B")):
            parameter.data.mul_(20)
    train_only(model)
    schedule = BudgetSchedule(RANK * len(BLOCK_LINEARS), final, STEPS, 3, 5, 2)
    losses = fit(model, TARGET_TASK, FitConfig(STEPS, 3e-2, gamma, BATCH), 2, UnitAllocator(model, schedule))
    return model, losses


def table_outcome() -> dict[str, dict[str, float]]:
    """Losses of adaptations under a budget: those of the last 15 steps, and that of 64 other examples; both summed."""
    torch.set_num_threads(1)
    encoder, table = trained_encoder(), {}
    tokens, labels = TARGET_TASK.sample(64, torch.Generator().manual_seed(5))
    for alpha, gamma, final in ((6.0, 0.01, 10), (8.0, 0.01, 14), (5.0, 0.005, 8)):
        model, losses = adapted(encoder, alpha, gamma, final)
        with torch.no_grad():
            other = F.cross_entropy(model(tokens), labels, reduction="sum").item()
        name = f"alpha {alpha:g}, gamma {gamma:g}, budget {RANK * len(BLOCK_LINEARS)} to {final}"
        table[name] = {"training": sum(losses[-15:]), "held out": other}
    return table
