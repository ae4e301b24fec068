"""Labelled inputs for context-aware-decoding-method: each function that is written, and the toy model with all.

Distributions are compared as numbers. Drawn tokens are compared at tiny temperatures, or by frequency.
"""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import torch
from cad.conflicts import SOURCES, all_texts, load_conflicts
from cad.decoding import (
    ContextAwareLM,
    context_aware_sampling,
    contrast,
    next_token_distribution,
    prior_input,
    sample,
)
from cad.filters import top_p_filter
from cad.metrics import exact_match, rouge_l
from cad.prefix import join_context
from cad.scoring import answer_log_probs, pointwise_information
from cad.swap import swap_entity
from cad.tokenizer import WordTokenizer
from cad.toy_lm import LMConfig, LMOutput, ToyLM
from lmrbench_cases import compare, experiment, goal
from torch import Tensor, nn

VOCABULARY = 24


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def integers(seed: int, low: int, high: int, *shape: int) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


class RecencyLM(nn.Module):
    """Logits depend on every token before, its distance and the position, so that no detail goes unseen."""

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.dtype = dtype
        self.token_effect = normal(seed, VOCABULARY, VOCABULARY)
        self.position_effect = 2 * normal(seed + 50, 256, VOCABULARY)

    def forward(self, input_ids: Tensor) -> LMOutput:
        length = input_ids.shape[-1]
        distance = (torch.arange(length)[:, None] - torch.arange(length)).double()
        logits = (0.9**distance).tril() @ self.token_effect[input_ids] + self.position_effect[:length]
        return LMOutput(logits.to(self.dtype))


class FixedLM(nn.Module):
    """The same logits at every step."""

    def __init__(self, row: Tensor) -> None:
        super().__init__()
        self.row = row

    def forward(self, input_ids: Tensor) -> LMOutput:
        return LMOutput(self.row.expand(1, input_ids.shape[-1], -1).clone())


def tokenizer_with(eos_token_id: int) -> SimpleNamespace:
    return SimpleNamespace(bos_token_id=1, pad_token_id=0, eos_token_id=eos_token_id)


def random_prompt(seed: int, context_length: int) -> tuple[Tensor, Tensor]:
    """Prompt with a query of four tokens, and its context."""
    query, context = integers(seed, 2, VOCABULARY, 1, 4), integers(seed + 1, 2, VOCABULARY, 1, context_length)
    return torch.cat([context, query], dim=-1), context


# --- the adjusted distribution ----------------------------------------------------------------------------------------


@goal("prior_input")
@compare(exact=True)
def case_prior_input(seed):
    """Contexts of several lengths, with and without tokens of a response."""
    sequences = [(integers(10 * seed + n, 2, 90, 1, n + 3 + seed % 9), n) for n in (1, 2, 5, 20)]
    return [prior_input(sequence, length).clone() for sequence, length in sequences]


@goal("contrast")
@compare(rtol=1e-6, atol=1e-9)
def case_contrast(seed):
    """The distribution behind the result, for strengths of both signs, large and small."""
    results = {}
    for alpha in (-1.0, -0.3, 0.0, 0.5, 1.0, 2.5):
        pairs = [
            (normal(seed, 9), normal(seed + 7, 9)),
            (3 * normal(seed + 1, 2, 4, 11), 2 * normal(seed + 8, 2, 4, 11)),
        ]
        results[f"{alpha}"] = [contrast(*pair, alpha).softmax(dim=-1) for pair in pairs]
    return results


@goal("ContextAwareLM.__call__", "prior_input", "contrast")
@compare(rtol=1e-5, atol=1e-7)
def case_context_aware_lm(seed):
    """The next token's distribution after prompts and responses, with several contexts and precisions."""
    results = {}
    for context_length in (1, 3, 8):
        for alpha in (0.0, 0.5, 1.3):
            sequence = torch.cat(
                [random_prompt(seed, context_length)[0], integers(seed + 2, 2, 24, 1, seed % 9 + 1)], dim=-1
            )
            logits = ContextAwareLM(RecencyLM(seed), context_length, alpha)(sequence).logits
            results[f"{context_length}, {alpha}"] = [list(logits.shape), logits.softmax(dim=-1)]
    logits = ContextAwareLM(RecencyLM(seed, torch.float32), 3, 0.7)(random_prompt(seed, 3)[0]).logits
    return results | {"float32": [str(logits.dtype), logits.double().softmax(dim=-1)]}


