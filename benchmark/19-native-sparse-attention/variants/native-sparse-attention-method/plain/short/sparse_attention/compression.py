# As short as it goes.
class BlockCompressor:
    def forward(self, x):
        n = block_count(x.shape[1], self.size, self.stride)
        if n == 0:
            return x[:, :0]
        idx = torch.arange(n)[:, None] * self.stride + torch.arange(self.size)
        blocks = x[:, idx] + self.position[:, None]  # (B, N, l, H, D)
        return self.network(blocks.transpose(2, 3).flatten(3))


def visible_blocks(length, size, stride, device=None):
    t = torch.arange(1, length + 1)[:, None]
    i = torch.arange(block_count(length, size, stride))
    return (i * stride + size <= t).to(device)


def compressed_attention(q, k, v, visible):
    B, T, HQ, K = q.shape
    H = k.shape[2]
    scores = torch.einsum("bthgd,bnhd->bthgn", q.view(B, T, H, HQ // H, K), k) / K**0.5
    mask = visible[:, None, None]
    p = torch.softmax(scores.masked_fill(~mask, -1e9), -1) * mask
    return torch.einsum("bthgn,bnhd->bthgd", p, v).reshape(B, T, HQ, -1), p
