"""Labelled inputs for context-aware-sampling.

Where the temperature is tiny, or one token is certain, tokens are compared exactly. Where the draw is truly random,
frequencies of 1,500 draws are compared by total variation: two correct samplers are about 0.03 apart, and more than 0.1
less than once in 100,000 runs. Each mistake of interest is off by 0.2 or more in some of the settings.
"""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from cad.conflicts import all_texts, load_conflicts
from cad.decoding import context_aware_sampling
from cad.prefix import join_context
from cad.tokenizer import WordTokenizer
from cad.toy_lm import LMConfig, LMOutput, ToyLM
from lmrbench_cases import compare, outcome
from torch import Tensor

#: Prompt tokens of `ScriptedLM`, outside its vocabulary of next tokens.
CONTEXT, ASK = 60, 50
DRAWS = 1500


def tokenizer_with(eos_token_id: int) -> SimpleNamespace:
    return SimpleNamespace(bos_token_id=1, pad_token_id=9, eos_token_id=eos_token_id)


class RecencyLM:
    """Logits that depend on every token before, on its distance and on the position, so that no detail goes unseen."""

    def __init__(self, seed: int, vocab_size: int = 24, banned: int | None = None) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.token_effect = torch.randn(vocab_size, vocab_size, generator=generator, dtype=torch.float64)
        self.position_effect = 2 * torch.randn(256, vocab_size, generator=generator, dtype=torch.float64)
        self.banned = banned

    def __call__(self, input_ids: Tensor) -> LMOutput:
        length = input_ids.shape[-1]
        distance = (torch.arange(length)[:, None] - torch.arange(length)).double()
        logits = (0.9**distance).tril() @ self.token_effect[input_ids] + self.position_effect[:length]
        if self.banned is not None:
            logits[..., self.banned] = -100.0
        return LMOutput(logits.float())


class RecordingLM(RecencyLM):
    """Also records each input, and whether gradients were tracked."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.inputs: list[list[list[int]]] = []
        self.gradient_modes: set[bool] = set()

    def __call__(self, input_ids: Tensor) -> LMOutput:
        self.inputs.append(input_ids.tolist())
        self.gradient_modes.add(torch.is_grad_enabled())
        return super().__call__(input_ids)


class ScriptedLM:
    """Fixed logits for each step, one row with the context in sight and another without; the last row repeats.

    Only the last position tells the truth: all earlier ones favour `decoy`.
    """

    def __init__(self, with_context: Tensor, without_context: Tensor, decoy: int = 0) -> None:
        self.with_context, self.without_context, self.decoy = with_context, without_context, decoy

    def __call__(self, input_ids: Tensor) -> LMOutput:
        start = input_ids[0, :6].tolist()  # all of the longest prompt
        rows = self.with_context if CONTEXT in start else self.without_context
        step = input_ids.shape[-1] - 1 - start.index(ASK) if ASK in start else 0
        logits = rows.new_zeros(1, input_ids.shape[-1], rows.shape[-1])
        logits[..., self.decoy] = 100
        logits[0, -1] = rows[min(step, len(rows) - 1)]
        return LMOutput(logits)


def random_prompt(seed: int, context_length: int, query_length: int = 4, vocab_size: int = 24) -> tuple[Tensor, Tensor]:
    """Prompt and context; the query depends on the seed only, not on the context's length."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randint(2, vocab_size, (1, query_length), generator=generator)
    context = torch.randint(2, vocab_size, (1, context_length), generator=generator)
    return torch.cat([context, query], dim=-1), context


def scripted_prompt() -> tuple[Tensor, Tensor]:
    """Prompt of six tokens for `ScriptedLM`, and its context."""
    return torch.tensor([[CONTEXT] * 3 + [51, 52, ASK]]), torch.tensor([[CONTEXT] * 3])


def frequencies(output: Tensor, prompt: Tensor, vocab_size: int) -> Tensor:
    """Share of each token among the draws; sums to less than 1 if there were fewer than asked for."""
    return torch.bincount(output[0, prompt.shape[-1] :], minlength=vocab_size) / DRAWS


def run_scripted(
    with_context: list[list[float]], without_context: list[list[float]], eos_token_id: int, **options: Any
) -> Tensor:
    model = ScriptedLM(torch.tensor(with_context), torch.tensor(without_context), options.pop("decoy", 0))
    return context_aware_sampling(model, tokenizer_with(eos_token_id), *scripted_prompt(), **options)


