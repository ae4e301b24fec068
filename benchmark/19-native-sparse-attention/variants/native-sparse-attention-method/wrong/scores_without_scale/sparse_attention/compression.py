# Eq. (8) without the division by the root of the size.
import torch


def compressed_attention(q, k, v, visible):
    scores = torch.einsum("bthgk,bnhk->bthgn", q.unflatten(2, (k.shape[2], -1)), k)
    mask = visible[:, None, None, :]
    probabilities = scores.masked_fill(~mask, -1e30).softmax(dim=-1) * mask
    return torch.einsum("bthgn,bnhv->bthgv", probabilities, v).flatten(2, 3), probabilities
