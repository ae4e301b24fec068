"""Experiments behind the tables: short seeded adaptations of a small encoder, in double precision."""

import copy

import torch
from loralib.loralib import BudgetSchedule, RankAllocator, add_adapters, train_only
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from torch import Tensor
from train import SOURCE_TASK, TARGET_TASK, FitConfig, fit

BATCH, STEPS = 16, 40
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


class Recorder(RankAllocator):
    """An allocator that scores gradients in a larger unit and notes the importances that it prunes by.

    Attributes:
        seen: mean of log(1 + S) over all triplets, after each step.
    """

    def __init__(self, model: TinyEncoder, schedule: BudgetSchedule) -> None:
        super().__init__(model, schedule)
        self.seen: list[Tensor] = []

    def update_scores(self) -> None:
        """Update the scores and leave the gradients as they were."""
        gradients = [parameter.grad for parameter in self.parameters()]
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = GRADIENT_UNIT * gradient
        super().update_scores()
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.grad = gradient

    def allocate(self, step: int) -> None:
        """Note the importances, and prune."""
        self.seen.append(torch.cat(list(self.importance().values())).log1p().mean())
        super().allocate(step)


def adapt(
    encoder: TinyEncoder, rank: int, alpha: float, gamma: float, schedule: BudgetSchedule | None
) -> tuple[Tensor, list[Tensor]]:
    """Adapt a copy of the encoder to the target task. The adapters start with parameters of moderate size.

    Returns:
        The loss of each step, relative to that of the first one, and what the allocator noted.
    """
    model = copy.deepcopy(encoder)
    torch.manual_seed(3)
    add_adapters(model, BLOCK_LINEARS, rank, alpha, lora_dropout=0.0)
    for name, parameter in model.named_parameters():
        if name.endswith("lora_E"):
            parameter.data.normal_(std=0.1)
        elif name.endswith(("lora_A", "lora_B")):
            parameter.data.mul_(20)
    train_only(model)
    recorder = Recorder(model, schedule) if schedule else None
    losses = torch.tensor(fit(model, TARGET_TASK, FitConfig(STEPS, 5e-2, gamma, BATCH), 2, recorder))
    return losses / losses[0], recorder.seen if recorder else []


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
        losses, _ = adapt(encoder, *setting)
        table[name] = {f"quarter {k}": part.mean().item() for k, part in enumerate(losses.chunk(4), 1)}
    return table


def table_pruning() -> dict[str, dict[str, float]]:
    """Adaptations that are pruned from the start: relative loss and importance in the later steps."""
    encoder = trained_encoder()
    table = {}
    for alpha, gamma, final in ((6.0, 0.002, 6), (15.0, 0.002, 12), (6.0, 0.01, 12), (15.0, 0.01, 4)):
        losses, seen = adapt(encoder, 5, alpha, gamma, BudgetSchedule(30, final, STEPS, 0, 8, 3))
        table[f"alpha {alpha:g}, gamma {gamma:g}, budget 30 to {final}"] = {
            "loss, 15 to 27": losses[14:27].mean().item(),
            "loss, 28 to 40": losses[27:].mean().item(),
            "log (1 + S), 15 to 27": torch.stack(seen[14:27]).mean().item(),
            "log (1 + S), 28 to 40": torch.stack(seen[27:]).mean().item(),
        }
    return table
