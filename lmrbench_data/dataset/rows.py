"""Types of rows: of the dataset, of predictions, of results."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from ..base.errors import ArgumentError
from ..base.near import did_you_mean
from ..base.shares import RANKED_BY
from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED, row_sha256

#: A model sees instruction, paper and repository; in the track `contract` also the contract.
TRACKS = tuple(RANKED_BY)


class DeclaredCase(TypedDict):
    """Level and comparison of one case (`lmrbench_evaluate/verdict/compare.py`)."""

    name: str
    core: bool
    """Whether the case follows from paper and repository alone; otherwise it tests the contract."""
    varies: bool
    """Whether the recorded output depends on the seed; other cases run on the first seed only."""
    rtol: float
    atol: float
    exact: bool
    unordered: bool
    sign_invariant: bool
    checker: str
    goals: NotRequired[list[str]]
    """The functions of a method that the case tests; empty for an experiment."""


class Tests(TypedDict):
    """Seeds, limits and cases of an instance."""

    seeds: list[int]
    timeout_s: int
    memory_mb: int
    cases: list[DeclaredCase]


class RecordingFacts(TypedDict):
    """Origin of the expected outputs of a row."""

    sha256: str
    image: str
    sandbox: str
    cpu: str


class Goals(TypedDict):
    """Functions to write in one file."""

    file: str
    functions: list[str]


class SourceFile(TypedDict):
    """A file and its text."""

    path: str
    text: str


class Option(TypedDict):
    """An option of a choice."""

    name: str
    expected: bytes
    """Recorded outputs with this option and all others as published, for the cases of any choice (the runner's frames,
    gzipped)."""


class Choice(TypedDict):
    """A decision of the method, and its options."""

    name: str
    question: str
    published: str
    stated: str
    """The option that the paper of this row states, or that its tables show if the choice is open."""
    open: bool
    """Whether the paper leaves the decision open."""
    cases: list[str]
    """The cases that test this choice alone."""
    options: list[Option]


class DatasetRow(TypedDict):
    """One instance of the benchmark (`column_descriptions.py` describes the columns).

    A row of the configuration `method` has `goals` and `golden_files`; one of `function` has the columns of its single
    goal function and a contract.
    """

    instance_id: str
    category: str
    paper_title: str
    paper_url: str
    arxiv_id: str
    venue: str
    year: int
    upstream_repo: str
    instruction: str
    contract: NotRequired[str]
    paper_text: str
    repo_name: str
    repo_archive: bytes
    repo_sha256: str
    goal_file: NotRequired[str]
    goal_function: NotRequired[str]
    class_name: NotRequired[str]
    goals: NotRequired[list[Goals]]
    choices: NotRequired[list[Choice]]
    cpu_budget_s: NotRequired[int]
    context_files: list[str]
    evidence: list[str]
    """Passages of the masked repository for judges (`passages.read_passage`)."""
    golden_file: NotRequired[str]
    golden_files: NotRequired[list[SourceFile]]
    tests_archive: bytes
    expected: bytes
    recording: RecordingFacts
    tests: Tests
    test_protocol: str
    """Always `cases`."""
    docker_image: str
    benchmark_version: str
    license: str
    canary: str
    row_sha256: str


class PredictionRow(TypedDict):
    """One answer of one model: it has exactly one of `function`, `goal_file`, `model_patch`, `files`, `functions`."""

    instance_id: str
    model_name_or_path: str
    function: NotRequired[str]
    goal_file: NotRequired[str]
    model_patch: NotRequired[str]
    files: NotRequired[Mapping[str, str]]
    """Path → text."""
    functions: NotRequired[Mapping[str, str]]
    """`path::name` → source."""
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
    altered: bool
    """Whether the paper states an option that was not published; only then does `stated` mean that it was read."""
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
    """Passes every published seed and fails a fresh one; missing in older results."""
    core_memorised: NotRequired[bool]
    """The same for the core cases alone."""
    cases: list[CaseRow]
    functions: NotRequired[list[PartRow]]
    """The functions of a method; missing for a single goal function."""
    experiments: NotRequired[list[PartRow]]
    """The experiments of a method, which test no function alone; missing for a single goal function."""
    choices: NotRequired[list[ChoiceRow]]
    """The options that the answer implements; only in the configurations counterfactual and underspecified."""
    duration_s: float
    """Wall time in the sandbox in seconds."""
    cpu_s: NotRequired[float | None]
    """CPU time in the sandbox in seconds; None if unknown, missing in older results."""
    sandbox: str
    image_id: str
    dataset: str
    dataset_sha256: str
    recordings_sha256: str
    harness_version: str
    started_at: str


def goals_of(row: DatasetRow) -> dict[str, list[str]]:
    """Return file → qualified names of the functions to write."""
    if "goals" in row:
        return {item["file"]: item["functions"] for item in row["goals"]}
    return {row["goal_file"]: [row["goal_function"]]}


def is_method(row: DatasetRow) -> bool:
    """Whether a row asks for several functions."""
    return "goals" in row


def is_altered(row: Mapping[str, Any]) -> bool:
    """Tell whether the paper of a row is altered: its choices have other options, or are left open."""
    return "choices" in row


def config_of(row: DatasetRow) -> str:
    """Return the configuration that a row belongs to."""
    if not is_method(row):
        return FUNCTION
    if "cpu_budget_s" in row:
        return UNDERSPECIFIED
    return COUNTERFACTUAL if is_altered(row) else METHOD


def contract_of(row: DatasetRow) -> str:
    """Return the contract of a row.

    Raises:
        ArgumentError: methods have none.
    """
    if "contract" not in row:
        raise ArgumentError("track", f"{row['instance_id']}: a method has no contract; use the track paper")
    return row["contract"].strip()


def check_contracts(rows: Iterable[DatasetRow], track: str) -> None:
    """Check before a long piece of work that all rows can be shown in a track.

    Raises:
        ArgumentError: the track shows contracts, and methods have none.
    """
    if track == "contract":
        for row in rows:
            contract_of(row)


def golden_files_of(row: DatasetRow) -> dict[str, str]:
    """Return file → text of the reference."""
    if "golden_files" in row:
        return {item["path"]: item["text"] for item in row["golden_files"]}
    return {row["goal_file"]: row["golden_file"]}


def choose_rows(rows: Sequence[DatasetRow], instances: Sequence[str] = ()) -> list[DatasetRow]:
    """Return the rows of the given instances in this order, each once; by default all rows, sorted by instance id.

    Raises:
        ArgumentError: an instance is unknown.
    """
    known = {row["instance_id"]: row for row in rows}
    check_instances(instances, known)
    return [known[name] for name in dict.fromkeys(instances or sorted(known))]


def check_instances(instances: Iterable[str], known: Collection[str], command: str = "tasks list") -> None:
    """Check that instances are known.

    Args:
        command: command of `lmrbench` that lists the known instances.

    Raises:
        ArgumentError: an instance is unknown.
    """
    for name in instances:
        if name not in known:
            near = did_you_mean(name, known, within=True)
            raise ArgumentError("instances", f"{name!r} is unknown{near}; see `lmrbench {command}`")


def content_sha256(row: DatasetRow) -> str:
    """Hash what a check of a row proves: the row and its recorded outputs.

    No trial depends on the benchmark's version, nor on a published paper's text; checks of altered papers depend on
    their texts.
    """
    paper = row["paper_text"] if is_altered(row) else ""
    content = row_sha256({**row, "benchmark_version": "", "paper_text": paper})
    return hashlib.sha256(f"{content} {row['recording']['sha256']}".encode()).hexdigest()
