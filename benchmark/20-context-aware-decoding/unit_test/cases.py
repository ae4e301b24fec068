"""Labelled inputs for context-aware-sampling.

Where the temperature is tiny, tokens are compared exactly. Where the draw is truly random, frequencies of 2,000 draws
are compared by total variation: two correct samplers are about 0.025 apart, and more than 0.08 less than once in
100,000 runs.
"""

from pathlib import Path
from types import SimpleNamespace

import torch
from cad.conflicts import SOURCES, all_texts, load_conflicts
from cad.decoding import context_aware_sampling
from cad.prefix import join_context
from cad.tokenizer import WordTokenizer
from cad.toy_lm import LMConfig, LMOutput, ToyLM
from lmrbench_cases import compare, core, outcome
from torch import Tensor, nn

CONTEXT, DRAWS = 60, 2000


class RecencyLM(nn.Module):
    """Logits depend on every token before, its distance and the position, so that no detail goes unseen."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.token_effect = torch.randn(24, 24, generator=generator, dtype=torch.float64)
        self.position_effect = 2 * torch.randn(256, 24, generator=generator, dtype=torch.float64)
        self.gradient_modes: list[bool] = []

    def forward(self, input_ids: Tensor) -> LMOutput:
        self.gradient_modes.append(torch.is_grad_enabled())
        length = input_ids.shape[-1]
        distance = (torch.arange(length)[:, None] - torch.arange(length)).double()
        logits = (0.9**distance).tril() @ self.token_effect[input_ids] + self.position_effect[:length]
        return LMOutput(logits.float())


class FixedLM(nn.Module):
    """The same logits at every step, some with the context in sight and others without."""

    def __init__(self, with_context: Tensor, without_context: Tensor) -> None:
        super().__init__()
        self.with_context, self.without_context = with_context, without_context

    def forward(self, input_ids: Tensor) -> LMOutput:
        row = self.with_context if CONTEXT in input_ids else self.without_context
        return LMOutput(row.expand(1, input_ids.shape[-1], -1).clone())


def tokenizer_with(eos_token_id: int) -> SimpleNamespace:
    return SimpleNamespace(bos_token_id=1, pad_token_id=9, eos_token_id=eos_token_id)


def random_prompt(seed: int, context_length: int) -> tuple[Tensor, Tensor]:
    """Prompt with a query of four tokens, and its context; the query depends on the seed only."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randint(2, 24, (1, 4), generator=generator)
    context = torch.randint(2, 24, (1, context_length), generator=generator)
    return torch.cat([context, query], dim=-1), context


def continued(seed: int, context_length: int, eos: int = -1, **options) -> Tensor:
    prompt, context = random_prompt(seed, context_length)
    return context_aware_sampling(RecencyLM(seed), tokenizer_with(eos), prompt, context, **options)


def drawn(seed: int, with_context: list[float], without_context: list[float], eos: int = -1, **options) -> Tensor:
    """New tokens of a model with fixed logits; their order depends on the seed."""
    order = torch.randperm(len(with_context), generator=torch.Generator().manual_seed(seed))
    dtype = options.pop("dtype", torch.float32)
    model = FixedLM(*(torch.tensor(row, dtype=dtype)[order] for row in (with_context, without_context)))
    prompt, context = torch.tensor([[CONTEXT] * 3 + [51, 52, 50]]), torch.full((1, 3), CONTEXT)
    return context_aware_sampling(model, tokenizer_with(eos), prompt, context, **options)[0, 6:]


def frequencies(*arguments, **options) -> Tensor:
    return torch.bincount(drawn(*arguments, max_length=DRAWS, **options), minlength=5) / DRAWS