@compare(exact=True)
def case_greedy_over_alphas(seed):
    """The default temperature, contrast strengths of either sign, and the default one."""
    model, tokenizer = RecencyLM(seed), tokenizer_with(-1)
    prompt, context = random_prompt(seed, context_length=6)
    outputs = {
        str(alpha): context_aware_sampling(model, tokenizer, prompt, context, alpha=alpha, max_length=12)
        for alpha in (-1.0, -0.5, 0.0, 0.5, 0.8, 1.0, 1.5, 4.0)
    }
    outputs["default"] = context_aware_sampling(model, tokenizer, prompt, context, max_length=12)
    return outputs


@compare(exact=True)
def case_default_arguments(seed):
    """All defaults, until 128 new tokens are there."""
    prompt, context = random_prompt(seed, context_length=9)
    return context_aware_sampling(RecencyLM(seed), tokenizer_with(-1), prompt, context)


@compare(exact=True)
def case_context_lengths(seed):
    """One query under contexts of 0, 1, 5 and 20 tokens, and under a context that equals the query."""
    model, tokenizer = RecencyLM(seed), tokenizer_with(-1)
    prompts = [random_prompt(seed, context_length) for context_length in (0, 1, 5, 20)]
    query = prompts[0][0]
    prompts.append((torch.cat([query, query], dim=-1), query))
    return [
        context_aware_sampling(model, tokenizer, prompt, context, alpha=1.0, max_length=8)
        for prompt, context in prompts
    ]


@compare(exact=True)
def case_recorded_passes(seed):
    """What the model sees at each step, in any order of the two passes; a query of one token, a strided prompt."""
    recorded = {}
    for name, context_length, query_length in (("long", 5, 3), ("single", 1, 1), ("strided", 4, 2)):
        model = RecordingLM(seed)
        prompt, context = random_prompt(seed, context_length, query_length)
        if name == "strided":
            prompt, context = (ids.repeat_interleave(2, dim=-1)[:, ::2] for ids in (prompt, context))
        output = context_aware_sampling(model, tokenizer_with(-1), prompt, context, alpha=0.7, max_length=4)
        recorded[name] = {
            "inputs": sorted(model.inputs),
            "gradient_modes": model.gradient_modes,
            "output": output,
        }
    return recorded


@compare(exact=True)
def case_end_token_drawn(seed):
    """The end token comes at step 3, at the first step, and at the last step allowed; its id is 0 or the largest."""
    order = torch.randperm(4, generator=torch.Generator().manual_seed(seed)) + 1
    outputs = {}
    for eos, tokens in ((0, [*order.tolist()[:2], 0, 3, 4]), (5, [*order.tolist()[:2], 5, 1, 2]), (0, [0, 1, 2])):
        rows = torch.nn.functional.one_hot(torch.tensor(tokens), 6).float().tolist()
        flat = [[0.0] * 6]
        for max_length in (2, 3, 10):
            outputs[str((eos, len(tokens), max_length))] = run_scripted(rows, flat, eos, max_length=max_length, decoy=5)
    return outputs


@compare(exact=True)
def case_end_token_of_one_branch(seed):
    """The end token leads with the context, then without it, at last only in the contrast, which alone counts."""
    eos = (2, 3, 5)[seed % 3]
    places = [eos, *(token for token in range(6) if token != eos)]
    # Columns: end token, then the five others.
    with_context = [[3.0, 2.5, 0, 0, 0, 0], [0, 0, 2.0, 0, 0, 0], [2.8, 0, 0, 3.0, 0, 0], [0, 4.0, 0, 0, 0, 0]]
    without_context = [[3.0, 0, 0, 0, 0, 0], [3.0, 0, 0, 0, 0, 0], [0, 0, 0, 2.0, 3.0, 0], [0, 0, 0, 0, 0, 0]]
    scripts = []
    for script in (with_context, without_context):
        rows = torch.zeros(4, 6)
        rows[:, places] = torch.tensor(script)
        scripts.append(rows.tolist())
    return [run_scripted(*scripts, eos_token_id=eos, alpha=1.0, max_length=max_length) for max_length in (3, 6)]


@compare(exact=True)
def case_end_token_in_prompt(seed):
    """End tokens in the context, in the query and as the prompt's last token do not stop the generation."""
    eos = 7
    model, tokenizer = RecencyLM(seed, banned=eos), tokenizer_with(eos)
    outputs = []
    for positions in ([1], [6], [8], [0, 4, 5, 8]):
        prompt, context = random_prompt(seed, context_length=5)
        prompt[0, positions] = eos
        outputs.append(context_aware_sampling(model, tokenizer, prompt, prompt[:, :5].clone(), max_length=6))
    return outputs


