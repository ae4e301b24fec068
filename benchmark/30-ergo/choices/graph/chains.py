import torch


def criss_cross_mask(pairs):
    chained = (
        pairs[:, None, 1] == pairs[None, :, 0]
    )  # the later event of the row's pair, the earlier one of the column's
    return chained | chained.T | torch.eye(len(pairs), dtype=torch.bool, device=pairs.device)
