# A matrix that averages over all windows side by side.
import math
from collections.abc import Callable

import torch
from torch import Tensor


def window_starts(length: int, size: int, step: int) -> list[int]:
    count = 1 + max(0, math.ceil((length - size) / step))
    return [step * k for k in range(count)]


def encode_windows(
    encode: Callable[[Tensor, Tensor], Tensor], input_ids: Tensor, is_token: Tensor, size: int, step: int
) -> Tensor:
    documents = []
    for ids, mask in zip(input_ids, is_token):
        length = int(mask.sum())
        places, states = [], []
        for start in window_starts(length, size, step):
            window = slice(start, min(length, start + size))
            states.append(encode(ids[window].unsqueeze(0), mask[window].unsqueeze(0)).squeeze(0))
            places.append(torch.arange(window.start, window.stop))
        state = torch.cat(states)
        member = (torch.cat(places) == torch.arange(len(ids)).unsqueeze(1)).to(state.dtype)
        documents.append(member @ state / member.sum(dim=1, keepdim=True).clamp(min=1))
    return torch.stack(documents)
