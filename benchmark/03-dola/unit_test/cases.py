"""Labelled inputs for dola-greedy-decode.

Two stand-in models give full control over the logits of each layer: `RecencyLM` computes them from all ids so far, so
that one wrong token changes everything after it, and `ScriptedLM` reads them from a table. Except where a tie is the
point, no choice of a token or layer and no cut hangs on a difference that rounding could turn round.
"""

from types import SimpleNamespace
from typing import Any

import torch
from dola.decoding import DolaOutput, dola_greedy_decode
from dola.filters import BanTokens, LogitsProcessorList, RepetitionPenalty
from dola.model import EarlyExitLM, GenerationConfig, LMConfig
from dola.stopping import MaxLengthCriteria, StoppingCriteriaList, StopWordCriteria
from lmrbench_cases import compare, outcome
from torch import Tensor

LAYERS, VOCAB = 7, 16
#: More passes than any case needs: a candidate that never stops is told so.
MOST_PASSES = 60


class StubLM:
    """A model without parameters: `layer_logits` of a subclass says what each layer predicts."""

    def __init__(self, **defaults: Any) -> None:
        self.generation_config = GenerationConfig(**defaults)
        self.passes = 0

    def layer_logits(self, input_ids: Tensor, layer: int) -> Tensor:
        raise NotImplementedError

    def __call__(self, *, input_ids: Tensor, early_exit_layers, **_: Any) -> tuple[dict[int, Tensor], SimpleNamespace]:
        self.passes += 1
        if self.passes > MOST_PASSES:
            raise RuntimeError("generation does not stop")
        final = torch.full((*input_ids.shape, VOCAB), -7.0)  # of no use: the layers asked for are in the dict
        outputs = SimpleNamespace(logits=final, past_key_values=None)
        return {layer: self.layer_logits(input_ids, layer) for layer in early_exit_layers}, outputs

    def prepare_inputs_for_generation(self, input_ids: Tensor, **model_kwargs: Any) -> dict[str, Any]:
        return {"input_ids": input_ids, **model_kwargs}

    def update_model_kwargs_for_generation(self, outputs: Any, model_kwargs: dict[str, Any]) -> dict[str, Any]:
        return dict(model_kwargs)


class RecencyLM(StubLM):
    """Logits (B, T, VOCAB) that depend on every id before and on its distance, and on the layer."""

    def __init__(self, seed: int, **defaults: Any) -> None:
        super().__init__(**defaults)
        generator = torch.Generator().manual_seed(seed)
        self.effects = 1.5 * torch.randn(LAYERS, 64, VOCAB, generator=generator, dtype=torch.float64)
        self.shared = torch.randn(64, VOCAB, generator=generator, dtype=torch.float64)
        distance = (torch.arange(32)[:, None] - torch.arange(32)).double()
        self.mixing = (0.7**distance).tril()

    def layer_logits(self, input_ids: Tensor, layer: int) -> Tensor:
        # Slices and elementwise operations only: tiny ones of other kinds are slow on more than one thread.
        batch, length = input_ids.shape
        table = self.effects[layer] + self.shared
        effects = table.index_select(0, input_ids.reshape(-1)).view(batch, 1, length, VOCAB)
        return (self.mixing[:length, :length, None] * effects).sum(dim=2).float()


class ScriptedLM(StubLM):
    """Logits from a table (steps, layers, B, V) at the last position; a decoy at all positions before."""

    def __init__(self, script: Tensor, prompt_length: int, **defaults: Any) -> None:
        super().__init__(**defaults)
        self.script, self.prompt_length = script, prompt_length

    def layer_logits(self, input_ids: Tensor, layer: int) -> Tensor:
        step = min(input_ids.shape[-1] - self.prompt_length, len(self.script) - 1)
        logits = torch.zeros(*input_ids.shape, self.script.shape[-1])
        logits[..., layer % self.script.shape[-1]] = 50.0
        logits[:, -1] = self.script[step, layer]
        return logits


