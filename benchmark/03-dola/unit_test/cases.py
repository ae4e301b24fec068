"""Labelled inputs for dola-greedy-decode.

`ScriptedLM` reads the logits of each layer from a table, so that each case says exactly what the layers predict. The
steps of most cases are those at which the divergence of Equation E and the textbook's clearly choose the same layer
(`clear_steps`): one case tells the two apart.
"""

from types import SimpleNamespace

import torch
from dola.decoding import DolaOutput, dola_greedy_decode
from dola.filters import BanTokens, LogitsProcessorList, RepetitionPenalty
from dola.model import EarlyExitLM, GenerationConfig, LMConfig
from dola.stopping import MaxLengthCriteria, StopWordCriteria
from lmrbench_cases import compare, core, outcome
from torch import Tensor, nn


class ScriptedLM(nn.Module):
    """Logits from a table (steps, layers, B, V) at the last position; a decoy at all positions before."""

    def __init__(self, script: Tensor, prompt_length: int = 3, **defaults) -> None:
        super().__init__()
        self.script, self.prompt_length, self.passes = script, prompt_length, 0
        self.generation_config = GenerationConfig(**defaults)

    def forward(self, *, input_ids: Tensor, early_exit_layers, **_) -> tuple[dict[int, Tensor], SimpleNamespace]:
        self.passes += 1
        if self.passes > 60:
            raise RuntimeError("generation does not stop")
        step = min(input_ids.shape[-1] - self.prompt_length, len(self.script) - 1)
        by_layer = {}
        for layer in early_exit_layers:
            by_layer[layer] = torch.zeros(*input_ids.shape, self.script.shape[-1])
            by_layer[layer][..., layer] = 50.0
            by_layer[layer][:, -1] = self.script[step, layer]
        return by_layer, SimpleNamespace(logits=None, past_key_values=None)

    def prepare_inputs_for_generation(self, input_ids: Tensor, **model_kwargs) -> dict:
        return {"input_ids": input_ids, **model_kwargs}

    def update_model_kwargs_for_generation(self, outputs: SimpleNamespace, model_kwargs: dict) -> dict:
        return dict(model_kwargs)


def random_steps(seed: int, steps: int, batch: int, sharpest: float = 3.5) -> Tensor:
    """Logits (steps, 6, batch, 12); layers differ in sharpness and in how near they are to layer 5."""
    generator = torch.Generator().manual_seed(seed)
    sharpness = 0.3 + (sharpest - 0.3) * torch.rand(steps, 6, batch, 1, generator=generator)
    nearness = torch.rand(steps, 6, batch, 1, generator=generator)
    own = torch.randn(steps, 6, batch, 12, generator=generator)
    return sharpness * (nearness * own[:, 5:] + (1 - nearness) * own)


