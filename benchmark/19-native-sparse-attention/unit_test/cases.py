"""Labelled inputs for nsa-selected-and-sliding-attention."""

import torch
from lmrbench_cases import compare, outcome
from NSA import nsa


def make_inputs(seed, batch=2, length=11, kv_heads=2, group=3, key_dim=6, value_dim=5):
    """Random q, k, v and two gates, time first; the gates have both signs and sizes beyond 1."""
    generator = torch.Generator().manual_seed(seed)
    heads = kv_heads * group
    return (
        torch.randn(batch, length, heads, key_dim, generator=generator),
        torch.randn(batch, length, kv_heads, key_dim, generator=generator),
        torch.randn(batch, length, kv_heads, value_dim, generator=generator),
        1.5 * torch.randn(batch, length, heads, generator=generator),
        1.5 * torch.randn(batch, length, heads, generator=generator),
    )


def distinct_blocks(seed, batch, length, kv_heads, slots, blocks):
    """(B, T, H, S) block numbers without repeats in a row, in random order."""
    generator = torch.Generator().manual_seed(1000 + seed)
    return torch.rand(batch, length, kv_heads, blocks, generator=generator).argsort(-1)[..., :slots]


def random_integers(seed, low, high, shape):
    """int64 numbers from low to high, both included."""
    return torch.randint(low, high + 1, shape, generator=torch.Generator().manual_seed(2000 + seed))