def prompts(seed: int, batch: int = 1, length: int = 4) -> Tensor:
    return torch.randint(1, VOCAB, (batch, length), generator=torch.Generator().manual_seed(1000 + seed))


def fields(output: DolaOutput) -> dict[str, Any]:
    return {
        "type": type(output).__name__,
        "sequences": output.sequences,
        "scores": output.scores,
        "premature_layer_dist": output.premature_layer_dist,
    }


def full_run(model: Any, input_ids: Tensor, **options: Any) -> dict[str, Any]:
    """Everything that decoding returns, or its absence."""
    return fields(dola_greedy_decode(model, input_ids, output_scores=True, return_dict_in_generate=True, **options))


def favour(*tokens: int, layers: int = 2, vocab: int = 8, strength: float = 6.0) -> Tensor:
    """A script step (layers, B, vocab) whose layer 0 favours one token a row and whose other layers are flat."""
    step = torch.zeros(layers, len(tokens), vocab)
    step[0, torch.arange(len(tokens)), list(tokens)] = strength
    return step


def run_rows(rows: list[tuple[int, ...]], **options: Any) -> Tensor:
    """Decode a script in which row b wants token `rows[t][b]` at step t, in static mode."""
    script = torch.stack([favour(*row) for row in rows])
    prompt = torch.full((len(rows[0]), 3), 7)
    options.setdefault("max_length", 3 + len(rows))
    return dola_greedy_decode(ScriptedLM(script, 3), prompt, 0, 1, **options)


@compare(rtol=1e-4, atol=1e-5)
def case_dynamic_mode(seed):
    """Four and two candidates in no special order, one row, twelve steps with the default cut."""
    return [
        full_run(RecencyLM(seed), prompts(seed), mature_layer=6, candidate_premature_layers=layers, max_length=16)
        for layers in ([0, 2, 4, 5], [5, 3, 1, 4], (4, 0))
    ]


@compare(rtol=1e-4, atol=1e-5)
def case_static_mode(seed):
    """Several fixed layers, 0 among them, and the same layers as only candidates."""
    outputs = {}
    for layer in (0, 3, 5):
        for mode in ({"base_layer": layer}, {"candidate_premature_layers": [layer]}):
            model = RecencyLM(seed)
            outputs[str(mode)] = full_run(model, prompts(seed, 2), mature_layer=6, max_length=12, **mode)
            outputs[str(mode)]["passes"] = model.passes
    outputs["no candidates"] = full_run(
        RecencyLM(seed), prompts(seed), mature_layer=6, base_layer=2, candidate_premature_layers=[], max_length=8
    )
    return outputs


@compare(rtol=1e-4, atol=1e-5)
def case_other_mature_layer(seed):
    """The mature layer is layer 3 or 0; premature layers may lie above it."""
    return {
        str((mature, options)): full_run(
            RecencyLM(seed), prompts(seed, 2), mature_layer=mature, max_length=12, **options
        )
        for mature, options in (
            (3, {"candidate_premature_layers": [1, 6, 2]}),
            (0, {"candidate_premature_layers": [5, 1]}),
            (3, {"base_layer": 4}),
            (0, {"base_layer": 6}),
        )
    }


def random_script(generator: torch.Generator, batch: int, candidates: int = 5, vocab: int = 12) -> Tensor:
    """One step (1, 1 + candidates, batch, vocab); layers differ in sharpness and in how near they are to layer 0."""
    shape = (1, 1 + candidates, batch, 1)
    sharpness = 0.3 + 3.2 * torch.rand(shape, generator=generator)
    nearness = torch.rand(shape, generator=generator)
    own = torch.randn(1, 1 + candidates, batch, vocab, generator=generator)
    return sharpness * (nearness * own[:, :1] + (1 - nearness) * own)


