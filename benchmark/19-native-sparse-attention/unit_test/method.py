"""Labelled inputs for native-sparse-attention-method: each function that is written, and a short training with all.

Block lists are such as a selector could give: distinct blocks from the past, then -1; each token has at least one key.
"""

import torch
from copy_task import CopyTask
from lmrbench_cases import compare, experiment, goal
from NSA import attention_weights, nsa, selected_offsets, window_offsets
from sparse_attention.compression import BlockCompressor, block_count, compressed_attention, visible_blocks
from sparse_attention.gating import BranchGates
from sparse_attention.model import build_model
from sparse_attention.native import NativeConfig, NativeSparseAttention
from sparse_attention.packing import pack
from sparse_attention.selection import block_scores, group_scores, select_blocks
from torch import Tensor, nn
from train import fit


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers, the same for each dtype up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def random_order(seed: int, *shape: int) -> Tensor:
    """Numbers between 0 and 1 without ties."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_normal_parameters(module: nn.Module, seed: int, scale: float = 0.5) -> nn.Module:
    """The module in float64, with parameters large enough for each of them to show."""
    module = module.double()
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(scale * normal(100 * seed + number, *parameter.shape, dtype=torch.float64))
    return module


def past_blocks(seed: int, batch: int, positions, block_size: int, slots: int, kv_heads: int = 2):
    """Distinct blocks (B, T, H, S) up to each token's own, in random order, then -1; and how many there are."""
    current = torch.as_tensor(positions)[:, None, None] // block_size
    order = random_order(1000 + seed, batch, len(current), kv_heads, 30).masked_fill(torch.arange(30) > current, -1.0)
    best, blocks = order.topk(slots, dim=-1)
    return blocks.where(best >= 0, -1), (best >= 0).sum(-1)


def offered(offsets: Tensor, positions: Tensor) -> list[list[int]]:
    """The keys that each token is offered, in order."""
    rows = offsets.flatten(0, -2).tolist()
    own = positions.expand(offsets.shape[:-1]).flatten().tolist()
    return [sorted(key for key in row if 0 <= key <= position) for row, position in zip(rows, own, strict=True)]


# --- attention over tokens --------------------------------------------------------------------------------------------


@goal("attention_weights")
@compare(rtol=1e-4, atol=1e-7)
def case_attention_weights(seed):
    """Flat and sharp scores, keys that are not read, and queries that read none; with gradients."""
    results = []
    for number, (shape, scale) in enumerate((((4, 7), 0.5), ((2, 3, 5), 2.0), ((6, 12), 6.0), ((3, 2, 4, 9), 1.0))):
        scores = (scale * normal(50 * seed + number, *shape, dtype=torch.float64)).requires_grad_()
        kept = random_order(50 * seed + number + 20, *shape) < 0.7
        kept[0] = False
        weights = attention_weights(scores, kept)
        (weights * normal(50 * seed + number + 40, *shape, dtype=torch.float64)).sum().backward()
        results.append([weights, scores.grad])
    return results


@goal("selected_offsets")
@compare(exact=True)
def case_selected_offsets(seed):
    """Several block sizes, with all slots and with some of them."""
    results = {}
    for block_size, length in ((1, 7), (3, 14), (4, 11), (6, 5)):
        blocks, used = past_blocks(seed, 2, range(length), block_size, slots=4)
        fewer = (used - (4 * random_order(seed, *used.shape)).long()).clamp(min=1)
        positions = torch.arange(length)[:, None]
        results[f"{block_size}"] = [
            offered(selected_offsets(blocks.clone(), count, block_size), positions)
            for count in (None, 1, 3, used, fewer)
        ]
    return results


@goal("window_offsets")
@compare(exact=True)
def case_window_offsets(seed):
    """Windows from one token to more than there are, of one sequence or of several packed ones."""
    results = {}
    lengths = [3 + seed % 7, 1, 6, 2 + seed % 7]
    packed = torch.cat([torch.arange(length) for length in lengths])
    for window_size in (1, 2, 4, 6 + seed % 7, 40):
        positions = (torch.arange(8 + seed % 7), packed)
        results[f"{window_size}"] = [offered(window_offsets(own, window_size), own) for own in positions]
    return results


def token_inputs(seed: int, batch=2, length=11, kv_heads=2, group=3, key_dim=6, value_dim=5) -> list[Tensor]:
    """Random q, k, v and two gates, time first; the gates have both signs and sizes beyond 1."""
    heads = kv_heads * group
    shapes = ((heads, key_dim), (kv_heads, key_dim), (kv_heads, value_dim), (heads,), (heads,))
    return [
        (1.5 if k > 2 else 1.0) * normal(10 * seed + k, batch, length, *shape).requires_grad_()
        for k, shape in enumerate(shapes)
    ]


