# einsum, sums over selected tokens, and weights with the extra key split off.
import torch


def attention_weights(query, key):
    logits = torch.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    return torch.exp(logits - logits.logsumexp(dim=-1, keepdim=True))


def split_output(weights, value, tokens):
    others = [token for token in range(value.shape[-2]) if token not in set(tokens)]
    return tuple(weights[..., chosen] @ value[..., chosen, :] for chosen in (list(tokens), others))


def biased_attention(query, key, value, extra_key, extra_value):
    scale = query.shape[-1] ** 0.5
    logits = query @ key.mT / scale
    extra = (query * extra_key[:, None]).sum(-1, keepdim=True) / scale
    total = torch.logaddexp(logits.logsumexp(-1, keepdim=True), extra)
    return (logits - total).exp() @ value + (extra - total).exp() * extra_value[:, None]