def chosen_layers(seed: int, batch: int, trials: int) -> list[dict[int, int]]:
    generator = torch.Generator().manual_seed(seed)
    choices = []
    for _ in range(trials):
        script = random_script(generator, batch)
        model = ScriptedLM(script, 2, return_dict_in_generate=True)
        output = dola_greedy_decode(
            model, torch.ones(batch, 2, dtype=torch.long), 0, None, [1, 2, 3, 4, 5], max_length=3
        )
        choices.append(output.premature_layer_dist)
    return choices


@compare(exact=True)
def case_chosen_layer(seed):
    """Eighty choices of one step each, over layers of different sharpness: other divergences choose otherwise."""
    return chosen_layers(seed, batch=1, trials=80)


@compare(exact=True)
def case_chosen_layer_in_batches(seed):
    """The same for three rows that would choose differently one by one."""
    return chosen_layers(seed, batch=3, trials=40)


@compare(rtol=1e-4, atol=1e-5)
def case_rows_share_a_layer(seed):
    """Batches of three and five rows over several steps."""
    return [
        full_run(
            RecencyLM(seed), prompts(seed, batch), mature_layer=6, candidate_premature_layers=[1, 2, 3], max_length=10
        )
        for batch in (3, 5)
    ]


@compare(rtol=1e-4, atol=1e-5)
def case_relative_top(seed):
    """Strong, weak and no cuts, also above 1 and below 0, in both modes."""
    outputs = {}
    for relative_top in (0.9, 0.3, 1e-6, 0.0, -1.0, 2.0):
        for mode in ({"base_layer": 1}, {"candidate_premature_layers": [1, 4]}):
            outputs[str((relative_top, mode))] = full_run(
                RecencyLM(seed), prompts(seed, 2), mature_layer=6, relative_top=relative_top, max_length=9, **mode
            )
    return outputs


@compare(rtol=1e-4, atol=1e-5)
def case_implausible_winner(seed):
    """The token that gained most is implausible: it wins only where nothing is cut. A tie for the top survives 1.0."""
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    script = torch.tensor([[4.0, 3.5, 1.0, -2.0, 0.0], [4.5, 3.0, 1.5, -9.0, 0.5]])[:, order].reshape(1, 2, 1, 5)
    tied = torch.tensor([[4.0, 4.0, 1.0, 4.0, 3.9], [4.5, 3.0, 1.5, 3.5, -9.0]])[:, order].reshape(1, 2, 1, 5)
    prompt = torch.zeros(1, 2, dtype=torch.long)
    return {
        str((name, relative_top)): full_run(
            ScriptedLM(rows, 2), prompt, mature_layer=0, base_layer=1, relative_top=relative_top, max_length=3
        )
        for name, rows in (("winner", script), ("tied", tied))
        for relative_top in (0.1, 0.001, 0.0, 1.0)
    }


@compare(exact=True)
def case_tied_candidates(seed):
    """Two layers predict the same: the one that stands first in the list is counted, wherever it lies."""
    generator = torch.Generator().manual_seed(seed)
    script = torch.randn(6, 4, 2, 8, generator=generator)
    script[:, 1] = script[:, 0] + 0.01  # hardly differs from the mature layer, and never wins
    script[:, 3] = script[:, 2]
    outputs = []
    for candidates in ([1, 2, 3], [3, 1, 2], [3, 2], [2, 3]):
        model = ScriptedLM(script, 2, return_dict_in_generate=True)
        output = dola_greedy_decode(
            model, torch.ones(2, 2, dtype=torch.long), 0, candidate_premature_layers=candidates, max_length=7
        )
        outputs.append({"sequences": output.sequences, "counts": output.premature_layer_dist})
    return outputs


@compare(rtol=1e-4, atol=1e-5)
def case_tied_tokens(seed):
    """Several tokens share the highest score: the smallest id is taken."""
    script = torch.zeros(2, 2, 1, 8)
    places = sorted(torch.randperm(8, generator=torch.Generator().manual_seed(seed))[:3].tolist())
    script[0, 0, 0, places] = 3.0
    script[1, 0, 0, places[1:]] = 3.0
    return full_run(
        ScriptedLM(script, 1), torch.zeros(1, 1, dtype=torch.long), mature_layer=0, base_layer=1, max_length=3
    )


