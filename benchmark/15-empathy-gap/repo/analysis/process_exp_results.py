"""Turn raw model answers into intensities: one TSV file for each pair of perceiver and experiencer."""

import re
from pathlib import Path

import pandas as pd
from const import PROMPTS, REFUSAL, RESULTS_DIR

_NUMBER = re.compile(r"\d+")


def parse_intensity(answer: str, top: int) -> int:
    """Read the intensity from a model's answer.

    Args:
        answer: free text, normally with one number; mentions of the scale ("out of 100", "0 to 100") are skipped.
        top: upper end of the scale.

    Returns:
        The first number, or `REFUSAL` if there is none or it lies beyond the scale.
    """
    without_scale = re.sub(rf"(\b0\s*(to|-)|\bout of|/)\s*{top}\b", " ", answer)
    number = _NUMBER.search(without_scale)
    if number is None or int(number.group()) > top:
        return REFUSAL
    return int(number.group())


def result_path(group_option: str, prompt_variation: str, model_id: str, persona: str, experiencer: str) -> Path:
    """File with the intensities of one pair, relative to the working directory."""
    parts = (group_option, prompt_variation, model_id, persona, experiencer)
    return RESULTS_DIR / ("_".join(part.replace(" ", "-") for part in parts) + ".tsv")


def process_answers(raw_file: Path, group_option: str, prompt_variation: str, model_id: str) -> int:
    """Write a TSV file with columns `event_id` and `intensity` for every pair in `raw_file`; returns their number."""
    answers = pd.read_csv(raw_file, sep="\t", dtype={"answer": str})
    top = PROMPTS[prompt_variation].top
    answers["intensity"] = [parse_intensity(answer, top) for answer in answers["answer"]]
    RESULTS_DIR.mkdir(parents=True, exist_ok=True)
    pairs = answers.groupby(["perceiver", "experiencer"], sort=False)
    for (perceiver, experiencer), rows in pairs:
        path = result_path(group_option, prompt_variation, model_id, perceiver, experiencer)
        rows[["event_id", "intensity"]].to_csv(path, sep="\t", index=False)
    return len(pairs)