@compare(exact=True)
def case_end_token_by_chance(seed):
    """The end token ends the generation whenever it is drawn, be it the most likely token or not."""
    eos = seed % 2
    prompt, context = scripted_prompt()
    outcomes = []
    for end_logit in (-1.0, 1.0):  # with the contrast, probabilities of 0.12 and 0.88
        row = torch.zeros(1, 2)
        row[0, eos] = end_logit
        model = ScriptedLM(row, torch.zeros(1, 2), decoy=1 - eos)
        for _ in range(20):
            output = context_aware_sampling(
                model, tokenizer_with(eos), prompt, context, alpha=1.0, max_length=400, temperature=1.0
            )
            drawn = output[0, prompt.shape[-1] :].tolist()
            outcomes.append({"last": drawn[-1], "end_tokens": drawn.count(eos)})
    return outcomes


@compare(exact=True)
def case_length_limits(seed):
    """0, 1 and 3 new tokens, with a longer prompt; wiping the prompt afterwards must not touch the output."""
    outputs = {}
    for max_length in (0, 1, 3):
        model = RecordingLM(seed)
        prompt, context = random_prompt(seed, context_length=8)
        output = context_aware_sampling(model, tokenizer_with(-1), prompt, context, alpha=0.5, max_length=max_length)
        prompt.zero_()
        outputs[str(max_length)] = {"output": output, "calls": len(model.inputs)}
    return outputs


@compare(checker="total_variation", atol=0.1)
def case_law_at_temperature_one(seed):
    """Frequencies and reachable tokens with and without contrast; another call must not repeat the draws."""
    prompt, context = scripted_prompt()
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    with_context = torch.tensor([[2.0, -0.4, 0.8, -0.2, 1.6]])[:, order]
    without_context = torch.tensor([[3.6, -1.4, -0.6, -0.4, 2.0]])[:, order]
    model, tokenizer = ScriptedLM(with_context, without_context), tokenizer_with(-1)
    outputs = [
        context_aware_sampling(model, tokenizer, prompt, context, alpha, max_length=DRAWS, temperature=1.0)
        for alpha in (0.0, 1.5)
    ]
    again = context_aware_sampling(model, tokenizer, prompt, context, 1.5, max_length=64, temperature=1.0)
    return {
        "frequencies": [frequencies(output, prompt, 5) for output in outputs],
        "drawn": [output[0, prompt.shape[-1] :].unique().tolist() for output in outputs],
        "repeated": torch.equal(again, outputs[-1][:, : again.shape[-1]]),
    }


@compare(checker="total_variation", atol=0.1)
def case_law_at_other_temperatures(seed):
    """Frequencies at temperatures below and above one."""
    prompt, context = scripted_prompt()
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    with_context = torch.tensor([[-0.5, -1.5, 1.0, -1.0, -0.5]])[:, order]
    without_context = torch.tensor([[3.0, -2.0, 3.5, -0.5, 2.5]])[:, order]
    model, tokenizer = ScriptedLM(with_context, without_context), tokenizer_with(-1)
    return [
        frequencies(
            context_aware_sampling(model, tokenizer, prompt, context, 0.5, max_length=DRAWS, temperature=temperature),
            prompt,
            5,
        )
        for temperature in (0.5, 3.0)
    ]


@compare(checker="total_variation", atol=0.1)
def case_tied_tokens(seed):
    """Three tokens tie exactly for the maximum at the default temperature: each comes up in a third of the draws."""
    prompt, context = scripted_prompt()
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    with_context = torch.tensor([[1.0, 1.0, 1.0, 0.5, 1.25]])[:, order]
    without_context = torch.tensor([[0.5, 0.5, 0.5, 1.5, 3.0]])[:, order]
    model, tokenizer = ScriptedLM(with_context, without_context), tokenizer_with(-1)
    output = context_aware_sampling(model, tokenizer, prompt, context, alpha=1.0, max_length=DRAWS)
    return frequencies(output, prompt, 5)


@compare(exact=True)
def case_narrow_margins(seed):
    """Margins of a thousandth decide at tiny temperatures, with another winner at each step."""
    generator = torch.Generator().manual_seed(seed)
    winners = torch.randint(5, (12,), generator=generator)
    with_context = 1 + torch.nn.functional.one_hot(winners, 5) / 1024
    without_context = torch.ones(12, 5)
    return {
        str(temperature): run_scripted(
            with_context.tolist(), without_context.tolist(), -1, alpha=0.5, max_length=12, temperature=temperature
        )
        for temperature in (1e-14, 1e-6)
    }