@compare(rtol=1e-4, atol=1e-4)
def case_extreme_logits(seed):
    """Logits of up to 1000 in size: probabilities underflow to 0, but divergences and scores stay finite."""
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    rows = torch.tensor(
        [
            [1000.0, 0.0, -1000.0, 998.0, 500.0],
            [0.0, 1000.0, -1000.0, 900.0, 10.0],
            [-900.0, 0.0, 1000.0, -200.0, 950.0],
            [1000.0, 0.0, -1000.0, 990.0, 500.0],
            [300.0, -1000.0, 300.5, 0.0, -40.0],
        ]
    )[:, order]
    script = rows.reshape(1, 5, 1, 5).expand(3, 5, 1, 5)
    prompt = torch.zeros(1, 2, dtype=torch.long)
    outputs = []
    for candidates in ([1, 3], [3, 1], [3, 4], [1, 2], [2, 1, 4], [4, 2]):
        for relative_top in (0.1, 0.0):
            outputs.append(
                full_run(
                    ScriptedLM(script, 2),
                    prompt,
                    mature_layer=0,
                    candidate_premature_layers=candidates,
                    relative_top=relative_top,
                    max_length=4,
                )
            )
    return outputs


@compare(exact=True)
def case_finished_rows(seed):
    """Rows end at steps 1, 3 and never: pads follow, whichever id they have, and the other rows go on."""
    eos = 4 + seed % 3
    rows = [(eos, 1, 2), (3, 2, 1), (2, eos, 3), (eos, 3, 1), (1, 1, 2), (2, 2, 3)]
    outputs = [run_rows(rows, eos_token_id=eos, pad_token_id=pad) for pad in (0, eos, 7)]
    outputs.append(run_rows(rows, eos_token_id=[eos, 3], pad_token_id=0))
    outputs.append(run_rows(rows, eos_token_id=(3, 1), pad_token_id=0))
    # An end token in the prompt finishes nothing.
    outputs.append(run_rows(rows, eos_token_id=7, pad_token_id=0))
    return outputs


@compare(exact=True)
def case_all_rows_finished(seed):
    """Generation stops right after the last row has ended, also at the very first step, without any length limit."""
    rows = [(5, 1), (2, 3), (4, 5), (1, 1), (5, 5)]
    model_length = 3 + len(rows)
    return {
        "step 3": run_rows(rows, eos_token_id=5, pad_token_id=0),
        "several ids": run_rows(rows, eos_token_id=[3, 5, 6], pad_token_id=0, max_length=None),
        "first step": run_rows([(5, 5), (1, 2), (2, 1)], eos_token_id=5, pad_token_id=0, max_length=None),
        "one row": run_rows([(2,), (6,), (5,), (1,)], eos_token_id=(5,), pad_token_id=2, max_length=None),
        "no limit": run_rows(rows, eos_token_id=5, pad_token_id=5, max_length=None),
        "at the limit": run_rows(rows, eos_token_id=5, pad_token_id=0, max_length=model_length - 2),
    }


@compare(exact=True)
def case_finished_rows_still_choose(seed):
    """A finished row keeps its part in the choice of the layer: its logits outweigh those of the other row."""
    generator = torch.Generator().manual_seed(seed)
    script = 0.05 * torch.randn(6, 3, 2, 8, generator=generator)
    script[:, 0, 0, 5] += 8  # row 0 ends at once, and would like layer 1 ever after
    script[:, 1, 0, 6] += 8
    script[:, 2, 0, 5] += 8
    script[:, 0, 1, [1, 2, 3]] += 2.0  # row 1 would like layer 2
    script[:, 2, 1, [4, 6]] += 1.0
    script[:, 1, 1, [1, 2, 3]] += 2.0
    model = ScriptedLM(script, 2)
    output = dola_greedy_decode(
        model,
        torch.ones(2, 2, dtype=torch.long),
        0,
        candidate_premature_layers=[2, 1],
        max_length=8,
        pad_token_id=0,
        eos_token_id=5,
        return_dict_in_generate=True,
    )
    return {"sequences": output.sequences, "counts": output.premature_layer_dist}