@goal("top_p_filter")
@compare(rtol=1e-6, atol=1e-9)
def case_top_p_filter(seed):
    """Flat and sharp logits; small and large p, no sum of probabilities is close to one."""
    results = {}
    for number, scale in enumerate((0.1, 0.7, 2.0, 6.0)):
        logits = scale * normal(20 * seed + number, 17)
        sums = [0.0, *logits.softmax(0).sort(descending=True).values.cumsum(0).tolist()]
        # Halfway between two of the sums, where rounding decides nothing; and the usual setting.
        middles = [(low + high) / 2 for low, high in pairwise(sums) if high - low > 1e-6]
        results[f"{scale}"] = [top_p_filter(logits.clone(), p) for p in (*middles, 0.9)]
    return results


@goal("next_token_distribution", "top_p_filter")
@compare(rtol=1e-5, atol=1e-8)
def case_next_token_distribution(seed):
    """Temperatures below and above one, with and without a filter."""
    model, sequence = RecencyLM(seed), random_prompt(seed, 3)[0]
    results = {}
    for temperature in (0.3, 1.0, 2.0, 7.0):
        for top_p in (0.35, 0.8, 0.95, 1.0):
            distribution = next_token_distribution(model, sequence, temperature, top_p)
            results[f"{temperature}, {top_p}"] = distribution
    return results


# --- sampling ---------------------------------------------------------------------------------------------------------


@goal("sample", "next_token_distribution")
@compare(exact=True)
def case_sample_greedily(seed):
    """Length limits, and each token as the end token: some come up early, some late, most never."""
    prompt, _ = random_prompt(seed, 2)
    results = [sample(RecencyLM(seed), tokenizer_with(-1), prompt, limit, 1e-14) for limit in (1, 2, 5, 14)]
    ends = sorted(set(range(1, VOCABULARY)) - set(prompt[0].tolist()))
    results += [sample(RecencyLM(seed), tokenizer_with(end), prompt, 10, 1e-14) for end in ends]
    return [*results, prompt.clone()]


@goal("sample", "next_token_distribution", "top_p_filter")
@compare(checker="total_variation", atol=0.08)
def case_sample_law(seed):
    """Frequencies of the drawn tokens; one filter removes more than half of the mass, and less if it comes first."""
    results = []
    for number, (temperature, top_p) in enumerate(((1.0, 1.0), (0.5, 1.0), (8.0, 0.4), (1.0, 0.8))):
        row = torch.tensor([2.0, -0.5, 0.9, -1.2, 1.5], dtype=torch.float64)
        order = torch.randperm(5, generator=torch.Generator().manual_seed(3 * seed + number))
        output = sample(FixedLM(row[order]), tokenizer_with(-1), torch.tensor([[1]]), 2000, temperature, top_p)
        results.append(torch.bincount(output[0, 1:], minlength=5) / 2000)
    return results


@goal("context_aware_sampling", "sample", "ContextAwareLM.__call__")
@compare(exact=True)
def case_context_aware_sampling(seed):
    """Strengths of the contrast, contexts of several lengths, length limits and end tokens; greedy."""
    results = []
    for length, alpha, limit in ((6, 0.0, 10), (6, 0.5, 10), (6, 1.0, 3), (1, 1.0, 8), (12, 2.5, 8)):
        prompt, context = random_prompt(seed, length)
        results.append(context_aware_sampling(RecencyLM(seed), tokenizer_with(-1), prompt, context, alpha, limit))
    prompt, context = random_prompt(seed, 6)
    ends = sorted(set(range(1, VOCABULARY)) - set(prompt[0].tolist()))
    options = {"alpha": 1.0, "max_length": 10}
    results += [context_aware_sampling(RecencyLM(seed), tokenizer_with(e), prompt, context, **options) for e in ends]
    return results


# --- what the experiments need ----------------------------------------------------------------------------------------


@goal("answer_log_probs")
@compare(rtol=1e-6, atol=1e-9)
def case_answer_log_probs(seed):
    """Answers of one token or more, likely and unlikely ones."""
    prompt, _ = random_prompt(seed, 3)
    answers = [integers(seed + n, 0, VOCABULARY, 1, n) for n in (1, 2, 5, 9)]
    return [answer_log_probs(RecencyLM(seed), prompt, answer) for answer in answers]


