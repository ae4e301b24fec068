# Half a hyperbolic tangent, branch by branch.
import torch
from torch import Tensor


class BranchGates:
    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parts = self.projection(hidden).split(self.heads, dim=-1)
        gates = [(1 + torch.tanh(part / 2)) / 2 * switch for part, switch in zip(parts, self.switches[:, 0])]
        return gates[0], gates[1], gates[2]