@compare(exact=True)
def case_token_ids_of_the_model(seed):
    """End and padding ids from the model's configuration, and ids of the caller in their place, 0 among them."""
    rows = [(0, 3), (2, 2), (5, 4), (1, 2), (3, 0), (2, 2)]
    script = torch.stack([favour(*row) for row in rows])
    prompt = torch.full((2, 2), 7)
    outputs = {}
    for defaults in (
        {"pad_token_id": 6, "eos_token_id": 5},
        {"pad_token_id": 0, "eos_token_id": [5, 3]},
        {"pad_token_id": 1, "eos_token_id": 0},
        {"pad_token_id": 6, "eos_token_id": None},
        {},
    ):
        for given in ({}, {"eos_token_id": 0, "pad_token_id": 6}, {"pad_token_id": 0}, {"eos_token_id": [4, 0]}):
            missing = {**defaults, **given}.get("pad_token_id") is None
            ends = {**defaults, **given}.get("eos_token_id") is not None
            model = ScriptedLM(script, 2, **defaults)
            outputs[str((defaults, given))] = outcome(
                dola_greedy_decode, model, prompt, 0, 1, max_length=8, errors=ValueError, **given
            )
            if missing and ends:
                outputs[str((defaults, given, "passes"))] = model.passes
    return outputs


@compare(exact=True)
def case_invalid_arguments(seed):
    """Neither or both kinds of layers, and end tokens without padding: an error before the first pass."""
    outputs = {}
    for name, options in {
        "neither": {},
        "no candidates": {"candidate_premature_layers": []},
        "no candidates, tuple": {"candidate_premature_layers": ()},
        "both": {"base_layer": 1, "candidate_premature_layers": [1, 2]},
        "both, layer 0": {"base_layer": 0, "candidate_premature_layers": [0]},
        "end without padding": {"base_layer": 1, "eos_token_id": 3},
        "end 0 without padding": {"base_layer": 0, "eos_token_id": 0},
        "ends without padding": {"candidate_premature_layers": [2, 3], "eos_token_id": [3, 4]},
    }.items():
        model = RecencyLM(seed)
        result = outcome(dola_greedy_decode, model, prompts(seed), 6, max_length=6, errors=ValueError, **options)
        outputs[name] = (result, model.passes)
    return outputs


@compare(rtol=1e-4, atol=1e-5)
def case_processors(seed):
    """Processors ban and penalise tokens; a recorder sees the ids so far and the contrasted scores once a step."""
    outputs = {}
    for name, options in {
        "static": {"base_layer": 2},
        "dynamic": {"candidate_premature_layers": [0, 3, 5]},
        "uncut": {"base_layer": 2, "relative_top": 0.0},
    }.items():
        free = full_run(RecencyLM(seed), prompts(seed, 2), mature_layer=6, max_length=7, **options)
        seen: list[tuple[Tensor, Tensor]] = []

        def record(ids: Tensor, scores: Tensor, seen=seen) -> Tensor:
            seen.append((ids.clone(), scores.clone()))
            return scores

        # What would be chosen first is banned, so that a processor without effect shows.
        banned = free["sequences"][:, 4].unique().tolist()
        processors = LogitsProcessorList([record, BanTokens(banned), RepetitionPenalty(1.5)])
        outputs[name] = full_run(
            RecencyLM(seed), prompts(seed, 2), mature_layer=6, max_length=9, logits_processor=processors, **options
        )
        outputs[name]["seen"] = seen
    return outputs