def gradients(seed, inputs, *args, **kwargs):
    """Output and the gradients of a fixed random projection of it, in the order q, k, v, g_slc, g_swa."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = nsa(*leaves, *args, **kwargs)
    projection = torch.randn(out.shape, generator=torch.Generator().manual_seed(3000 + seed))
    (out * projection).sum().backward()
    return {"out": out.detach(), "gradients": [torch.zeros_like(x) if x.grad is None else x.grad for x in leaves]}


@compare(rtol=1e-4, atol=1e-5)
def case_both_branches(seed):
    """A general batch: distinct blocks in random order, both branches on, blocks from past and future."""
    inputs = make_inputs(seed)
    return nsa(*inputs, distinct_blocks(seed, 2, 11, 2, slots=3, blocks=3), block_size=4, window_size=5)


@compare(rtol=1e-4, atol=1e-5)
def case_full_attention(seed):
    """Every block in shuffled order, and a window over everything: both are full causal attention."""
    q, k, v, _, _ = make_inputs(seed, length=13)
    ones, zeros = torch.ones(q.shape[:3]), torch.zeros(q.shape[:3])
    blocks = distinct_blocks(seed, 2, 13, 2, slots=4, blocks=4)
    return {
        "selected": nsa(q, k, v, ones, zeros, blocks, block_size=4),
        "window": nsa(q, k, v, zeros, ones, blocks, block_size=4, window_size=13),
        "oversized_window": nsa(q, k, v, zeros, ones, blocks, block_size=4, window_size=40),
        "both": nsa(q, k, v, ones, ones, blocks, block_size=4, window_size=13),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_block_counts(seed):
    """No count, ints below, at and above the number of slots, and one count per token and key/value head."""
    inputs = make_inputs(seed, length=14)
    blocks = distinct_blocks(seed, 2, 14, 2, slots=4, blocks=5)
    counts = random_integers(seed, 0, 5, (2, 14, 2))
    counts[0, :6, 0] = torch.arange(6)
    counts[0, :6, 1] = torch.arange(6).flip(0)
    results = {str(count): nsa(*inputs, blocks, block_counts=count, block_size=3) for count in (None, 0, 1, 2, 3, 4, 9)}
    results["tensor"] = nsa(*inputs, blocks, block_counts=counts, block_size=3)
    results["tensor_and_window"] = nsa(*inputs, blocks, block_counts=counts, block_size=3, window_size=2)
    return results


@compare(rtol=1e-4, atol=1e-5)
def case_padding_slots(seed):
    """Negative and too large block numbers stand in any slot and take up the count like any other."""
    inputs = make_inputs(seed, length=10)
    blocks = distinct_blocks(seed, 2, 10, 2, slots=3, blocks=3)
    minus_one, past_end = torch.full_like(blocks[..., :1], -1), torch.full_like(blocks[..., :1], 3)
    front = torch.cat([minus_one, past_end, blocks], dim=-1)
    back = torch.cat([blocks, past_end, minus_one], dim=-1)
    extreme = torch.cat([torch.full_like(minus_one, -3), blocks, torch.full_like(minus_one, 10**6)], dim=-1)
    return {
        "front": nsa(*inputs, front, block_size=4),
        "front_counted": nsa(*inputs, front, block_counts=3, block_size=4),
        "back": nsa(*inputs, back, block_size=4, window_size=3),
        "back_counted": nsa(*inputs, back, block_counts=4, block_size=4),
        "extreme": nsa(*inputs, extreme, block_size=4),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_repeated_blocks(seed):
    """A block listed twice or three times weighs as much in the softmax; the window does not weigh on top."""
    inputs = make_inputs(seed, length=12)
    blocks = random_integers(seed, 0, 1, (2, 12, 2, 4))
    twice = torch.tensor([0, 1, 0]).expand(2, 12, 2, 3)
    return {
        "random": nsa(*inputs, blocks, block_size=3),
        "random_counted": nsa(*inputs, blocks, block_counts=3, block_size=3, window_size=4),
        "twice": nsa(*inputs, twice, block_size=4),
        "second_copy_inactive": nsa(*inputs, twice, block_counts=2, block_size=4),
    }


@compare(rtol=1e-3, atol=1e-5)
def case_tokens_without_keys(seed):
    """Only future blocks, only padding, no active slot or no slot at all: zeros, and finite gradients."""
    inputs = make_inputs(seed, length=9)
    blocks = torch.tensor([1, 2]).expand(2, 9, 2, 2)
    counts = random_integers(seed, 0, 2, (2, 9, 2))
    return {
        "future": gradients(seed, inputs, blocks, block_size=3),
        "future_and_window": gradients(seed, inputs, blocks, block_size=3, window_size=4),
        "future_or_inactive": gradients(seed, inputs, blocks, block_counts=counts, block_size=4, window_size=2),
        "padding": nsa(*inputs, torch.full_like(blocks, -1), block_size=3),
        "no_slots": nsa(*inputs, blocks[..., :0], block_size=3),
        "no_slots_but_window": nsa(*inputs, blocks[..., :0], block_size=3, window_size=3),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_block_sizes(seed):
    """The own block is cut at the token; blocks of one, of more than the sequence, and of the default 64."""
    inputs = make_inputs(seed, length=11)
    own = (torch.arange(11) // 4).view(1, 11, 1, 1).expand(2, 11, 2, 1)
    single = distinct_blocks(seed, 2, 11, 2, slots=6, blocks=11)
    long = make_inputs(seed, batch=1, length=70, kv_heads=1, group=2)
    late = (torch.arange(70) // 64).view(1, 70, 1, 1)
    return {
        "own_block": nsa(*inputs, own, block_size=4),
        "one_token": nsa(*inputs, single, block_size=1),
        "larger_than_sequence": nsa(*inputs, torch.zeros_like(own), block_size=16),
        "default": nsa(*long, late),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_window_sizes(seed):
    """Windows from off, where the window's gate may be anything, to the whole sequence; some selected gates are 0."""
    q, k, v, g_slc, g_swa = make_inputs(seed, length=9)
    g_slc[:, :, ::2] = 0.0
    blocks = distinct_blocks(seed, 2, 9, 2, slots=2, blocks=3)
    results = {
        str(size): nsa(q, k, v, g_slc, g_swa, blocks, block_size=3, window_size=size) for size in (0, 1, 2, 4, 8, 9)
    }
    results["unused_gate"] = nsa(q, k, v, g_slc, torch.full_like(g_swa, torch.nan), blocks, block_size=3)
    return results