@goal("nsa", "attention_weights", "selected_offsets", "window_offsets")
@compare(rtol=1e-3, atol=1e-3)
def case_nsa(seed):
    """Both branches, groups of several sizes, scales, counts, packed sequences, and heads before time."""
    results = {}
    for kv_heads, group, scale, size in ((1, 4, None, 3), (4, 1, 0.1, 0), (2, 2, 1.0, 5), (2, 3, None, 20)):
        inputs = token_inputs(seed, 2, 12, kv_heads, group, key_dim=8)
        blocks, counts = past_blocks(seed, 2, range(12), 4, 2, kv_heads)
        for number, count in enumerate((counts, None, 1)):
            out = nsa(*inputs, blocks.clone(), count, block_size=4, window_size=size, scale=scale)
            results[f"{kv_heads}, {group}, {number}"] = out
        swapped = [x.transpose(1, 2) for x in (*inputs, blocks, counts)]
        results[f"{kv_heads}, {group}, head first"] = nsa(
            *swapped, block_size=4, window_size=size, scale=scale, head_first=True
        )
    borders = torch.tensor([0, 5, 12, 13, 19])
    blocks, counts = past_blocks(seed, 1, [*range(5), *range(7), 0, *range(6)], 3, slots=2)
    for size in (0, 4):
        leaves = token_inputs(seed, batch=1, length=19)
        out = nsa(*leaves, blocks, counts, block_size=3, window_size=size, cu_seqlens=borders)
        gradients = torch.autograd.grad((out * normal(seed, *out.shape)).sum(), leaves[: 5 if size else 4])
        results[f"packed, {size}"] = [out, list(gradients)]
    return results


# --- compression ------------------------------------------------------------------------------------------------------


@goal("BlockCompressor.forward")
@compare(rtol=1e-6, atol=1e-9)
def case_compressor(seed):
    """Blocks that overlap or touch, lengths that end within a block; with gradients."""
    results = {}
    for size, stride, length in ((4, 2, 11), (3, 3, 10), (2, 1, 4), (6, 2, 6)):
        compress = with_normal_parameters(BlockCompressor(5, size, stride, hidden=7), seed)
        x = normal(seed + size, 2, length, 3, 5, dtype=torch.float64).requires_grad_()
        out = compress(x)
        gradients = torch.autograd.grad((out * normal(seed, *out.shape)).sum(), [x, *compress.parameters()])
        results[f"{size}, {stride}"] = [out, list(gradients)]
    shape = list(with_normal_parameters(BlockCompressor(5, 4, 2, 7), seed)(x[:, :3]).shape)
    return results | {"no block": shape}


@goal("visible_blocks")
@compare(exact=True)
def case_visible_blocks(seed):
    """Sequences that end within a block, on its last token and on the next; shorter than a block."""
    settings = ((4, 2), (3, 3), (6, 2), (8, 4), (5, 1))
    return [
        visible_blocks(length + seed % 7, size, stride)
        for size, stride in settings
        for length in (2, size, 11, 12, 13, 20)
    ]


@goal("compressed_attention")
@compare(rtol=1e-6, atol=1e-9)
def case_compressed_attention(seed):
    """Groups of several sizes, tokens that read some blocks, all of them or none; with gradients."""
    results = {}
    for kv_heads, group, blocks in ((1, 4, 6), (3, 1, 5), (2, 2, 4), (2, 3, 1)):
        shapes = ((2, 9, kv_heads * group, 7), (2, blocks, kv_heads, 7), (2, blocks, kv_heads, 5))
        leaves = [2 * normal(20 * seed + k, *shape, dtype=torch.float64) for k, shape in enumerate(shapes)]
        leaves = [leaf.requires_grad_() for leaf in leaves]
        visible = random_order(20 * seed + 9, 9, blocks) < 0.6
        visible[0], visible[8] = False, True
        outputs, weights = compressed_attention(*leaves, visible)
        gradients = torch.autograd.grad((outputs * normal(seed, *outputs.shape)).sum(), leaves)
        results[f"{kv_heads}, {group}"] = [outputs, weights, list(gradients)]
    return results


# --- selection --------------------------------------------------------------------------------------------------------


