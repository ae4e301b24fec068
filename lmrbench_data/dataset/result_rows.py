"""Types of rows of predictions and of results, and the setting that they name."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict


class PredictionRow(TypedDict):
    """One answer of a model, in one of `function`, `goal_file`, `model_patch` and `files`."""

    instance_id: str
    model_name_or_path: str
    function: NotRequired[str]
    goal_file: NotRequired[str]
    model_patch: NotRequired[str]
    files: NotRequired[Mapping[str, str]]
    """Path → text."""
    sample: NotRequired[int]
    setting: NotRequired[str]
    track: NotRequired[str]
    metadata: NotRequired[Mapping[str, Any]]


class CaseRow(TypedDict):
    """The verdict on one case and seed."""

    name: str
    seed: int
    core: bool
    status: str
    detail: str


class PartRow(TypedDict):
    """The verdict on one function or one experiment of a method."""

    name: str
    """The function's qualified name, as in `goals` of the cases; the experiment's case."""
    status: str
    """The worst of the cases and seeds that test it."""


class ChoiceRow(TypedDict):
    """The option that an answer implements."""

    name: str
    option: str
    """Empty if its outputs are those of no option."""
    reading: str
    """`stated` in the row's paper or shown by its tables; else `published`, `other`, or `none`."""
    options: int
    """The number of options: chance is one in this number."""
    published: bool
    """Whether the true option is the published one: reciting gets it."""
    altered: bool
    """Whether the paper states an unpublished option; only then `stated` means that it was read."""
    open: bool
    """Whether the paper leaves the decision open; then `stated` means that it was settled."""


class ResultRow(TypedDict):
    """One row of results.jsonl: the verdict on one prediction row."""

    run_id: str
    instance_id: str
    category: str
    model_name_or_path: str
    setting: str
    track: str
    sample: int
    prediction_sha256: str
    status: str
    """The worst of all cases: `passed` is robust."""
    core_status: str
    """The worst of the core cases: `passed` is reproduced."""
    detail: str
    memorised: NotRequired[bool]
    """Passes every published seed and fails a fresh one; only in runs with fresh seeds."""
    core_memorised: NotRequired[bool]
    """The same for the core cases alone."""
    cases: list[CaseRow]
    functions: NotRequired[list[PartRow]]
    """The functions of a method; missing for a single goal function."""
    experiments: NotRequired[list[PartRow]]
    """The experiments of a method, which test no function alone; else missing."""
    choices: NotRequired[list[ChoiceRow]]
    """The options that the answer implements; only if the paper is altered."""
    searches_table: NotRequired[bool]
    """The answer holds numbers of its paper's tables; only with experiments."""
    duration_s: float
    """Wall time in the sandbox in seconds."""
    cpu_s: NotRequired[float | None]
    """CPU time in the sandbox in seconds; None if unknown."""
    sandbox: str
    image_id: str
    dataset: str
    dataset_sha256: str
    recordings_sha256: str
    harness_version: str
    started_at: str


def setting_label(setting: str, paper: str, pages: str, temperature: float | None) -> str:
    """Return the setting in rows, with the form of the paper and the temperature if not default."""
    parts = [setting, {"text": "", "none": "no paper"}.get(paper, f"{paper} {pages}".strip())]
    if temperature is not None:
        parts.append(f"temperature {temperature:g}")
    return ", ".join(filter(None, parts))
