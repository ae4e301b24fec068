"""Branch gates: how much each head of each token takes from each branch of the attention."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

BRANCHES = ("compressed", "selected", "window")


class BranchGates(nn.Module):
    """Gates of the three branches, computed from the hidden states.

    The gates of a branch that is not listed in `branches` are zero, which removes it from the layer's output.

    Args:
        dim: size D of the hidden states.
        heads: number HQ of query heads.
        branches: those in use.
        hidden: hidden size of the network; None makes it a single linear map.

    Attributes:
        projection: the network, from (..., D) to (..., 3 * HQ): HQ numbers for each branch, in the order of `BRANCHES`.
        switches: (3, 1), 1 for branches in use and 0 for others.
    """

    def __init__(self, dim: int, heads: int, branches: Sequence[str] = BRANCHES, hidden: int | None = None) -> None:
        super().__init__()
        unknown = set(branches) - set(BRANCHES)
        if unknown:
            raise ValueError(f"unknown branches: {sorted(unknown)}")
        self.heads = heads
        gates = len(BRANCHES) * heads
        self.projection = (
            nn.Linear(dim, gates)
            if hidden is None
            else nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, gates))
        )
        switches = torch.tensor([float(branch in branches) for branch in BRANCHES])
        self.register_buffer("switches", switches[:, None], persistent=False)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gates of the compressed, selected and window branches, (B, T, HQ) each, from hidden states (B, T, D)."""
        gates = self.projection(hidden).sigmoid().unflatten(-1, (len(BRANCHES), self.heads)) * self.switches
        compressed, selected, window = gates.unbind(dim=-2)
        return compressed, selected, window