@goal("block_scores")
@compare(rtol=1e-6, atol=1e-9)
def case_block_scores(seed):
    """Compression blocks that are smaller than selection blocks, as large, and larger; a last block that is shorter."""
    results = {}
    for size, stride, block_size, length in (
        (4, 2, 4, 19),
        (4, 4, 4, 16),
        (8, 2, 4, 23),
        (2, 1, 6, 17),
        (6, 3, 12, 30),
    ):
        count, blocks = block_count(length, size, stride), -(-length // block_size)
        weights = random_order(seed + size, 2, length, 2, 3, count)
        results[f"{size}, {stride}, {block_size}"] = block_scores(weights, size, stride, block_size, blocks)
    return results


@goal("group_scores")
@compare(rtol=1e-6, atol=1e-9)
def case_group_scores(seed):
    """Groups of one head, of some and of many."""
    return [group_scores(random_order(seed + group, 2, 7, 2, group, 4)) for group in (1, 2, 3, 8)]


@goal("select_blocks")
@compare(exact=True)
def case_select_blocks(seed):
    """Few and many slots, initial and local blocks, sequences shorter than the slots; scores that favour the future."""
    results = {}
    for block_size, length, slots, initial, local in (
        (4, 30, 4, 1, 2),
        (2, 25, 3, 1, 1),
        (3, 31, 6, 2, 2),
        (1, 12, 5, 1, 3),
        (4, 10, 5, 1, 1),
    ):
        blocks = -(-length // block_size)
        scores = random_order(seed + slots, 2, length, 2, blocks) + 0.1 * torch.arange(blocks)
        indices, counts = select_blocks(scores, block_size, slots, initial, local)
        results[f"{block_size}, {length}"] = [indices.sort(dim=-1).values, counts, (indices >= 0).sum(-1)]
    return results


# --- gates and layer --------------------------------------------------------------------------------------------------


@goal("BranchGates.forward")
@compare(rtol=1e-6, atol=1e-9)
def case_gates(seed):
    """Gates of some branches or of all, with and without a hidden layer."""
    results = {}
    for heads, branches, hidden in ((3, ("compressed", "selected", "window"), 5), (2, ("selected",), None)):
        gates = with_normal_parameters(BranchGates(6, heads, branches, hidden), seed)
        x = normal(seed + heads, 2, 7, 6, dtype=torch.float64).requires_grad_()
        out = gates(x)
        gradient = torch.autograd.grad(sum((k + 1) * part.square().sum() for k, part in enumerate(out)), x)[0]
        results[f"{heads}"] = [list(out), gradient]
    return results


@goal("NativeSparseAttention.forward")
@compare(rtol=2e-3, atol=2e-4)
def case_layer(seed):
    """Outputs and gradients of layers with all branches and with one, alone and packed."""
    results = {}
    sizes = {"dim": 12, "heads": 4, "kv_heads": 2, "head_dim": 6, "block_size": 4, "window_size": 3, "hidden": 7}
    for branches in (("compressed", "selected", "window"), ("compressed",), ("selected",), ("window",)):
        config = NativeConfig(**sizes, branches=branches, compressed_size=4, stride=2)
        layer = with_normal_parameters(NativeSparseAttention(config), seed, 0.4)
        sequences = [normal(seed + length, length, 12, dtype=torch.float64) for length in (26, 3, 13)]
        single = sequences[0].unsqueeze(0)
        hidden, borders = pack(sequences)
        out = layer(hidden, borders)
        (out * normal(seed + 1, *out.shape)).sum().backward()
        gradients = {name: parameter.grad for name, parameter in layer.named_parameters()}
        used = {name: grad for name, grad in gradients.items() if grad is not None and grad.abs().sum() > 0}
        results["+".join(branches)] = [out, layer(torch.cat([single, -single])), used]
    return results


@experiment
@compare(rtol=1e-4, atol=2e-5)
def case_training(seed):
    """Train a decoder on the copy task: losses, and what it gives on another batch and on packed sequences.

    The model runs in float64; `nsa` computes in float32 or better.
    """
    task = CopyTask(symbols=12, pattern_length=8, noise_length=20)
    sizes = {"dim": 16, "heads": 4, "kv_heads": 2, "head_dim": 8, "block_size": 4, "window_size": 3, "hidden": 12}
    config = NativeConfig(**sizes, compressed_size=4, stride=2)
    model = build_model(task.symbols, task.length, config, seed).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.15 * normal(100 * seed + number, *parameter.shape))
    losses = list(fit(model, task, 10, 8, 3e-3, seed + 1))
    tokens, _ = task.sample(4, torch.Generator().manual_seed(seed + 2))
    packed, borders = pack([tokens[0], tokens[1, :9], tokens[2, 9:]])
    with torch.no_grad():
        return {"losses": losses, "logits": model(tokens), "packed": model(packed, borders)}