@goal("pointwise_information", "answer_log_probs")
@compare(rtol=1e-6, atol=1e-9)
def case_pointwise_information(seed):
    """Contexts and answers of several lengths."""
    results = []
    for length, answer_length in ((1, 1), (4, 3), (9, 6)):
        prompt, context = random_prompt(seed, length)
        answer = integers(seed + 5, 0, VOCABULARY, 1, answer_length)
        results.append(pointwise_information(RecencyLM(seed), context, prompt[:, length:], answer))
    return results


def shuffled(seed: int, words: str) -> list[str]:
    order = torch.randperm(len(words.split()), generator=torch.Generator().manual_seed(seed)).tolist()
    return [words.split()[k] for k in order]


@goal("exact_match")
@compare(exact=True)
def case_exact_match(seed):
    """Answers that differ in case, punctuation, articles, order or words, in an order that the seed decides."""
    pairs = [
        ("The Beatles", "beatles"),
        ("New York.", "new york"),
        ("york new", "new york"),
        ("new york city", "new york"),
        ("york", "new york"),
        ("an Anchor", "the anchor!"),
        ("anchors", "anchor"),
        ("St. John's", "st johns"),
        ("anthem", "them"),
        ("  a   b c", "b  c"),
        ("Jean-Paul", "jeanpaul"),
        ("theatre", "atre"),
        ("peru", "peru"),
        ("lima", "peru"),
        ("", "peru"),
        ("in 1984", "in 1985"),
    ]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()
    return [exact_match(*pairs[k]) for k in order] + [exact_match(*pairs[k][::-1]) for k in order]


@goal("rouge_l")
@compare(rtol=1e-6, atol=1e-9)
def case_rouge_l(seed):
    """Subsequences with and without gaps, repeated words, several lengths, and texts without a common word."""
    text = "the river rose in the night and the town by the river was under water before the morning came"
    results = []
    for number in range(8):
        kept = [word for k, word in enumerate(text.split()) if normal(100 * seed + number, 19)[k] > -0.5]
        mixed = shuffled(seed + number, text)
        pairs = ((" ".join(kept), text), (" ".join(mixed[: 8 + number]), text), (" ".join(kept), " ".join(mixed)))
        results += [rouge_l(*pair) for pair in pairs]
    return [*results, rouge_l("The Town came", "the town CAME"), rouge_l("snow fell", text), rouge_l("", text)]


@goal("swap_entity")
@compare(exact=True)
def case_swap_entity(seed):
    """Entities of one word and of several, that occur once, often, in parts or not at all."""
    results = []
    for number in range(6):
        filler = shuffled(10 * seed + number, "mexico city new is said to lie near york and peru . the capital")
        for entity, substitute in (("mexico city", "lima"), ("peru", "buenos aires"), ("new york", "new new york")):
            text = " ".join([*filler[:5], entity, *filler[5:9], entity, entity, *filler[9:]])
            results.append(swap_entity(text, entity, substitute))
            results.append(swap_entity(" ".join(filler), entity, substitute))
    return results


@experiment
@compare(rtol=1e-5, atol=1e-7)
def case_toy_model(seed):
    """The toy model in float64: swap entities, then decode and score under several strengths of the contrast."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    conflicts = load_conflicts(Path("data/conflicts.jsonl"))
    tokenizer = WordTokenizer(all_texts(conflicts))
    model = ToyLM(LMConfig(vocab_size=len(tokenizer), width=32, heads=2, layers=1)).double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.2 * normal(100 * seed + number, *parameter.shape))
    results = []
    for number, fact in enumerate(conflicts[seed % 3 * 5 : seed % 3 * 5 + 5]):
        source = list(SOURCES)[number % len(SOURCES)]
        text = swap_entity(fact.context(source, fact.memory), fact.memory, fact.counterfactual)
        context, query = tokenizer.encode(text), tokenizer.encode(fact.query)
        prompt, answer = join_context(context, query), tokenizer.encode(fact.counterfactual, add_bos=False)
        row = [pointwise_information(model, context, query, answer)]
        for alpha in (0.0, 0.5, 1.5):
            adjusted = ContextAwareLM(model, context.shape[-1], alpha)
            output = context_aware_sampling(model, tokenizer, prompt, context, alpha, max_length=6)
            words = tokenizer.decode(output[0, prompt.shape[-1] :])
            row.append(next_token_distribution(adjusted, output, 0.8, 0.9))
            row.append(answer_log_probs(adjusted, prompt, answer))
            row.append([words, exact_match(words, fact.counterfactual), rouge_l(words, text)])
        results.append(row)
    return results