def farthest_layers(script: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For the textbook's divergence and for that of Equation E, each step's layer, and whether it leads by a tenth."""
    log_q = script.double().log_softmax(dim=-1)
    both = log_q[:, :5], log_q[:, 5:]
    log_m = torch.logaddexp(*both) - torch.tensor(2.0).log()
    to_mixture = sum((q.exp() * (q - log_m)).sum(dim=-1).mean(dim=-1) for q in both)
    from_mixture = sum((log_m.exp() * (log_m - q)).sum(dim=-1).mean(dim=-1) for q in both)
    tops = [divergence.topk(2) for divergence in (to_mixture, from_mixture)]
    return [(top.indices[:, 0], top.values[:, 1] < 0.9 * top.values[:, 0]) for top in tops]


def clear_steps(seed: int, steps: int, batch: int, sharpest: float = 3.5) -> Tensor:
    """Random steps at which both divergences clearly take the same layer."""
    script = random_steps(seed, 9 * steps, batch, sharpest)
    (textbook, is_clear), (paper, is_clear_too) = farthest_layers(script)
    return script[is_clear & is_clear_too & (textbook == paper)][:steps]


def telling_steps(seed: int, steps: int, batch: int) -> Tensor:
    """Random steps at which Equation E clearly takes another layer than the textbook's divergence."""
    script = random_steps(seed, 180 * steps, batch)
    (textbook, _), (paper, is_clear) = farthest_layers(script)
    return script[is_clear & (textbook != paper)][:steps]


def prompts(batch: int = 1) -> Tensor:
    return torch.full((batch, 3), 7)


def full_run(model: nn.Module, input_ids: Tensor, mature_layer: int = 5, **options) -> dict:
    options = {"output_scores": True, "return_dict_in_generate": True, **options}
    output = dola_greedy_decode(model, input_ids, mature_layer, **options)
    return {
        "sequences": output.sequences,
        "scores": list(output.scores),
        "counts": dict(output.premature_layer_dist),
    }


def decoded_rows(seed: int, rows: list[str], defaults: dict | None = None, **options) -> Tensor:
    """Decode a script in static mode in which row b wants the b-th of a step's tokens: an end `e`, or another one.

    The others, `a` to `d`, are 0 and three of 8 to 39, in an order that the seed decides.
    """
    generator = torch.Generator().manual_seed(seed)
    large = 8 + torch.randperm(32, generator=generator)[:3]
    others = torch.cat([torch.zeros(1, dtype=torch.long), large])[torch.randperm(4, generator=generator)].tolist()
    tokens = {"e": 5, "f": 6, **dict(zip("abcd", others, strict=True))}
    script = torch.zeros(len(rows), 6, len(rows[0]), 40)
    for step, row in enumerate(rows):
        for place, name in enumerate(row):
            script[step, 5, place, tokens[name]] = 6.0
    options = {"max_length": 3 + len(rows), **options}
    return dola_greedy_decode(ScriptedLM(script, **(defaults or {})), prompts(len(rows[0])), 5, 1, **options)


def toy_model(seed: int) -> EarlyExitLM:
    """The repository's model with weights large enough for layers to disagree."""
    torch.manual_seed(seed)
    model = EarlyExitLM(LMConfig(vocab_size=24, width=16, heads=2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.15 * torch.randn_like(parameter))
    return model


@core
@compare(exact=True)
def case_dynamic_mode(seed):
    """Thirty steps of one row; the candidates stand in no special order."""
    model = ScriptedLM(clear_steps(seed, 30, 1, sharpest=5.0))
    output = full_run(model, prompts(), candidate_premature_layers=[3, 0, 4, 1, 2], max_length=33)
    return output["sequences"], output["counts"]


@core
@compare(exact=True)
def case_dynamic_mode_in_batches(seed):
    """Three rows that would choose differently one by one."""
    model = ScriptedLM(clear_steps(seed, 20, 3, sharpest=5.0))
    output = full_run(model, prompts(3), candidate_premature_layers=[0, 1, 2, 3, 4], max_length=23)
    return output["sequences"], output["counts"]


@core
@compare(rtol=1e-3, atol=1e-4)
def case_toy_transformer(seed):
    """The repository's model, left-padded prompts, the paper's cut and penalty; fixed layers and a single candidate."""
    prompt = torch.randint(3, 24, (3, 6), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(prompt)
    prompt[1, :2], mask[1, :2] = 0, 0
    options = {
        "attention_mask": mask,
        "logits_processor": LogitsProcessorList([RepetitionPenalty(1.2)]),
        "max_length": 12,
    }
    modes = [{"base_layer": 0}, {"base_layer": 3}, {"candidate_premature_layers": [2]}]
    return [full_run(toy_model(seed), prompt.clone(), mature_layer=6, **mode, **options) for mode in modes]


@core
@compare(rtol=1e-3, atol=1e-4)
def case_relative_top(seed):
    """Strong and weak cuts, and a mature layer below the premature one."""
    model, ids = ScriptedLM(random_steps(seed, 6, 2)), prompts(2)
    runs = [full_run(model, ids, base_layer=1, relative_top=top, max_length=9) for top in (0.9, 0.3, 0.01, 1e-5)]
    return [*runs, full_run(model, ids, mature_layer=2, base_layer=4, max_length=9)]


@core
@compare(exact=True)
def case_tokens_without_cut(seed):
    """Without the cut, implausible tokens win if they gained most."""
    model = ScriptedLM(random_steps(seed, 10, 2))
    return dola_greedy_decode(model, prompts(2), 5, 1, relative_top=0.0, max_length=13)


@core
@compare(rtol=1e-3, atol=1e-4)
def case_processors(seed):
    """What would win is banned, and repeated tokens are penalised."""
    script = clear_steps(seed, 8, 2)
    options = {"candidate_premature_layers": [0, 1, 2, 3, 4], "max_length": 11, "relative_top": 0.01}
    free = full_run(ScriptedLM(script), prompts(2), **options)
    processors = LogitsProcessorList([BanTokens(free["sequences"][:, 3].unique().tolist()), RepetitionPenalty(1.5)])
    return full_run(ScriptedLM(script), prompts(2), logits_processor=processors, **options)


@core
@compare(exact=True)
def case_finished_rows(seed):
    """Rows end at steps 1, 3 and never: padding follows, and the other rows go on; then all of them end."""
    rows = ["eab", "bca", "aeb", "dcf", "aba"]
    return [
        decoded_rows(seed, rows, eos_token_id=5, pad_token_id=7),
        decoded_rows(seed, rows, eos_token_id=[5, 6], pad_token_id=7),
        decoded_rows(seed, rows, defaults={"eos_token_id": [6, 5], "pad_token_id": 4}),
        decoded_rows(seed, rows),
    ]


@core
@compare(exact=True)
def case_limits(seed):
    """Length limits, and stopping criteria that look at the newest tokens."""
    rows = ["ab", "ff", "ee", "ba", "cc", "ac"]
    limits = [decoded_rows(seed, rows, max_length=length) for length in (4, 6, 9)]
    words = decoded_rows(seed, rows, stopping_criteria=StopWordCriteria([[6, 5]]))
    return [*limits, words, decoded_rows(seed, rows, max_length=None, stopping_criteria=MaxLengthCriteria(7))]


@core
@compare(rtol=1e-3, atol=1e-4)
def case_divergence_of_equation_e(seed):
    """Steps at which the textbook's divergence takes another layer."""
    runs = []
    for batch in (1, 3):
        model = ScriptedLM(telling_steps(seed, 5, batch))
        runs.append(full_run(model, prompts(batch), candidate_premature_layers=(0, 1, 2, 3, 4), max_length=8))
    return runs


@compare(rtol=1e-3, atol=1e-4)
def case_divergence_from_the_mixture(seed):
    """Any steps, however near the divergences of two layers are."""
    runs = []
    for batch in (1, 3):
        model = ScriptedLM(random_steps(seed, 40, batch))
        runs.append(
            full_run(model, prompts(batch), candidate_premature_layers=(0, 1, 2, 3, 4), max_length=43)["scores"]
        )
    return runs


@compare(rtol=1e-3, atol=1e-4)
def case_scores_without_cut(seed):
    """Raw logits are contrasted where nothing is cut."""
    model = ScriptedLM(random_steps(seed, 5, 2))
    return [full_run(model, prompts(2), base_layer=1, relative_top=top, max_length=8) for top in (0.0, -1.0)]


@compare(exact=True)
def case_ties(seed):
    """Two layers predict the same, and two tokens share the highest score: the first one is taken."""
    script = random_steps(seed, 6, 2)
    script[:, 1] = script[:, 5] + 0.01  # hardly differs from the mature layer, and never wins
    script[:, 3] = script[:, 2]
    counts = [
        full_run(ScriptedLM(script), prompts(2), candidate_premature_layers=layers, max_length=9)["counts"]
        for layers in ([1, 2, 3], [3, 1, 2])
    ]
    tied = torch.zeros(1, 6, 1, 64)
    tied[0, 5, 0, torch.randperm(64, generator=torch.Generator().manual_seed(seed))[:3]] = 3.0
    return counts, dola_greedy_decode(ScriptedLM(tied), prompts(), 5, 1, max_length=4)


@compare(rtol=1e-4, atol=1e-3)
def case_extreme_logits(seed):
    """Logits of up to 1000 in size: probabilities underflow to 0, but divergences and scores stay finite."""
    rows = torch.tensor(
        [
            [0.0, 1000.0, -1000.0, 900.0, 10.0, 0.0],
            [-900.0, 0.0, 1000.0, -200.0, 950.0, 0.0],
            [1000.0, 0.0, -1000.0, 990.0, 500.0, 0.0],
            [300.0, -1000.0, 300.5, 0.0, -40.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1000.0, 0.0, -1000.0, 998.0, 500.0, 0.0],
        ]
    )
    script = rows[:, torch.randperm(6, generator=torch.Generator().manual_seed(seed))][None, :, None]
    candidates = ([0, 2], [2, 0], [2, 3], [0, 1], [3, 1])
    return [
        full_run(ScriptedLM(script), prompts(), candidate_premature_layers=layers, max_length=4)
        for layers in candidates
    ]


@compare(exact=True)
def case_finished_rows_still_choose(seed):
    """A finished row keeps its part in the choice of the layer: its logits outweigh those of the other row."""
    script = 0.05 * torch.randn(6, 6, 2, 12, generator=torch.Generator().manual_seed(seed))
    script[:, [2, 5], 0, 5] += 8  # row 0 ends at once, and would like layer 1 ever after
    script[:, 1, 0, 6] += 8
    script[:, [1, 5], 1, 1:4] += 2.0  # row 1 would like layer 2
    script[:, 2, 1, [4, 6]] += 1.0
    options = {"candidate_premature_layers": [2, 1], "max_length": 8, "pad_token_id": 0, "eos_token_id": 5}
    output = full_run(ScriptedLM(script), prompts(2), **options)
    return output["sequences"], output["counts"]


@compare(exact=True)
def case_token_ids(seed):
    """Ids of the caller in place of the model's, 0 among them; end tokens in the prompt; no limit but end tokens."""
    rows, defaults = ["ab", "cd", "ee", "da", "bc", "ca"], {"eos_token_id": 5, "pad_token_id": 6}
    return [
        decoded_rows(seed, rows, defaults, eos_token_id=0),
        decoded_rows(seed, rows, defaults, pad_token_id=0),
        decoded_rows(seed, rows, eos_token_id=(0, 4), pad_token_id=0),
        decoded_rows(seed, rows, eos_token_id=7, pad_token_id=7),
        decoded_rows(seed, ["ab", "ee", "cd"], eos_token_id=5, pad_token_id=5, max_length=None),
    ]


@compare(exact=True)
def case_invalid_arguments(seed):
    """Neither or both kinds of layers, and end tokens without padding: an error before the first pass."""
    results = []
    for options in (
        {},
        {"candidate_premature_layers": []},
        {"base_layer": 0, "candidate_premature_layers": [0, 2]},
        {"base_layer": seed % 3, "eos_token_id": 0},
        {"base_layer": 1, "candidate_premature_layers": []},
    ):
        model = ScriptedLM(random_steps(seed, 2, 1))
        result = outcome(dola_greedy_decode, model, prompts(), 5, max_length=5, errors=ValueError, **options)
        results.append((result, model.passes))
    return results


@compare(rtol=1e-3, atol=1e-4)
def case_criteria(seed):
    """Processor and criterion are called once a step; what the processor returns is what the criterion sees."""
    seen: list[tuple] = []
    table = torch.randn(9, 2, 12, generator=torch.Generator().manual_seed(seed))

    def made_up(ids: Tensor, scores: Tensor) -> Tensor:
        seen.append(("processor", ids.clone(), scores.clone()))
        return table[ids.shape[-1]].clone()

    def criterion(ids: Tensor, scores: Tensor) -> bool:
        seen.append(("criterion", ids.clone(), scores.clone()))
        return ids.shape[-1] == 7

    options = {"base_layer": 2, "logits_processor": made_up, "stopping_criteria": criterion, "max_length": 9}
    run = full_run(ScriptedLM(random_steps(seed, 5, 2)), prompts(2), **options)
    return run, seen, decoded_rows(seed, ["ab", "cd"], max_length=seed % 7)


@compare(rtol=1e-3, atol=1e-4)
def case_return_types(seed):
    """What is returned, for settings of the caller and of the model."""
    results = []
    for default in (False, True):
        for scores in (None, False, True):
            for as_dict in (None, False, True):
                model = ScriptedLM(random_steps(seed, 2, 1), output_scores=default, return_dict_in_generate=default)
                options = {"max_length": 5, "output_scores": scores, "return_dict_in_generate": as_dict}
                output = dola_greedy_decode(model, prompts(), 5, None, [3, 1], **options)
                results.append(dict(vars(output)) if isinstance(output, DolaOutput) else output)
    return results
