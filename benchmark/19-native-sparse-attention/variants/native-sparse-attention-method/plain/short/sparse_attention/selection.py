# As short as it goes.
def block_scores(probabilities, size, stride, block_size, blocks):
    a, b = block_size // stride, size // stride
    out = torch.zeros(*probabilities.shape[:-1], blocks, dtype=probabilities.dtype)
    for i in range(probabilities.shape[-1]):
        for r in range(b):
            out[..., (i + r) // a] += probabilities[..., i]
    return out


def group_scores(scores):
    return scores.sum(3)


@torch.no_grad()
def select_blocks(scores, block_size, num_selected, initial_blocks=1, local_blocks=1):
    T, M = scores.shape[1], scores.shape[-1]
    b, cur = torch.arange(M), torch.arange(T)[:, None, None] // block_size
    s = scores.clone()
    s[:, :, :, :initial_blocks] = 1e9
    s = torch.where(b > cur - local_blocks, 1e9, s)
    s = torch.where(b > cur, -1.0, s)
    top, idx = s.topk(min(num_selected, M), -1)
    idx = torch.where(top < 0, -1, idx)
    idx = torch.nn.functional.pad(idx, (0, num_selected - idx.shape[-1]), value=-1)
    return idx, (idx >= 0).sum(-1)