@core
@compare(exact=True)
def case_toy_transformer(seed):
    """The repository's own model and tokenizer, with the paper's contrast strengths."""
    torch.manual_seed(seed)
    conflicts = load_conflicts(Path("data/conflicts.jsonl"))
    tokenizer = WordTokenizer(all_texts(conflicts))
    model = ToyLM(LMConfig(vocab_size=len(tokenizer), width=32)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    fact = conflicts[seed % len(conflicts)]
    context = tokenizer.encode(fact.context(list(SOURCES)[seed % 3], fact.counterfactual))
    prompt = join_context(context, tokenizer.encode(fact.query))
    return [
        context_aware_sampling(model, tokenizer, prompt, context, alpha, max_length=12) for alpha in (0.0, 0.5, 1.0)
    ]


@core
@compare(exact=True)
def case_greedy_over_alphas(seed):
    """The default temperature, and the contrast strengths of README.md, a larger one and the default one."""
    outputs = [continued(seed, 6, alpha=alpha, max_length=12) for alpha in (-1.0, 0.0, 0.25, 0.5, 1.0, 2.5)]
    return [*outputs, continued(seed, 6, max_length=12)]


@core
@compare(exact=True)
def case_context_lengths(seed):
    """One query under contexts of 1, 5 and 20 tokens."""
    return [continued(seed, length, alpha=1.0, max_length=8) for length in (1, 5, 20)]


@core
@compare(exact=True)
def case_length_limits(seed):
    """1 and 3 new tokens, and as many as the default allows, after a prompt of 12 tokens."""
    return [continued(seed, 8, max_length=1), continued(seed, 8, max_length=3), continued(seed, 8)]


@core
@compare(exact=True)
def case_end_tokens(seed):
    """Every token that the prompt does not hold as the end token: some come up early, some late, most never."""
    candidates = sorted(set(range(1, 24)) - set(random_prompt(seed, 6)[0][0].tolist()))
    return [continued(seed, 6, eos, alpha=1.0, max_length=12) for eos in candidates]


@core
@compare(checker="total_variation", atol=0.08)
def case_law_at_temperature_one(seed):
    """Frequencies of the drawn tokens without contrast and with it; every token can be reached."""
    logits = [2.0, -0.4, 0.8, -0.2, 1.6], [3.6, -1.4, -0.6, -0.4, 2.0]
    shares = [frequencies(seed, *logits, alpha=alpha, temperature=1.0) for alpha in (0.0, 1.5)]
    return {"frequencies": shares, "reached": [(share > 0).tolist() for share in shares]}


@core
@compare(checker="total_variation", atol=0.08)
def case_law_at_other_temperatures(seed):
    """Frequencies at temperatures below and above one, each with an order of its own."""
    logits = [-0.5, -1.5, 1.0, -1.0, -0.5], [3.0, -2.0, 3.5, -0.5, 2.5]
    temperatures = 0.4, 0.5, 0.6, 3.0
    return [frequencies(4 * seed + i, *logits, alpha=0.5, temperature=t) for i, t in enumerate(temperatures)]


@compare(checker="total_variation", atol=0.08)
def case_tied_tokens(seed):
    """Three tokens tie exactly for the maximum at the default temperature."""
    return frequencies(seed, [1.0, 1.0, 1.0, 0.5, 1.25], [0.5, 0.5, 0.5, 1.5, 3.0], alpha=1.0)


@compare(exact=True)
def case_end_token_by_chance(seed):
    """The end token, whose id is 0 or 1, ends the generation whenever it is drawn, be it the most likely one or not."""
    options = {"eos": seed % 2, "alpha": 1.0, "max_length": 400, "temperature": 1.0}
    lists = [drawn(seed, [gap, 0.0], [0.0, 0.0], **options).tolist() for gap in [-1.0, 1.0] * 20]
    return [(tokens[-1], tokens.count(seed % 2)) for tokens in lists]


@compare(exact=True)
def case_end_token_in_prompt(seed):
    """End tokens in the context, in the query and as the prompt's last token do not stop the generation."""
    prompt = random_prompt(seed, 5)[0]
    return [continued(seed, 5, eos, max_length=6) for eos in prompt[0, [1, 6, 8]].tolist()]


@compare(exact=True)
def case_empty_context_and_nothing_new(seed):
    """No context at all; no new tokens, where the output is a copy."""
    prompt, context = random_prompt(seed, 5)
    copy = context_aware_sampling(RecencyLM(seed), tokenizer_with(-1), prompt, context, max_length=0)
    prompt.zero_()
    return copy, continued(seed, 0, max_length=6)


@compare(exact=True)
def case_large_logits(seed):
    """Logits of up to 1000 in size, at the default temperature and at 1: some tokens have no chance."""
    full, prior = [-1000.0, -900.0, -1000.0, -700.0, -950.0], [0.0, 900.0, 1000.0, 1000.0, 0.0]
    trials = enumerate((1e-14, 1.0, 1e-14, 1.0))
    return [drawn(4 * seed + i, full, prior, alpha=1.0, max_length=3, temperature=t) for i, t in trials]


@compare(exact=True)
def case_half_precision_logits(seed):
    """float16 and bfloat16 logits whose combination half precision rounds to another order."""
    outputs = []
    for dtype, unit in ((torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)):
        # In units above 1.75. At 1.3, the first token leads by 0.6, and trails if the product with alpha is rounded.
        for alpha, *counts in ((0.5, [6, 10, 2], [0, 13, 0]), (1.3, [0, 2, 0], [3, 7, 8])):
            rows = [[*(1.75 + count * unit for count in row), 0.0] for row in counts]
            outputs.append(drawn(4 * seed + len(outputs), *rows, dtype=dtype, alpha=alpha, max_length=2))
    return outputs


@compare(exact=True)
def case_no_side_effects(seed):
    """Inputs, the model's mode and the global gradient mode stay; no pass tracks gradients."""
    facts = []
    for training in (True, False):
        model = RecencyLM(seed).train(training)
        prompt, context = random_prompt(seed, 6)
        context_aware_sampling(model, tokenizer_with(-1), prompt, context, max_length=3)
        facts.append((prompt, context, model.training, torch.is_grad_enabled(), any(model.gradient_modes)))
    return facts


@compare(exact=True)
def case_invalid_arguments(seed):
    """Prompts that fail the check, and temperatures that are not positive; `max_length` varies with the seed."""
    prompt, context = random_prompt(seed, 3)
    attempts = [(context, context, 1.0), (prompt, context + 1, 1.0), (prompt, context, 0.0), (prompt, context, -1.0)]
    results = [continued(seed, 3, max_length=2)]
    for *ids, heat in attempts:
        arguments = (RecencyLM(seed), tokenizer_with(-1), *ids, 0.9, seed % 3, heat)
        results.append(outcome(context_aware_sampling, *arguments, errors=ValueError))
    return results
