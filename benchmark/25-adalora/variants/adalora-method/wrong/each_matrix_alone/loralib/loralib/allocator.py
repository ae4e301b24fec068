# Divides the budget among the matrices, which do not compete.
from collections.abc import Mapping

import torch
from torch import Tensor


def select(importance: Mapping[str, Tensor], budget: int) -> dict[str, Tensor]:
    share, rest = divmod(budget, len(importance))
    kept = {}
    for number, (name, values) in enumerate(importance.items()):
        kept[name] = torch.zeros_like(values, dtype=torch.bool)
        kept[name][values.topk(min(len(values), share + (number < rest))).indices] = True
    return kept
