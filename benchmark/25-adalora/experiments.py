"""Experiments behind the tables: short seeded adaptations of a small encoder, in double precision."""

import copy

import torch
from loralib.loralib import BudgetSchedule, RankAllocator, add_adapters, train_only
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from torch import Tensor
from train import SOURCE_TASK, TARGET_TASK, FitConfig, fit

BATCH, STEPS = 16, 40
#: Of the long adaptations, and how many of the last ones are averaged.
LONG_STEPS, LAST_STEPS = 120, 20
#: Gradients are multiplied by it before they are scored, so that importances are of order one.
GRADIENT_UNIT = 1000.0


def trained_encoder() -> TinyEncoder:
    """An encoder with one block, trained briefly on the source task."""
    torch.set_num_threads(1)
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


def adapt(
    encoder: TinyEncoder, rank: int, alpha: float, gamma: float, schedule: BudgetSchedule | None, steps: int = STEPS
) -> Tensor:
    """Adapt a copy of the encoder, with adapters of moderate size, and return the losses relative to the first one."""
    model = copy.deepcopy(encoder)
    torch.manual_seed(3)
    add_adapters(model, BLOCK_LINEARS, rank, alpha, lora_dropout=0.0)
    for name, parameter in model.named_parameters():
        if name.endswith("lora_E"):
            parameter.data.normal_(std=0.1)
        elif name.endswith(("lora_A", "lora_B")):
            parameter.data.mul_(20)
    train_only(model)
    allocator = UnitAllocator(model, schedule) if schedule else None
    losses = torch.tensor(fit(model, TARGET_TASK, FitConfig(steps, 5e-2, gamma, BATCH), 2, allocator))
    return losses / losses[0]


def table_adaptation() -> dict[str, dict[str, float]]:
    """Mean loss in four quarters of an adaptation, relative to the loss of its first step."""
    encoder, falling = trained_encoder(), BudgetSchedule(36, 5, STEPS, 4, 8, 2)
    settings = {
        "rank 2, gamma 0, no budget": (2, 4.0, 0.0, None),
        "rank 6, gamma 0, no budget": (6, 4.0, 0.0, None),
        "rank 6, gamma 0.01, no budget": (6, 4.0, 0.01, None),
        "rank 6, gamma 0, budget 36 to 5": (6, 4.0, 0.0, falling),
        "rank 6, gamma 0.01, budget 36 to 5": (6, 4.0, 0.01, falling),
    }
    table = {}
    for name, setting in settings.items():
        losses = adapt(encoder, *setting)
        table[name] = {f"quarter {k}": part.mean().item() for k, part in enumerate(losses.chunk(4), 1)}
    return table


def table_outcome() -> dict[str, dict[str, float]]:
    """Where long adaptations under a budget end: mean loss of the last steps, relative to the loss of the first one."""
    encoder, table = trained_encoder(), {}
    for alpha, gamma, final in ((6.0, 0.002, 6), (15.0, 0.002, 12), (6.0, 0.01, 12), (15.0, 0.01, 4)):
        schedule = BudgetSchedule(30, final, LONG_STEPS, 5, 15, 3)
        losses = adapt(encoder, 5, alpha, gamma, schedule, LONG_STEPS)
        name = f"alpha {alpha:g}, gamma {gamma:g}, budget 30 to {final}"
        table[name] = {"loss": losses[-LAST_STEPS:].mean().item()}
    return table
