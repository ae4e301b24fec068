"""Layout of a prompt: context ids first, query ids after, and any new tokens last. Batch size is always 1."""

import torch


def join_context(context_ids: torch.Tensor, query_ids: torch.Tensor) -> torch.Tensor:
    """Concatenate context (1, Lc) and query (1, Lq) to a prompt (1, Lc + Lq).

    Both are tokenized separately, each with a begin token of its own, so that the query alone is a complete prompt.
    """
    return torch.cat([context_ids, query_ids], dim=-1)


def check_prefix(input_ids: torch.Tensor, context_ids: torch.Tensor) -> None:
    """Raise ValueError unless `input_ids` is one prompt that consists of `context_ids` and a non-empty query.

    Args:
        input_ids: LongTensor (1, Lc + Lq).
        context_ids: LongTensor (1, Lc); Lc may be 0.
    """
    for name, ids in (("input_ids", input_ids), ("context_ids", context_ids)):
        if ids.ndim != 2 or ids.shape[0] != 1:
            raise ValueError(f"{name} must have shape (1, length), not {tuple(ids.shape)}")
    context_length = context_ids.shape[-1]
    if context_length >= input_ids.shape[-1]:
        raise ValueError("no query token is left after the context")
    if not torch.equal(input_ids[:, :context_length], context_ids):
        raise ValueError("input_ids does not start with context_ids")


def new_tokens(output_ids: torch.Tensor, input_ids: torch.Tensor) -> torch.Tensor:
    """Return the tokens (new,) that generation appended to the prompt `input_ids` (1, L)."""
    return output_ids[0, input_ids.shape[-1] :]
