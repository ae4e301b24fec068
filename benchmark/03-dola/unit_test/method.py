"""Labelled inputs for dola-method: each function through its public interface, and a short training run as experiment.

Models run in float64, so that no choice of a token or layer is decided by rounding.
"""

from pathlib import Path

import torch
from dola.buckets import bucket_scores, layer_buckets
from dola.decoding import DolaOutput, choose_premature_layer, contrast_scores, divergence, dola_greedy_decode
from dola.divergence_plot import divergence_table
from dola.filters import LogitsProcessorList, RepetitionPenalty, relative_top_filter
from dola.model import EarlyExitLM, GenerationConfig, LMConfig
from dola.scoring import Question, answer_log_probs, answer_score, quality
from dola.tokenizer import WordTokenizer
from dola.training import POPULAR, TrainConfig, all_texts, load_facts, train
from lmrbench_cases import compare, experiment, goal, outcome
from torch import Tensor


def normal(seed: int, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def integers(seed: int, low: int, high: int, *shape: int) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def model_of(seed: int, layers: int = 4, **defaults) -> EarlyExitLM:
    """The repository's model over 14 tokens, with weights large enough for layers to disagree."""
    torch.manual_seed(seed)
    config = LMConfig(vocab_size=14, width=16, layers=layers, heads=2, max_positions=48)
    model = EarlyExitLM(config, GenerationConfig(**defaults)).double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(normal(100 * seed + number, *parameter.shape, scale=0.25, dtype=torch.float64))
    return model


def padded_prompts(seed: int) -> tuple[Tensor, Tensor]:
    """Three prompts of four tokens, the first padded by two."""
    prompt = integers(seed, 3, 14, 3, 4)
    mask = torch.ones_like(prompt)
    prompt[0, :2], mask[0, :2] = 0, 0
    return prompt, mask


def chosen(output: DolaOutput) -> dict[int, int]:
    """The candidates that some step chose, with their counts."""
    return {layer: count for layer, count in sorted(output.premature_layer_dist.items()) if count}


@goal("divergence")
@compare(rtol=1e-3, atol=1e-5)
def case_divergence(seed):
    """Flat and sharp distributions, and several axes."""
    shapes = [(4, 20, 0.3), (4, 20, 1.0), (3, 50, 3.0), (9, 7, 6.0)]
    pairs = [(normal(seed, *shape, scale=s), normal(seed + 50, *shape, scale=2.0)) for *shape, s in shapes]
    pairs += [(normal(seed, 2, 3, 7), normal(seed + 9, 2, 3, 7)), (normal(seed, 9, scale=2.0), normal(seed + 9, 9))]
    return [divergence(*pair) for pair in pairs]


@goal("divergence")
@compare(rtol=1e-3, atol=1e-3)
def case_divergence_of_large_logits(seed):
    """Probabilities underflow, and the divergence stays finite."""
    return divergence(normal(seed, 5, 12, scale=80.0), normal(seed + 20, 5, 12, scale=60.0))


def clear_steps(seed: int, steps: int, batch: int) -> list[dict[int, Tensor]]:
    """Layers 0 to 5 at which several usual divergences, averaged over the rows, agree on the order by a margin."""
    found, number = [], 0
    while len(found) < steps:
        number += 1
        sharpness = 0.3 + 3.0 * torch.rand(6, batch, 1, generator=torch.Generator().manual_seed(1000 * seed + number))
        nearness = torch.rand(6, batch, 1, generator=torch.Generator().manual_seed(1000 * seed + number + 500_000))
        own = normal(1000 * seed + number, 6, batch, 11)
        logits = sharpness * (nearness * own[5:] + (1 - nearness) * own)
        log_q = logits.double().log_softmax(-1)
        q, early, late = log_q.exp(), log_q[:5], log_q[5:]
        log_m = ((q[:5] + q[5:]) / 2).log()
        distances = [
            (q[:5] * (early - log_m) + q[5:] * (late - log_m)).sum(-1),
            (log_m.exp() * (2 * log_m - early - late)).sum(-1),
            (q[:5].sqrt() - q[5:].sqrt()).square().sum(-1).sqrt(),
            (q[5:] * (late - early)).sum(-1),
        ]
        means = [distance.mean(-1) for distance in distances]
        best = means[0].argmax()
        rows = distances[0].argmax(0)
        margins = [mean.topk(2).values for mean in means]
        clear = all(mean.argmax() == best for mean in means) and all(top[1] < 0.93 * top[0] for top in margins)
        if clear and (batch == 1 or (rows != best).any()):
            found.append(dict(enumerate(logits)))
    return found


@goal("choose_premature_layer")
@compare(exact=True)
def case_choice_of_layer(seed):
    """Candidates in any order; rows of a batch that would choose differently."""
    single = [choose_premature_layer(step, 5, [3, 0, 4, 1, 2]) for step in clear_steps(seed, 10, 1)]
    batches = [choose_premature_layer(step, 5, [0, 1, 2, 3, 4]) for step in clear_steps(seed + 3, 12, 3)]
    return single, batches


@goal("choose_premature_layer", "divergence")
@compare(exact=True)
def case_choice_of_any_layer(seed):
    """Layers that are hard to tell apart, a mature layer between the candidates, and a single candidate."""
    results = []
    for number in range(24):
        layers = {
            layer: normal(500 * seed + 20 * number + layer, 3, 11, scale=1.0 + 0.3 * layer, dtype=torch.float64)
            for layer in range(7)
        }
        candidates = [[0, 2, 4], [5, 3, 1], [1, 2, 4, 5], [2]][number % 4]
        results.append(choose_premature_layer(layers, 6 if number % 3 else 3, [c for c in candidates if c != 3]))
    return results


@goal("contrast_scores")
@compare(rtol=1e-3, atol=1e-4)
def case_contrast_without_cut(seed):
    """No cut at all, and one that is too weak to cut anything."""
    late, early = normal(seed, 4, 25, scale=2.0), normal(seed + 7, 4, 25, scale=1.5)
    return [contrast_scores(late, early, strength) for strength in (0.0, -0.5, 1e-12)]


@goal("contrast_scores", "relative_top_filter")
@compare(rtol=1e-3, atol=1e-4)
def case_contrast(seed):
    """Strong and weak cuts."""
    late, early = normal(seed, 4, 25, scale=2.0), normal(seed + 7, 4, 25, scale=1.5)
    return [contrast_scores(late, early, strength) for strength in (0.02, 0.1, 0.5, 0.9)]


@goal("relative_top_filter")
@compare(rtol=1e-3, atol=1e-4)
def case_plausibility_filter(seed):
    """Strong and weak cuts of flat and sharp distributions; the logits stay as they are."""
    results = []
    for strength in (0.01, 0.1, 0.5, 0.95, 1.0):
        for scale in (0.5, 1.5, 4.0):
            logits = normal(seed + int(10 * scale), 5, 30, scale=scale)
            results.append((relative_top_filter(logits, strength), logits))
    return results


@goal("RepetitionPenalty.__call__")
@compare(rtol=1e-3, atol=1e-4)
def case_repetition_penalty(seed):
    """Tokens seen several times, scores of both signs and impossible ones; the arguments stay as they are."""
    ids = integers(seed, 0, 12, 3, 9)
    results = []
    for penalty in (1.0, 1.2, 2.5):
        scores = normal(seed + 1, 3, 12, scale=2.0).masked_fill(normal(seed + 2, 3, 12) > 1.0, -torch.inf)
        results.append((RepetitionPenalty(penalty)(ids, scores), scores, ids))
    return results


@goal("dola_greedy_decode")
@compare(rtol=1e-6, atol=1e-9)
def case_decoding_by_given_scores(seed):
    """The processor's scores decide: ends of rows, padding, limits and criteria, whatever the contrast is."""
    prompt, mask = padded_prompts(seed)
    table = normal(seed + 5, 20, 3, 14, dtype=torch.float64)
    results = []
    for options in (
        {"max_length": 9, "base_layer": 1},
        {"max_length": 5, "candidate_premature_layers": [0, 2]},
        {"max_length": 19, "base_layer": 0, "eos_token_id": int(table[6, 1].argmax()), "pad_token_id": 1},
        {"max_length": 19, "base_layer": 2, "eos_token_id": table[4:8, [0, 1, 2, 0]].argmax(-1).diag().tolist()},
        {"base_layer": 3, "eos_token_id": table[[5, 7, 9], [0, 1, 2]].argmax(-1).tolist(), "max_length": 15},
        {"base_layer": 1, "stopping_criteria": lambda ids, scores: ids.shape[-1] >= 8, "max_length": 12},
        {"base_layer": 1, "stopping_criteria": lambda ids, scores: scores[0, 0] < -1.0 or ids.shape[-1] >= 16},
    ):
        asked: list[Tensor] = []

        def given(ids: Tensor, scores: Tensor, asked: list[Tensor] = asked) -> Tensor:
            asked.append(ids.clone())
            return table[ids.shape[-1]].clone()

        options = {"pad_token_id": 13, "attention_mask": mask, **options}
        model = model_of(seed)
        results.append((dola_greedy_decode(model, prompt, 4, logits_processor=given, **options), asked, prompt))
    return results


@goal("dola_greedy_decode")
@compare(rtol=1e-6, atol=1e-9)
def case_decoding_defaults(seed):
    """Settings of the model where the caller gives none; what is returned; arguments that are errors."""
    torch.set_default_dtype(torch.float64)
    prompt = integers(seed, 3, 14, 2, 3)
    ends = [integers(seed + 1, 3, 14, 1).item(), 2]
    results = []
    for as_dict in (None, False, True):
        for scores in (None, False, True):
            model = model_of(
                seed, pad_token_id=1, eos_token_id=ends, output_scores=seed != 1, return_dict_in_generate=seed != 2
            )
            output = dola_greedy_decode(
                model,
                prompt,
                4,
                1,
                relative_top=0.0,
                max_length=9,
                output_scores=scores,
                return_dict_in_generate=as_dict,
            )
            if isinstance(output, DolaOutput):
                results.append((output.sequences, output.scores, output.premature_layer_dist))
            else:
                results.append(output)
    for options in (
        {},
        {"base_layer": 1, "candidate_premature_layers": [1, 2]},
        {"base_layer": 1, "eos_token_id": 5},
        {"candidate_premature_layers": [2, 0], "eos_token_id": [5, 6]},
    ):
        call = outcome(dola_greedy_decode, model_of(seed), prompt, 4, max_length=5, errors=ValueError, **options)
        results.append(call)
    return results


@goal("dola_greedy_decode", "contrast_scores")
@compare(rtol=1e-6, atol=1e-9)
def case_static_decoding(seed):
    """Fixed layers, the paper's settings and others, left-padded prompts."""
    torch.set_default_dtype(torch.float64)
    prompt, mask = padded_prompts(seed)
    results = []
    for layer, strength, penalty, late in ((1, 0.1, 1.2, 4), (0, 0.02, 1.6, 4), (3, 0.5, 1.0, 4), (2, 0.1, 1.2, 3)):
        output = dola_greedy_decode(
            model_of(seed),
            prompt,
            late,
            layer,
            relative_top=strength,
            logits_processor=LogitsProcessorList([RepetitionPenalty(penalty)]),
            max_length=12,
            output_scores=True,
            return_dict_in_generate=True,
            attention_mask=mask,
        )
        results.append((output.sequences, output.scores, output.premature_layer_dist))
    return results


@goal("dola_greedy_decode", "choose_premature_layer", "divergence")
@compare(rtol=1e-6, atol=1e-9)
def case_dynamic_decoding(seed):
    """Layers chosen anew at each step, for one row and for three that share them."""
    torch.set_default_dtype(torch.float64)
    prompt, mask = padded_prompts(seed)
    results = []
    for rows, candidates in (((1,), [0, 1, 2, 3]), ((0, 1, 2), [3, 1, 0, 2]), ((0, 2), [1, 3])):
        output = dola_greedy_decode(
            model_of(seed),
            prompt[list(rows)],
            4,
            candidate_premature_layers=candidates,
            relative_top=0.05,
            max_length=16,
            output_scores=True,
            return_dict_in_generate=True,
            attention_mask=mask[list(rows)],
        )
        results.append((output.sequences, output.scores, chosen(output)))
    return results


@goal("answer_log_probs")
@compare(rtol=1e-6, atol=1e-9)
def case_answer_log_probs(seed):
    """Answers of several lengths, with an end token in the middle of one; fixed and chosen layers; three cuts."""
    torch.set_default_dtype(torch.float64)
    model = model_of(seed, pad_token_id=0, eos_token_id=8)
    prompt = integers(seed, 3, 14, 4)
    answers = [torch.tensor([3, 8, 8, 12, 6]), integers(seed + 1, 3, 14, 1), integers(seed + 2, 3, 14, 3)]
    return [
        answer_log_probs(model, prompt, answer, 4, base, candidates, strength)
        for base, candidates in ((1, None), (0, None), (None, [0, 1, 3]), (None, [2, 3]))
        for strength in (0.0, 0.02, 0.4)
        for answer in answers
    ]


@goal("answer_score")
@compare(rtol=1e-4, atol=1e-5)
def case_answer_score(seed):
    """Answers of one to nine tokens."""
    return [answer_score(-normal(seed + length, length).abs()) for length in (1, 2, 5, 9)]


@goal("quality")
@compare(rtol=1e-4, atol=1e-6)
def case_quality(seed):
    """Several answers of each kind; scores so low that their exponentials underflow."""
    sizes = ((1, 1), (1, 4), (3, 2), (5, 7))
    pairs = [(normal(seed, true, scale=2.0) - 4, normal(seed + 9, false, scale=2.0) - 4) for true, false in sizes]
    return [quality(*pair) for pair in pairs] + [quality(true - 1000, false - 1000) for true, false in pairs]


@goal("layer_buckets")
@compare(exact=True)
def case_layer_buckets(seed):
    """Models and counts of the paper's size and smaller ones, that a count divides or not."""
    sizes = [(6, 2), (32, 2), (40, 2), (60, 3), (80, 4), (8, 1), (10, 4), (7, 2), (5, 5), (12 + seed % 5, 3 + seed % 5)]
    return [layer_buckets(*size) for size in sizes]


@goal("bucket_scores")
@compare(rtol=1e-6, atol=1e-9)
def case_bucket_scores(seed):
    """Questions with several answers of each kind."""
    torch.set_default_dtype(torch.float64)
    model = model_of(seed, layers=6)
    questions = [
        Question(
            integers(seed + 10 * number, 3, 14, 3 + number % 2),
            [integers(seed + 10 * number + 1 + k, 3, 14, 1 + k) for k in range(1 + number % 2)],
            [integers(seed + 10 * number + 5 + k, 3, 14, 2 - k % 2) for k in range(2)],
        )
        for number in range(5)
    ]
    buckets = [[0, 2], [4], [1, 3, 5]]
    return [bucket_scores(model, questions, buckets, 6, strength) for strength in (0.0, 0.01)]


@goal("divergence_table")
@compare(rtol=1e-6, atol=1e-9)
def case_divergence_table(seed):
    """Layers in any order."""
    torch.set_default_dtype(torch.float64)
    model, ids = model_of(seed), integers(seed, 3, 14, 1, 7)
    return divergence_table(model, ids, [0, 1, 3]), divergence_table(model, ids[:, :4], [2, 0])


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_training_run(seed):
    """Train the toy model for a while; decode questions, score answers, validate buckets and draw the map."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    facts = load_facts(Path("data/facts.jsonl"))
    tokenizer = WordTokenizer(all_texts(facts))
    config = LMConfig(vocab_size=len(tokenizer), width=24, layers=6, heads=3)
    model = EarlyExitLM(config, GenerationConfig(tokenizer.pad_token_id, tokenizer.eos_token_id)).double()
    losses = train(model, tokenizer, facts, TrainConfig(steps=60, batch_size=32, learning_rate=6e-3, seed=seed))

    asked = facts[seed % 6 :: 6]
    ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in asked])
    decoded = []
    for setting in (
        {"base_layer": 1},
        {"base_layer": 4, "relative_top": 0.0},
        {"candidate_premature_layers": [0, 2, 4], "relative_top": 0.003},
        {"candidate_premature_layers": [1, 2, 3, 5], "relative_top": 0.02},
    ):
        output = dola_greedy_decode(
            model,
            ids,
            config.layers,
            logits_processor=LogitsProcessorList([RepetitionPenalty(1.2)]),
            max_length=ids.shape[-1] + 5,
            output_scores=True,
            return_dict_in_generate=True,
            attention_mask=mask,
            **setting,
        )
        decoded.append((torch.stack(output.scores, 1), chosen(output)))

    def words(text: str) -> Tensor:
        return torch.tensor(tokenizer.encode(text)[1:])

    questions = [
        Question(
            torch.tensor(tokenizer.encode(fact.question)),
            [words(f"{fact.answer} ."), words(fact.answer)],
            [words(f"{word} .") for word in POPULAR.values()],
        )
        for fact in asked[:4]
    ]
    settings = ((1, None), (None, [0, 2, 4]))
    answers = [
        [answer_log_probs(model, question.prompt, answer, 6, *setting, 0.01) for setting in settings]
        for question in questions
        for answer in (*question.true_answers, *question.false_answers[:2])
    ]
    return {
        "losses": losses,
        "decoded": decoded,
        "answers": answers,
        "totals": [[answer_score(log_probs) for log_probs in pair] for pair in answers],
        "buckets": [bucket_scores(model, questions, layer_buckets(6, count), 6, 0.001) for count in (2, 3)],
        "map": divergence_table(model, ids[:1], range(6)),
    }