@compare(rtol=1e-4, atol=1e-5)
def case_processor_replaces_scores(seed):
    """Scores that a processor makes up decide, are stored as they are, and reach the stopping criterion."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(8, 2, VOCAB, generator=generator)
    stopped_at: list[tuple[Tensor, Tensor]] = []

    def made_up(ids: Tensor, scores: Tensor) -> Tensor:
        return table[ids.shape[-1] - 4].clone()

    def criterion(ids: Tensor, scores: Tensor) -> bool:
        stopped_at.append((ids.clone(), scores.clone()))
        return ids.shape[-1] == 9

    output = full_run(
        RecencyLM(seed),
        prompts(seed, 2),
        mature_layer=6,
        candidate_premature_layers=[1, 2],
        logits_processor=made_up,
        stopping_criteria=criterion,
    )
    return output, stopped_at


@compare(exact=True)
def case_length_limits(seed):
    """Total lengths, with the prompt longer than the limit; criteria alone and beside a limit; always one token."""
    prompt = prompts(seed, 2)
    outputs = {}
    for max_length in (0, 3, 4, 5, 6, 9):
        model = RecencyLM(seed)
        output = dola_greedy_decode(model, prompt, 6, 2, max_length=max_length)
        outputs[f"limit {max_length}"] = (output, model.passes)
    for length, max_length in ((7, None), (7, 9), (9, 7), (2, None)):
        criteria = StoppingCriteriaList([MaxLengthCriteria(length)])
        options = {"stopping_criteria": criteria, "max_length": max_length}
        output = dola_greedy_decode(RecencyLM(seed), prompt, 6, None, [1, 2], **options)
        outputs[str((length, max_length))] = (output, len(criteria))
    return outputs


@compare(exact=True)
def case_stop_words(seed):
    """A stopping criterion that looks at the newest tokens, and one that looks at the scores of the step."""
    rows = [(1, 2), (3, 3), (4, 4), (3, 3), (1, 4), (4, 4), (3, 4), (4, 3)]
    confident = torch.stack([favour(1, 2, strength=1.0 + step) for step in range(6)])
    steps = []

    def is_confident(ids: Tensor, scores: Tensor) -> bool:
        steps.append(ids.shape[-1])
        return bool(scores.amax() > 1.5 + seed)

    return {
        "words": run_rows(rows, stopping_criteria=StopWordCriteria([[3, 4], [1, 4]])),
        "words of one row": run_rows(rows, stopping_criteria=StopWordCriteria([[3, 1, 4]])),
        "before the end token": run_rows(
            rows, stopping_criteria=StopWordCriteria([[3, 4]]), eos_token_id=1, pad_token_id=1
        ),
        "scores": dola_greedy_decode(
            ScriptedLM(confident, 1),
            torch.ones(2, 1, dtype=torch.long),
            0,
            1,
            relative_top=0.0,
            stopping_criteria=is_confident,
        ),
        "asked at": steps,
    }


@compare(rtol=1e-4, atol=1e-5)
def case_return_types(seed):
    """What is returned, for all settings of the caller and of the model."""
    outputs = {}
    for default_scores, default_dict in ((False, False), (True, False), (False, True), (True, True)):
        for scores in (None, False, True):
            for as_dict in (None, False, True):
                model = RecencyLM(seed, output_scores=default_scores, return_dict_in_generate=default_dict)
                output = dola_greedy_decode(
                    model,
                    prompts(seed),
                    6,
                    candidate_premature_layers=[3, 1],
                    max_length=6,
                    output_scores=scores,
                    return_dict_in_generate=as_dict,
                )
                key = str((default_scores, default_dict, scores, as_dict))
                outputs[key] = output if isinstance(output, Tensor) else fields(output)
    return outputs


class StatefulLM(RecencyLM):
    """Needs a number in each pass that only its own helpers hand on, and records what it gets."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seen: list[Any] = []

    def __call__(self, *, state: Tensor, note: str, input_ids: Tensor, early_exit_layers, **_: Any) -> Any:
        self.seen.append((state.clone(), note, input_ids.clone()))
        by_layer, _ = super().__call__(input_ids=input_ids, early_exit_layers=early_exit_layers)
        shift = torch.linspace(-1, 1, VOCAB) * state
        # The shift differs between layers, so that it does not cancel in the contrast.
        shifted = {layer: logits + shift * (layer + 1) for layer, logits in by_layer.items()}
        return shifted, SimpleNamespace(logits=None, past_key_values=None, state=state + 0.5)

    def prepare_inputs_for_generation(self, input_ids: Tensor, **model_kwargs: Any) -> dict[str, Any]:
        return {**model_kwargs, "input_ids": input_ids, "note": model_kwargs.get("note", "none").upper()}

    def update_model_kwargs_for_generation(self, outputs: Any, model_kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**model_kwargs, "state": outputs.state, "note": model_kwargs.get("note", "none") + "+"}