@compare(exact=True)
def case_large_logits(seed):
    """Logits of up to 1000 in size, at the default temperature and at 1: no overflow, no underflow."""
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed)).tolist()
    with_context = [[1000.0, 800.0, -1000.0, 0.0, 500.0], [-1000.0, -900.0, -1000.0, -700.0, -950.0]]
    without_context = [[1000.0, 200.0, -1000.0, 900.0, 400.0], [0.0, 900.0, 1000.0, 1000.0, 0.0]]
    scripts = [[[row[place] for place in order] for row in script] for script in (with_context, without_context)]
    return {
        str(temperature): run_scripted(*scripts, eos_token_id=-1, alpha=1.0, max_length=3, temperature=temperature)
        for temperature in (1e-14, 1.0)
    }


@compare(exact=True)
def case_half_precision_logits(seed):
    """float16 and bfloat16 logits whose combination half precision rounds to another order."""
    prompt, context = scripted_prompt()
    order = torch.randperm(4, generator=torch.Generator().manual_seed(seed))
    # Logits of three tokens in units above 1.75. At 0.5, their combination is 9, 8.5 and 3, and with half-precision
    # rounding 8, 10 and 3. At 1.3, the first leads by 0.6, and trails if the product with alpha is rounded.
    settings = {0.5: ([6, 10, 2], [0, 13, 0]), 1.3: ([0, 2, 0], [3, 7, 8])}
    outputs = {}
    for dtype, unit in ((torch.float16, 2.0**-10), (torch.bfloat16, 2.0**-7)):
        for alpha, scripts in settings.items():
            rows = [torch.tensor([[*(1.75 + count * unit for count in counts), 0.0]]) for counts in scripts]
            model = ScriptedLM(*(row[:, order].to(dtype) for row in rows))
            outputs[f"{dtype}, {alpha}"] = context_aware_sampling(
                model, tokenizer_with(-1), prompt, context, alpha=alpha, max_length=2
            )
    return outputs


@compare(exact=True)
def case_no_side_effects(seed):
    """Inputs, the model's mode and gradients, and the global gradient mode stay as they were, whichever it was."""
    torch.manual_seed(seed)
    model = ToyLM(LMConfig(vocab_size=24, width=16, layers=1))
    facts = []
    for training, gradients in itertools.product([True, False], repeat=2):
        model.train(training)
        prompt, context = random_prompt(seed, context_length=6)
        with torch.set_grad_enabled(gradients):
            output = context_aware_sampling(model, tokenizer_with(-1), prompt, context, max_length=3, temperature=1.0)
            gradients_after = torch.is_grad_enabled()
        facts.append(
            {
                "prompt": prompt,
                "context": context,
                "kept_prompt": output[:, : prompt.shape[-1]],
                "shape": tuple(output.shape),
                "requires_grad": output.requires_grad,
                "parameter_gradients": [parameter.grad is not None for parameter in model.parameters()],
                "modes": [module.training for module in model.modules()],
                "gradients_after": gradients_after,
            }
        )
    return facts


@compare(exact=True)
def case_invalid_arguments(seed):
    """Prompts that fail the check, and temperatures that are not positive, even when nothing would be generated."""
    model, tokenizer = RecencyLM(seed), tokenizer_with(-1)
    prompt, context = random_prompt(seed, context_length=3)
    other = context.clone()
    other[0, 1] += 1
    attempts = {
        "no query": (context, context, 1.0),
        "longer context": (context, prompt, 1.0),
        "other context": (prompt, other, 1.0),
        "two prompts": (prompt.repeat(2, 1), context.repeat(2, 1), 1.0),
        "flat prompt": (prompt[0], context[0], 1.0),
        "temperature 0": (prompt, context, 0.0),
        "negative temperature": (prompt, context, -1.0),
    }
    return {
        f"{name}, {max_length}": outcome(
            context_aware_sampling,
            model,
            tokenizer,
            ids,
            context_ids,
            max_length=max_length,
            temperature=temperature,
            errors=ValueError,
        )
        for (name, (ids, context_ids, temperature)), max_length in itertools.product(attempts.items(), (0, 2))
    }


@compare(exact=True)
def case_toy_transformer(seed):
    """The repository's own model and tokenizer: positions start anew once the context is cut."""
    torch.manual_seed(seed)
    conflicts = load_conflicts(Path("data/conflicts.jsonl"))
    tokenizer = WordTokenizer(all_texts(conflicts))
    model = ToyLM(LMConfig(vocab_size=len(tokenizer), width=32)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    fact = conflicts[seed % len(conflicts)]
    context = tokenizer.encode(fact.context("a newspaper reports that", fact.counterfactual))
    prompt = join_context(context, tokenizer.encode(fact.query))
    return [
        context_aware_sampling(model, tokenizer, prompt, context, alpha=alpha, max_length=12)
        for alpha in (0.0, 0.5, 2.0)
    ]
