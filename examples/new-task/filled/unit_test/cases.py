"""Labelled inputs for nucleus-filter."""

import torch
from decoding import nucleus_filter
from generate import continue_text
from lmrbench_cases import core
from model import BigramModel


def random_logits(seed, rows, tokens, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(rows, tokens, generator=generator, dtype=dtype)


@core
def case_values_of_the_demo(seed):
    """The nucleus grows with top_p, and differs from row to row."""
    return {str(top_p): nucleus_filter(random_logits(seed, 6, 20), top_p) for top_p in (0.3, 0.6, 0.9, 0.95)}


@core
def case_one_token_is_enough(seed):
    """A row whose first token has more than top_p by itself, beside rows that need many."""
    logits = random_logits(seed, 3, 12)
    logits[0, 5] += 12
    return nucleus_filter(logits, 0.8)


@core
def case_the_token_that_crosses_stays(seed):
    """Probabilities of 0.4, 0.3, 0.2 and 0.1, in each row in another order: 0.65 takes two tokens, 0.75 three."""
    generator = torch.Generator().manual_seed(seed)
    orders = torch.stack([torch.randperm(4, generator=generator) for _ in range(3)])
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()[orders]
    return [nucleus_filter(logits + seed, top_p) for top_p in (0.35, 0.65, 0.75, 0.95)]


@core
def case_text_of_the_model(seed):
    """The repository's own loop: tokens and perplexity."""
    text = "the nucleus holds the mass and the tail holds the rest"
    model = BigramModel(text[seed:] + text, 0.05 + 0.01 * seed)
    tokens, perplexity = continue_text(model, "t", 0.7, length=12)
    return {"tokens": tokens, "perplexity": perplexity}


def case_everything_stays_at_one(seed):
    logits = random_logits(seed, 4, 9, torch.float64)
    return nucleus_filter(logits, 1.0)


def case_impossible_tokens(seed):
    logits = random_logits(seed, 4, 9)
    logits[:, ::3] = float("-inf")
    return [nucleus_filter(logits, top_p) for top_p in (0.5, 1.0)]


def case_tiny_nucleus(seed):
    """So small that every sum of probabilities is larger: the most likely token stays."""
    return nucleus_filter(random_logits(seed, 5, 9), 1e-9)


def case_empty_batch(seed):
    return nucleus_filter(torch.empty(0, 7), 0.9)


def case_input_stays(seed):
    logits = random_logits(seed, 2, 6)
    result = nucleus_filter(logits, 0.7)
    return {"result": result, "logits": logits}
