"""The rows of the dataset: their columns, and what they say."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from ..base.configurations import configuration_of, configurations_with
from ..base.errors import ArgumentError, InputError
from ..base.proportions import CONTRACT
from ..base.suggestions import did_you_mean
from ..loader import FUNCTION, row_sha256
from ..tasks.experiments import EASY

#: Configurations by what their rows have.
SINGLE = (FUNCTION,)
METHODS = configurations_with("is_method")
ALTERED = configurations_with("is_altered")
EXPERIMENTS = configurations_with("has_experiments")


class DeclaredCase(TypedDict):
    """Level and comparison of one case (`lmrbench_evaluate/verdict/compare.py`)."""

    name: Annotated[str, "Name of the case."]
    core: Annotated[
        bool,
        "Whether it follows from paper and repository alone; the other cases test the contract.",
    ]
    varies: Annotated[
        bool, "Whether its output depends on the seed; if not, it runs on the first seed only."
    ]
    rtol: Annotated[float, "Relative tolerance."]
    atol: Annotated[float, "Absolute tolerance."]
    exact: Annotated[bool, "Whether outputs must be equal to the last bit."]
    unordered: Annotated[bool, "Whether the order of the outermost list does not matter."]
    sign_invariant: Annotated[bool, "Whether each array counts up to a global sign."]
    checker: Annotated[str, "Another comparison in place of the default one; empty if none."]
    goals: NotRequired[
        Annotated[
            list[str],
            "Functions that the case tests (all configurations but function); "
            "none for an experiment.",
            METHODS,
        ]
    ]


class RowTests(TypedDict):
    """Seeds, limits and cases of an instance."""

    seeds: Annotated[list[int], "Seeds that each case runs with."]
    timeout_s: Annotated[int, "Limit of CPU time in seconds."]
    memory_mb: Annotated[int, "Memory limit in MiB."]
    cases: Annotated[list[DeclaredCase], "The cases and the comparisons of their outputs."]


class RecordingFacts(TypedDict):
    """Origin of the expected outputs of a row."""

    sha256: Annotated[str, "SHA-256 of `expected`."]
    image: Annotated[str, "Environment of the reference's run."]
    sandbox: Annotated[str, "Sandbox of the run."]
    cpu: Annotated[str, "CPU of the run; the last bits of floats depend on it."]


class Goals(TypedDict):
    """Functions to write in one file."""

    file: Annotated[str, "Path of the file."]
    functions: Annotated[
        list[str], "Names of the functions to write in it; `Class.method` for a method."
    ]


class SourceFile(TypedDict):
    """A file and its text."""

    path: Annotated[str, "Path of the file."]
    text: Annotated[str, "Its text."]


class Option(TypedDict):
    """An option of a choice, and the outputs of all cases with the other choices as published."""

    name: Annotated[str, "Name of the option."]
    expected: Annotated[bytes, "Recorded outputs with this option (bytes)."]


class RowChoice(TypedDict):
    """A decision of the method, and its options."""

    name: Annotated[str, "Name of the choice."]
    question: Annotated[str, "The decision as a question."]
    published: Annotated[str, "The published option."]
    stated: Annotated[
        str,
        "The option that the paper of this row states, "
        "or that its tables show if the choice is open.",
    ]
    open: Annotated[
        bool, "Whether the paper leaves the decision open, or may depart from it silently."
    ]
    cases: Annotated[list[str], "Cases that test this choice alone."]
    options: Annotated[list[Option], "All options. Not for models."]


class DatasetRow(TypedDict):
    """One instance of the benchmark: type, description and configurations of each column.

    `columns` derives the Arrow schema and the documentation from it.
    """

    instance_id: Annotated[str, "Name of the instance; unique."]
    category: Annotated[str, "Kind of research code."]
    paper_title: Annotated[str, "Title of the paper."]
    paper_url: Annotated[str, "Address of the paper."]
    arxiv_id: Annotated[str, "Its arXiv identifier; empty if it has none."]
    venue: Annotated[str, "Venue of the paper."]
    year: Annotated[int, "Year of the paper."]
    upstream_repo: Annotated[
        str, "The authors' own repository; none of its code is in this dataset."
    ]
    instruction: Annotated[
        str, "The request to implement, in the words of the paper's author: one to four sentences."
    ]
    contract: NotRequired[
        Annotated[
            str,
            "Every convention beyond paper and repository. "
            "Only the contract track shows it to a model.",
            SINGLE,
        ]
    ]
    paper_text: Annotated[str, "The method in our own words: notation, equations, algorithm."]
    repo_name: Annotated[str, "Name of the repository."]
    repo_archive: Annotated[
        bytes, "The repository with the goal function masked, a tar.gz (bytes)."
    ]
    repo_sha256: Annotated[str, "SHA-256 of the tar in `repo_archive`."]
    goal_file: NotRequired[Annotated[str, "Path of the file that holds the goal function.", SINGLE]]
    goal_function: NotRequired[
        Annotated[str, "Name of the function to write; `Class.method` for a method.", SINGLE]
    ]
    class_name: NotRequired[
        Annotated[str, "Class of the goal function; empty for a plain function.", SINGLE]
    ]
    goals: NotRequired[
        Annotated[
            list[Goals],
            "Files with masked functions "
            "(all configurations but function, in place of the three columns above).",
            METHODS,
        ]
    ]
    choices: NotRequired[
        Annotated[
            list[RowChoice],
            "Decisions of the method with their options "
            "(configurations counterfactual and underspecified).",
            ALTERED,
        ]
    ]
    cpu_budget_s: NotRequired[
        Annotated[
            int,
            "CPU seconds that experiments may take (configuration underspecified).",
            EXPERIMENTS,
        ]
    ]
    difficulty: NotRequired[
        Annotated[
            str,
            "`easy`: the paper leaves some decisions open; `hard`: all, and one table mixes them; "
            "`silent`: the paper states them all, and its table comes from an implementation that "
            "departs from some of them (configuration underspecified).",
            EXPERIMENTS,
        ]
    ]
    context_files: Annotated[list[str], "Files that standard prompting shows beside the goal file."]
    evidence: Annotated[list[str], "Passages of the repository that resolve ambiguities."]
    golden_file: NotRequired[
        Annotated[str, "The reference's whole goal file. Not for models.", SINGLE]
    ]
    golden_files: NotRequired[
        Annotated[
            list[SourceFile],
            "Goal files of the reference (all configurations but function, in place of "
            "`golden_file`). Not for models.",
            METHODS,
        ]
    ]
    tests_archive: Annotated[
        bytes, "The labelled inputs (`cases.py`), a tar.gz (bytes). Not for models."
    ]
    expected: Annotated[bytes, "Recorded outputs of the reference (bytes). Not for models."]
    recording: Annotated[RecordingFacts, "Origin of the recorded outputs."]
    tests: Annotated[RowTests, "Limits, seeds, and the comparison of each output."]
    test_protocol: Annotated[str, "How the tests run; `cases` in this version."]
    docker_image: Annotated[
        str, "Tag of the environment's image, which contains the hash of its build context."
    ]
    benchmark_version: Annotated[str, "Version of the benchmark."]
    license: Annotated[
        str, "Licence of the repository, instruction and tests; SPDX identifier in lower case."
    ]
    canary: Annotated[str, "Marker by which a training corpus can filter this dataset out."]
    row_sha256: Annotated[str, "SHA-256 of the row, without its recorded outputs."]


def goals_of(row: DatasetRow) -> dict[str, list[str]]:
    """Return file → qualified names of the functions to write."""
    if "goals" in row:
        return {item["file"]: item["functions"] for item in row["goals"]}
    return {row["goal_file"]: [row["goal_function"]]}


def config_of(row: DatasetRow) -> str:
    """Return the name of the configuration that a row belongs to."""
    return configuration_of(row).name


def only_functions(rows: Iterable[DatasetRow], tool: str) -> None:
    """Check that rows have one goal function each, which a tool needs."""
    for row in rows:
        if configuration_of(row).is_method:
            needed = "instances with one goal function (configuration function)"
            raise InputError(f"{row['instance_id']}: a method; {tool} needs {needed}")


def contract_of(row: DatasetRow) -> str:
    """Return the contract of a row."""
    if "contract" not in row:
        problem = f"{row['instance_id']}: a method has no contract; use the track paper"
        raise ArgumentError("track", problem)
    return row["contract"].strip()


def check_contracts(rows: Iterable[DatasetRow], track: str) -> None:
    """Check before a long piece of work that all rows can be shown in a track."""
    if track == CONTRACT:
        for row in rows:
            contract_of(row)


def golden_files_of(row: DatasetRow) -> dict[str, str]:
    """Return file → text of the reference."""
    if "golden_files" in row:
        return {item["path"]: item["text"] for item in row["golden_files"]}
    return {row["goal_file"]: row["golden_file"]}


def choose_rows(rows: Sequence[DatasetRow], instances: Sequence[str]) -> list[DatasetRow]:
    """Return the rows of the given instances in this order; without any, all rows sorted by id."""
    known = {row["instance_id"]: row for row in rows}
    check_instances(instances, known)
    return [known[name] for name in dict.fromkeys(instances or sorted(known))]


def check_instances(instances: Iterable[str], known: Collection[str]) -> None:
    """Check that instances are known."""
    for name in instances:
        if name not in known:
            raise ArgumentError(
                "instances",
                f"{name!r} is unknown{did_you_mean(name, known)}; see `lmrbench tasks list`",
            )


def content_sha256(row: DatasetRow) -> str:
    """Hash what a check of a row proves: the row and its recorded outputs.

    No trial depends on the benchmark's version, nor on a published paper's text; checks of altered
    papers depend on their texts. A difficulty counts unless it is `easy`, under the name that it
    had when the proofs were made.
    """
    content: dict[str, Any] = {**row, "benchmark_version": ""}
    if not configuration_of(row).is_altered:
        content["paper_text"] = ""
    difficulty = content.pop("difficulty", EASY)
    if difficulty != EASY:
        content["level"] = difficulty
    proved = f"{row_sha256(content)} {row['recording']['sha256']}"
    return hashlib.sha256(proved.encode()).hexdigest()
