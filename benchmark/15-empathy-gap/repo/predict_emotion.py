"""Ask for the emotion intensity of every event, perceiver and experiencer; offline models stand in for LLMs."""

import zlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from const import EVENTS_FILE, GROUP_MAPPINGS, N_EVENTS, PROMPTS, RAW_DIR, UNSPECIFIED, Prompt, group_of

#: How the offline model words an answer; `process_exp_results` has to find the number.
ANSWERS = ("{x}", "Intensity: {x}", "I would say {x} out of {top}.", "On the scale from 0 to {top}: {x}")
REFUSALS = ("I'm sorry, but I can't judge that.", "I would rather not speak for somebody else here.")


@dataclass(frozen=True)
class OfflineModel:
    """Rule that answers like a language model with a known intergroup bias, on a scale from 0 to 100.

    Attributes:
        in_group_bonus: added where perceiver and experiencer belong to the same group.
        identity_sd: spread of the habit of each perceiver, and of the view of each experiencer, whatever the pair.
        noise_sd: spread of single answers.
        refusal_rate: chance of no answer to a sensitive event.
    """

    in_group_bonus: float
    identity_sd: float = 1.5
    noise_sd: float = 8.0
    refusal_rate: float = 0.05


#: The second model treats all pairs alike: its gap is what chance leaves.
MODELS: dict[str, OfflineModel] = {
    "toy-8b": OfflineModel(in_group_bonus=4.0),
    "toy-fair": OfflineModel(in_group_bonus=0.0),
}


def load_events() -> pd.DataFrame:
    """Read the events: N_EVENTS rows by `event_id` with `emotion`, `base` (usual intensity), `sensitive`, `event`."""
    events = pd.read_csv(EVENTS_FILE, sep="\t", index_col="event_id")
    if len(events) != N_EVENTS:
        raise ValueError(f"{EVENTS_FILE} has {len(events)} events, not {N_EVENTS}")
    return events


def make_messages(prompt: Prompt, persona: str, experiencer: str, emotion: str, event: str) -> dict[str, str]:
    """Fill a prompt: the system and the user message of one query."""
    question = prompt.user.format(experiencer=experiencer, emotion=emotion, event=event, top=prompt.top)
    return {"system": prompt.system.format(persona=persona), "user": question}


def answer_events(
    model: OfflineModel,
    events: pd.DataFrame,
    shift: float,
    top: int,
    rng: np.random.Generator,
) -> list[str]:
    """Answer all events for one pair whose intensities lie `shift` above the usual ones: one string an event."""
    intensity = events["base"].to_numpy() + shift + rng.normal(0.0, model.noise_sd, len(events))
    on_scale = np.clip(intensity * top / 100, 0, top).round().astype(int)
    refused = events["sensitive"].to_numpy(dtype=bool) & (rng.random(len(events)) < model.refusal_rate)
    wording = rng.integers(len(ANSWERS), size=len(events))
    return [
        REFUSALS[which % len(REFUSALS)] if silent else ANSWERS[which].format(x=value, top=top)
        for value, silent, which in zip(on_scale, refused, wording, strict=True)
    ]


def predict_category(group_option: str, prompt_variation: str, model_id: str, seed: int = 0) -> pd.DataFrame:
    """Answers of one model for all ordered pairs of a category, the unspecified identity included.

    Returns:
        One row a query: `perceiver`, `experiencer`, `event_id`, `answer`; the events of a pair in file order.
    """
    model, top, events = MODELS[model_id], PROMPTS[prompt_variation].top, load_events()
    # A stream of its own for each run, so that adding a category or a model changes no other answer.
    rng = np.random.default_rng([seed, zlib.crc32(f"{group_option}|{prompt_variation}|{model_id}".encode())])
    names = (UNSPECIFIED, *GROUP_MAPPINGS[group_option])
    habit = dict(zip(names, rng.normal(0.0, model.identity_sd, len(names)), strict=True))
    view = dict(zip(names, rng.normal(0.0, model.identity_sd, len(names)), strict=True))

    pairs = []
    for perceiver, experiencer in product(names, names):
        bonus = model.in_group_bonus if group_of(perceiver) == group_of(experiencer) else 0.0
        answers = answer_events(model, events, habit[perceiver] + view[experiencer] + bonus, top, rng)
        queries = {"perceiver": perceiver, "experiencer": experiencer, "event_id": events.index, "answer": answers}
        pairs.append(pd.DataFrame(queries))
    return pd.concat(pairs, ignore_index=True)


def write_raw_answers(group_option: str, prompt_variation: str, model_id: str, seed: int = 0) -> Path:
    """Run a model on one category and write its answers below `RAW_DIR`; returns the file."""
    path = RAW_DIR / f"{group_option}_{prompt_variation}_{model_id}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    predict_category(group_option, prompt_variation, model_id, seed).to_csv(path, sep="\t", index=False)
    return path
