"""Settings of a run, top-k accuracy and checkpoints."""

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    """Settings of a pretraining run; the trainer keeps them as `args`."""

    batch_size: int = 64  # images a batch, N
    n_views: int = 2  # views an image, v
    temperature: float = 0.1  # tau
    loss: str = "nt-xent"  # one of LOSSES in losses.py
    margin: float = 0.4  # m
    device: str = "cpu"
    epochs: int = 30
    warmup_epochs: int = 3
    reference_rate: float = 0.3  # gamma_0
    momentum: float = 0.9  # mu
    weight_decay: float = 1e-6  # rho
    trust: float = 0.1  # eta
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {self.batch_size}")
        if self.n_views < 2:
            raise ValueError(f"n_views must be at least 2, not {self.n_views}")
        if self.temperature <= 0:
            raise ValueError(f"temperature must be positive, not {self.temperature}")


@torch.no_grad()
def accuracy(logits: Tensor, labels: Tensor, top_k: tuple[int, ...] = (1,)) -> list[float]:
    """Shares of rows whose label is among the k highest logits, one for each k.

    Args:
        logits: (B, C) scores.
        labels: (B,) int64 classes.
        top_k: values of k; one above C counts as C.
    """
    ranked = logits.topk(min(max(top_k), logits.size(1)), dim=1).indices
    hits = ranked == labels.unsqueeze(1)
    return [hits[:, :k].any(dim=1).float().mean().item() for k in top_k]


def save_checkpoint(path: Path, model: nn.Module, args: Config) -> None:
    """Write a model's weights and the settings that it was trained with; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict(), "args": asdict(args)}, path)


def load_checkpoint(path: Path, model: nn.Module) -> Config:
    """Read the weights into `model` and return the settings that it was trained with."""
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    return Config(**checkpoint["args"])