@compare(rtol=1e-3, atol=1e-4)
def case_scale(seed):
    """The default, zero (a plain average), a negative scale, and scores too large for a bare exponential."""
    q, k, v, g_slc, g_swa = make_inputs(seed, key_dim=8)
    blocks = distinct_blocks(seed, 2, 11, 2, slots=2, blocks=3)
    results = {
        str(scale): nsa(q, k, v, g_slc, g_swa, blocks, block_size=4, window_size=3, scale=scale)
        for scale in (None, 0.0, 0.1, 1.0, -0.5)
    }
    results["large"] = nsa(6 * q, k, v, g_slc, g_swa, blocks, block_size=4, window_size=3, scale=8.0)
    return results


@compare(rtol=1e-4, atol=1e-5)
def case_packed_sequences(seed):
    """Borders off the block grid, an empty sequence and a single token; positions restart at each border."""
    inputs = make_inputs(seed, batch=1, length=19)
    borders = torch.tensor([0, 5, 5, 12, 13, 19])
    blocks = distinct_blocks(seed, 1, 19, 2, slots=3, blocks=4)
    blocks[:, ::3, :, 0] = -1
    counts = random_integers(seed, 0, 4, (1, 19, 2))
    one = torch.tensor([0, 19])
    return {
        "selected": nsa(*inputs, blocks, block_size=3, cu_seqlens=borders),
        "window": nsa(*inputs, blocks[..., :0], block_size=3, window_size=4, cu_seqlens=borders),
        "both_with_counts": nsa(*inputs, blocks, counts, block_size=2, window_size=5, cu_seqlens=borders),
        "int_count": nsa(*inputs, blocks, 2, block_size=4, cu_seqlens=borders),
        "one_sequence": nsa(*inputs, blocks, counts, block_size=4, window_size=3, cu_seqlens=one),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_packed_errors(seed):
    """Packing refuses more than one row and heads before time, by different exceptions."""
    inputs = make_inputs(seed, batch=2, length=8)
    blocks = distinct_blocks(seed, 2, 8, 2, slots=2, blocks=2)
    first = tuple(x[:1] for x in inputs)
    swapped = tuple(x.transpose(1, 2) for x in first)
    borders = torch.tensor([0, 3, 8])
    packed = {"block_size": 4, "window_size": 2, "cu_seqlens": borders}
    return [
        outcome(nsa, *inputs, blocks, errors=AssertionError, **packed),
        outcome(nsa, *first, blocks[:1], errors=AssertionError, **packed),
        outcome(nsa, *swapped, blocks[:1].transpose(1, 2), errors=RuntimeError, head_first=True, **packed),
    ]


@compare(rtol=1e-4, atol=1e-5)
def case_head_first(seed):
    """Heads before time in every tensor, the counts included, with and without the window."""
    inputs = tuple(x.transpose(1, 2).contiguous() for x in make_inputs(seed, length=11))
    blocks = distinct_blocks(seed, 2, 11, 2, slots=3, blocks=3).transpose(1, 2).contiguous()
    counts = random_integers(seed, 0, 3, (2, 2, 11))
    square = tuple(x.transpose(1, 2).contiguous() for x in make_inputs(seed, length=6))
    square_blocks = distinct_blocks(seed, 2, 6, 2, slots=2, blocks=2).transpose(1, 2)
    return {
        "no_window": nsa(*inputs, blocks, block_size=4, head_first=True),
        "window": nsa(*inputs, blocks, block_counts=2, block_size=4, window_size=3, head_first=True),
        "counts": nsa(*inputs, blocks, block_counts=counts, block_size=4, head_first=True),
        "as_many_heads_as_tokens": nsa(*square, square_blocks, block_size=3, window_size=2, head_first=True),
    }


@compare(rtol=1e-3, atol=1e-5)
def case_gradients(seed):
    """Gradients of q, k, v and both gates: repeats, counts, padding, packed and heads first."""
    inputs = make_inputs(seed, batch=1, length=12)
    blocks = random_integers(seed, -1, 3, (1, 12, 2, 4))
    counts = random_integers(seed, 1, 4, (1, 12, 2))
    options = {"block_counts": counts, "block_size": 4, "window_size": 3}
    swapped = tuple(x.transpose(1, 2) for x in inputs)
    turned = {**options, "block_counts": counts.transpose(1, 2), "head_first": True}
    return {
        "batch": gradients(seed, inputs, blocks, **options),
        "packed": gradients(seed, inputs, blocks, **options, cu_seqlens=torch.tensor([0, 7, 12])),
        "head_first": gradients(seed, swapped, blocks.transpose(1, 2), **turned),
        "selected_only": gradients(seed, inputs, blocks, block_size=2, scale=0.7),
    }


@compare(rtol=2e-2, atol=2e-2)
def case_dtypes(seed):
    """Float32 arithmetic on half-precision inputs; the dtype of q comes back, whatever the rest.

    Queries and keys share a direction, so scores are above 100 and close to each other: half precision blurs them.
    """
    q, k, v, g_slc, g_swa = make_inputs(seed, length=40, key_dim=8)
    inputs = (q.abs() + 1.0, k / 16 + 1.0, v, g_slc.sigmoid(), g_swa.sigmoid())
    blocks = distinct_blocks(seed, 2, 40, 2, slots=6, blocks=10)
    results = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        out = nsa(*(x.to(dtype) for x in inputs), blocks, block_size=4, window_size=16, scale=8.0)
        results[str(dtype)] = (str(out.dtype), out.float())
    for name, dtypes in {
        "half_query": (torch.float16, torch.float32, torch.float32),
        "half_keys": (torch.float32, torch.float16, torch.bfloat16),
    }.items():
        mixed = (inputs[0].to(dtypes[0]), inputs[1].to(dtypes[1]), inputs[2].to(dtypes[2]), *inputs[3:])
        out = nsa(*mixed, blocks, block_size=4, window_size=5)
        results[name] = (str(out.dtype), out.float())
    return results


@compare(rtol=1e-3, atol=1e-3)
def case_rounding_of_branches(seed):
    """Branches that nearly cancel in bfloat16: each is rounded before the sum. All values of a token are equal."""
    q, k, _, _, _ = make_inputs(seed, batch=1, length=6, kv_heads=1, group=3)
    # Products of gate and value lie well between two bfloat16 numbers and their rounding points, so float noise in the
    # softmax cannot flip a rounding. Rounding the sum instead gives -0.039, 0.078 and 0.019.
    v = torch.full((1, 6, 1, 2), 1.2421875)
    g_slc = torch.tensor([7.9375, 7.125, 2.234375]).expand(1, 6, 3)
    g_swa = torch.tensor([-7.96875, -7.0625, -2.21875]).expand(1, 6, 3)
    blocks = torch.zeros(1, 6, 1, 1, dtype=torch.int64)
    out = nsa(*(x.bfloat16() for x in (q, k, v, g_slc, g_swa)), blocks, block_size=6, window_size=2)
    return str(out.dtype), out.float()


@compare(rtol=1e-4, atol=1e-5)
def case_plain_call(seed):
    """A single token, a single row, strided inputs; nothing is changed in place, and gradients only on request."""
    inputs = make_inputs(seed, batch=1, length=10, group=1)
    inputs = tuple(torch.stack([x, x + 1], dim=-1)[..., 0] for x in inputs)
    blocks = random_integers(seed, -2, 5, (1, 10, 2, 3))
    counts = random_integers(seed, 0, 3, (1, 10, 2))
    borders = torch.tensor([0, 4, 10])
    out = nsa(*inputs, blocks, block_counts=counts, block_size=3, window_size=3, cu_seqlens=borders)
    token = make_inputs(seed, batch=3, length=1)
    trained = nsa(inputs[0].clone().requires_grad_(), *inputs[1:], blocks, block_size=3)
    return {
        "out": out,
        "needs_gradient": [out.requires_grad, trained.requires_grad],
        "after_the_call": [x.clone() for x in (*inputs, blocks, counts, borders)],
        "one_token": nsa(*token, torch.zeros(3, 1, 2, 1, dtype=torch.int64), block_size=4, window_size=1),
    }
