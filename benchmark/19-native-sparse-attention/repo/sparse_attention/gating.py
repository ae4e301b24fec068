"""Branch gates: how much each head of each token takes from each branch of the attention."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

BRANCHES = ("compressed", "selected", "window")


class BranchGates(nn.Module):
    """Independent sigmoid gates of the three branches, computed from the hidden states.

    The gates of a branch that is not listed in `branches` are zero, which removes it from the layer's output.
    """

    def __init__(self, dim: int, heads: int, branches: Sequence[str] = BRANCHES) -> None:
        super().__init__()
        unknown = set(branches) - set(BRANCHES)
        if unknown:
            raise ValueError(f"unknown branches: {sorted(unknown)}")
        self.heads = heads
        self.projection = nn.Linear(dim, len(BRANCHES) * heads)
        switches = torch.tensor([float(branch in branches) for branch in BRANCHES])
        self.register_buffer("switches", switches[:, None], persistent=False)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gates of the compressed, selected and window branches, (B, T, HQ) each, from hidden states (B, T, D)."""
        gates = self.projection(hidden).sigmoid().unflatten(-1, (len(BRANCHES), self.heads)) * self.switches
        compressed, selected, window = gates.unbind(dim=-2)
        return compressed, selected, window
