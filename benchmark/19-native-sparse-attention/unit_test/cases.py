"""Labelled inputs for nsa-selected-and-sliding-attention.

Core cases list blocks as a selector could: distinct ones from the past, then -1; each token has at least one key.
"""

import torch
from lmrbench_cases import compare, core, outcome
from NSA import nsa
from sparse_attention.layer import AttentionConfig, SparseAttention


def make_inputs(seed, batch=2, length=11, kv_heads=2, group=3, key_dim=6, value_dim=5):
    """Random q, k, v and two gates, time first; the gates have both signs and sizes beyond 1.

    They are drawn in float64: normal numbers in float32 differ from processor to processor.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(batch, length, *shape, generator=generator, dtype=torch.float64).float()

    heads = kv_heads * group
    q, k, v = normal(heads, key_dim), normal(kv_heads, key_dim), normal(kv_heads, value_dim)
    return q, k, v, 1.5 * normal(heads), 1.5 * normal(heads)


def past_blocks(seed, batch, positions, block_size, slots, kv_heads=2):
    """Distinct blocks (B, T, H, S) up to each token's own, in random order, then -1; and how many there are."""
    current = torch.as_tensor(positions)[:, None, None] // block_size
    scores = torch.rand(batch, len(current), kv_heads, 30, generator=torch.Generator().manual_seed(1000 + seed))
    scores = scores.masked_fill(torch.arange(30) > current, -1.0)
    best, blocks = scores.topk(slots, dim=-1)
    return blocks.where(best >= 0, -1), (best >= 0).sum(-1)


def gradients(seed, inputs, *args, **kwargs):
    """Output and the gradients of a fixed random projection of it, in the order q, k, v, g_slc, g_swa."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = nsa(*leaves, *args, **kwargs)
    projection = torch.randn(out.shape, generator=torch.Generator().manual_seed(3000 + seed), dtype=torch.float64)
    (out * projection.float()).sum().backward()
    return {"out": out.detach(), "gradients": [torch.zeros_like(x) if x.grad is None else x.grad for x in leaves]}


@core
@compare(rtol=1e-3, atol=1e-3)
def case_selected_blocks(seed):
    """The window is off; several block sizes, the default among them; a last block that is shorter; a single token."""
    results = {}
    for block_size, length in ((1, 9), (4, 11), (5, 10), (64, 70), (3, 1)):
        blocks, _ = past_blocks(seed, 2, range(length), block_size, slots=2)
        size = {} if block_size == 64 else {"block_size": block_size}
        results[str(block_size)] = nsa(*make_inputs(seed, length=length), blocks, **size)
    return results


@core
@compare(rtol=1e-3, atol=1e-3)
def case_both_branches(seed):
    """Windows of one token, of a few, of the whole sequence and longer."""
    blocks, counts = past_blocks(seed, 2, range(11), 4, slots=2)
    return [nsa(*make_inputs(seed), blocks, counts, block_size=4, window_size=size) for size in (1, 2, 5, 11, 40)]


@core
@compare(rtol=1e-3, atol=1e-3)
def case_block_counts(seed):
    """None, an int, and a number for each token and key/value head; fewer than there are blocks, too."""
    inputs = make_inputs(seed, length=14)
    blocks, used = past_blocks(seed, 2, range(14), 3, slots=4)
    fewer = (used - torch.randint(0, 4, used.shape, generator=torch.Generator().manual_seed(seed))).clamp(min=1)
    return [nsa(*inputs, blocks.clone(), block_counts=count, block_size=3) for count in (None, 1, 2, 4, used, fewer)]


@core
@compare(rtol=1e-3, atol=1e-3)
def case_groups_and_scale(seed):
    """One key/value head for all query heads, one for each, and something in between."""
    results = {}
    for kv_heads, group in ((1, 4), (4, 1), (2, 2)):
        blocks, counts = past_blocks(seed, 1, range(12), 4, 2, kv_heads)
        inputs = make_inputs(seed, 1, 12, kv_heads, group, key_dim=8)
        for scale in (None, 0.1, 1.0):
            results[f"{kv_heads}, {scale}"] = nsa(*inputs, blocks, counts, block_size=4, window_size=3, scale=scale)
    return results


@core
@compare(rtol=1e-3, atol=1e-3)
def case_packed_sequences(seed):
    """Borders off the block grid, a sequence of a single token."""
    inputs, borders = make_inputs(seed, batch=1, length=19), torch.tensor([0, 5, 12, 13, 19])
    positions = [*range(5), *range(7), 0, *range(6)]
    blocks, counts = past_blocks(seed, 1, positions, 3, slots=2)
    return [nsa(*inputs, blocks, counts, block_size=3, window_size=size, cu_seqlens=borders) for size in (0, 4)]


@core
@compare(rtol=1e-3, atol=1e-3)
def case_head_first(seed):
    """Heads before time, with and without window, all kinds of counts, and as many heads as tokens."""
    results = {}
    for length in (11, 6):
        inputs = [x.transpose(1, 2).contiguous() for x in make_inputs(seed, length=length)]
        blocks, counts = (x.transpose(1, 2).contiguous() for x in past_blocks(seed, 2, range(length), 4, slots=2))
        for size, count in ((0, counts), (3, counts), (2, 1), (0, None)):
            results[f"{length}, {size}, {count is counts}"] = nsa(
                *inputs, blocks.clone(), count, block_size=4, window_size=size, head_first=True
            )
    return results


@core
@compare(rtol=2e-3, atol=2e-3)
def case_gradients(seed):
    """Of q, k, v and both gates; packed, too."""
    blocks, counts = past_blocks(seed, 1, [*range(7), *range(5)], 3, slots=2)
    inputs, options = make_inputs(seed, batch=1, length=12), {"block_size": 3, "window_size": 3}
    return [
        gradients(seed, inputs, blocks, counts, **options, cu_seqlens=torch.tensor([0, 7, 12])),
        gradients(seed, inputs, blocks, **options),
    ]


@core
@compare(rtol=2e-3, atol=2e-3)
def case_layer(seed):
    """The repository's own layer: output, and the gradients of its parameters."""
    torch.manual_seed(seed)
    layer = SparseAttention(AttentionConfig(dim=12, heads=4, kv_heads=2, head_dim=6, block_size=4, window_size=5))
    out = layer(torch.randn(2, 18, 12))
    out.square().sum().backward()
    return out.detach(), {name: parameter.grad for name, parameter in layer.named_parameters()}