@compare(rtol=1e-4, atol=1e-5)
def case_state_between_steps(seed):
    """The model's helpers carry keyword arguments from step to step; those of the caller stay as they were."""
    outputs = []
    for options in ({"base_layer": 3}, {"candidate_premature_layers": [1, 4, 2]}):
        model, state = StatefulLM(seed), torch.tensor(-1.0)
        run = full_run(model, prompts(seed, 2), mature_layer=6, max_length=9, state=state, note="a", **options)
        outputs.append({**run, "seen": model.seen, "state": state})
    return outputs


def toy_model(seed: int) -> EarlyExitLM:
    """The repository's model with weights large enough for layers to disagree."""
    torch.manual_seed(seed)
    model = EarlyExitLM(LMConfig(vocab_size=24, width=16, heads=2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.25 * torch.randn_like(parameter))
    return model


@compare(rtol=1e-3, atol=1e-4)
def case_toy_transformer(seed):
    """The repository's own model with left-padded prompts, with and without a cache."""
    model = toy_model(seed)
    prompt = torch.randint(3, 24, (3, 6), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(prompt)
    for row, padding in enumerate((0, 2, 4)):
        prompt[row, :padding] = 0
        mask[row, :padding] = 0
    outputs = {}
    for name, options in {
        "masked": {"attention_mask": mask},
        "masked, no cache": {"attention_mask": mask, "use_cache": False},
        "unmasked": {},
    }.items():
        for mode in ({"base_layer": 0}, {"candidate_premature_layers": [0, 2, 4]}):
            run = full_run(
                model,
                prompt,
                mature_layer=6,
                max_length=12,
                pad_token_id=0,
                eos_token_id=[2, 5],
                **mode,
                **options,
            )
            outputs[str((name, mode))] = {**run, "mask": mask.clone()}
    return outputs


@compare(exact=True)
def case_no_side_effects(seed):
    """Inputs, the model's mode, gradients and the caller's lists stay as they were; the result is new memory."""
    model = toy_model(seed)
    facts = []
    for training, gradients in ((True, True), (False, False)):
        model.train(training)
        prompt, candidates, ends = prompts(seed, 2, 6)[:, ::2], [4, 1], [3, 3]
        given, criteria, processors = prompt.clone(), StoppingCriteriaList(), LogitsProcessorList()
        with torch.set_grad_enabled(gradients):
            output = dola_greedy_decode(
                model,
                prompt,
                6,
                candidate_premature_layers=candidates,
                logits_processor=processors,
                stopping_criteria=criteria,
                max_length=7,
                pad_token_id=0,
                eos_token_id=ends,
                output_scores=True,
                return_dict_in_generate=True,
            )
            gradients_after = torch.is_grad_enabled()
        unchanged = torch.equal(prompt, given)
        prompt.zero_()
        facts.append(
            {
                "unchanged": unchanged,
                "kept_prompt": output.sequences[:, :3],
                "dtype": str(output.sequences.dtype),
                "requires_grad": [score.requires_grad for score in output.scores],
                "score_types": [str(score.dtype) for score in output.scores],
                "parameter_gradients": any(parameter.grad is not None for parameter in model.parameters()),
                "modes": [module.training for module in model.modules()],
                "gradients_after": gradients_after,
                "lists": (candidates, ends, len(criteria), len(processors)),
                "steps": sum(output.premature_layer_dist.values()),
            }
        )
    return facts