@compare(rtol=1e-4, atol=1e-5)
def case_other_lists(seed):
    """Repeated and future blocks, numbers that are negative or too large in any slot, all kinds of counts."""
    inputs = make_inputs(seed, length=14)
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(-2, 7, (2, 14, 2, 5), generator=generator)
    blocks[..., 2], blocks[:, 3, :, 4] = blocks[..., 0], 10**6
    counts = torch.randint(0, 7, (2, 14, 2), generator=generator)
    return [nsa(*inputs, blocks, count, block_size=3, window_size=2) for count in (None, 0, 3, 9, counts)]


@compare(rtol=1e-3, atol=1e-5)
def case_tokens_without_keys(seed):
    """Only future blocks, only padding, no active slot or no slot at all: zeros, and finite gradients."""
    inputs, blocks = make_inputs(seed, length=9), torch.tensor([1, 2]).expand(2, 9, 2, 2)
    counts = torch.randint(0, 3, (2, 9, 2), generator=torch.Generator().manual_seed(seed))
    return {
        "future": gradients(seed, inputs, blocks, block_size=3),
        "future_or_inactive": gradients(seed, inputs, blocks, counts, block_size=4, window_size=2),
        "padding": gradients(seed, inputs, torch.full_like(blocks, -1), block_size=3, window_size=3),
        "no_slots": nsa(*inputs, blocks[..., :0], block_size=3),
        "no_slots_but_window": nsa(*inputs, blocks[..., :0], block_size=3, window_size=3),
    }


@compare(rtol=1e-3, atol=1e-4)
def case_scale_and_unused_gate(seed):
    """Zero (a plain average), a negative scale, scores too large for a bare exponential; a gate that is not used."""
    q, k, v, g_slc, g_swa = make_inputs(seed, key_dim=8)
    blocks, _ = past_blocks(seed, 2, range(11), 4, slots=2)
    results = [nsa(q, k, v, g_slc, g_swa, blocks, None, 4, 3, scale) for scale in (0.0, -0.5)]
    large = nsa(6 * q, k, v, g_slc, g_swa, blocks, None, 4, 3, 8.0)
    return [*results, large, nsa(q, k, v, g_slc, torch.full_like(g_swa, torch.nan), blocks, block_size=4)]


@compare(rtol=1e-4, atol=1e-5)
def case_packed_calls(seed):
    """An empty sequence, strided inputs, nothing changed in place; two rows and heads before time are refused."""
    inputs = [torch.stack([x, x + 1], dim=-1)[..., 0] for x in make_inputs(seed, batch=1, length=10)]
    blocks, counts = past_blocks(seed, 1, [*range(4), *range(6)], 3, slots=3)
    packed = {"block_size": 3, "window_size": 2, "cu_seqlens": torch.tensor([0, 4, 4, 10])}
    out = nsa(*inputs, blocks, counts - 1, **packed)
    used = blocks.clone()
    nsa(*inputs, used, 1, **packed)
    double = [torch.cat([x, x]) for x in (*inputs, blocks)]
    swapped = [x.transpose(1, 2) for x in (*inputs, blocks)]
    return [
        out,
        [*inputs, used, packed["cu_seqlens"]],
        outcome(nsa, *double, errors=AssertionError, **packed),
        outcome(nsa, *swapped, errors=RuntimeError, head_first=True, **packed),
    ]


@compare(rtol=2e-2, atol=2e-2)
def case_dtypes(seed):
    """Float32 arithmetic on half-precision inputs; the dtype of q comes back.

    Queries and keys share a direction, so scores are above 100 and close to each other: half precision blurs them.
    """
    q, k, v, g_slc, g_swa = make_inputs(seed, length=40, key_dim=8)
    inputs = (q.abs() + 1.0, k / 16 + 1.0, v, g_slc.sigmoid(), g_swa.sigmoid())
    blocks, _ = past_blocks(seed, 2, range(40), 4, slots=6)
    results = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        out = nsa(*(x.to(dtype) for x in inputs), blocks, block_size=4, window_size=16, scale=8.0)
        results[str(dtype)] = (str(out.dtype), out.float())
    return results
