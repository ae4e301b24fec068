"""Trials: answers with a known outcome that a sound task must confirm, and the findings of a check."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Self

from lmrbench_data.base.archive import matching
from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.problems import Problem, Severity
from lmrbench_data.base.source import SourceError, parse
from lmrbench_data.base.splice import defines, splice_functions
from lmrbench_data.base.text_table import Table
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.verdict.verdict import Status, Verdict

from .static import read_variant

#: Place of the note on cases that vary with the seed.
SEEDS = "seeds"
#: Place of the note on cases that a trivial answer passes.
TRIVIAL = "trivial answers"
#: Place of the note on an instance that was checked before.
BEFORE = "checked before"
#: Exceptions that mean broken code rather than a misread method.
BROKEN = ("NameError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")


class Must(Enum):
    """The required outcome of a trial; the value is its wording in messages."""

    PASS = "must pass"
    REPRODUCE = "must pass every core case"
    BREAK_CONTRACT = "must pass every core case and fail another"
    FAIL_CORE = "must fail a core case"

    def holds(self, verdict: Verdict) -> bool:
        """Return whether a verdict is the required one."""
        robust, reproduced = verdict.status is Status.PASSED, verdict.core_status is Status.PASSED
        return {
            Must.PASS: robust,
            Must.REPRODUCE: reproduced,
            Must.BREAK_CONTRACT: reproduced and not robust,
            Must.FAIL_CORE: not reproduced,
        }[self]


#: Kind of variant → required outcome.
VARIANTS = {
    VALID: Must.PASS,
    PLAIN: Must.REPRODUCE,
    CARELESS: Must.BREAK_CONTRACT,
    WRONG: Must.FAIL_CORE,
}


@dataclass(frozen=True)
class Trial:
    """An answer and its required outcome."""

    instance_id: str
    name: str
    """`golden`, `masked`, `<kind of variant>/<file>` or `option/<choice>=<option>`."""
    prediction: Prediction
    must: Must

    def judge(self, verdict: Verdict) -> "Finding":
        """Compare a verdict with the required outcome.

        Raises:
            InfraError: there is no verdict on the answer.
        """
        if verdict.status is Status.INFRA_ERROR:
            raise InfraError(f"{self.instance_id} {self.name}: {verdict.detail}")
        # The reason is the core case that a wrong answer fails; breaking the contract as well proves nothing.
        misread = self.must is Must.FAIL_CORE and verdict.core_status is not Status.PASSED
        reason, error = verdict.reason(core=misread), ""
        statuses = {case.status for case in verdict.cases if case.core}
        if verdict.status is Status.MALFORMED and self.must is Must.FAIL_CORE:
            error = f"cannot be applied, so it proves nothing: {reason}"
        elif not self.must.holds(verdict):
            cause = f": {verdict.reason(core=True)}"
            if verdict.status is Status.PASSED:
                cause = ", but passes; the cases do not notice it"
            elif verdict.core_status is Status.PASSED:
                cause = f", but only other cases notice it: {verdict.reason()}"
            error = self.must.value + cause
        elif (
            misread
            and verdict.cases
            and all(case.detail.startswith(BROKEN) for case in verdict.cases)
        ):
            error = f"is broken code, not a misread method: {reason}"
        elif self.name.startswith(f"{WRONG}/") and Status.ERROR in statuses <= {
            Status.ERROR,
            Status.PASSED,
        }:
            error = f"raises where it must return a wrong value, so it proves nothing: {reason}"
        return Finding.of(
            self.instance_id, self.name, error, reason, verdict.status, verdict.core_status
        )


@dataclass(frozen=True)
class Finding(Problem):
    """The result of a trial or a comparison: an error, or a note if all is well.

    `subject` is the instance, or `<task>/repo`; `where` names the trial.
    """

    status: str = ""
    """The verdict's status; empty if nothing was evaluated."""
    core_status: str = ""
    """Its status on the core cases."""

    @classmethod
    def of(
        cls,
        subject: str,
        where: str,
        error: str,
        note: str = "",
        status: str = "",
        core_status: str = "",
    ) -> Self:
        """Make an error of a message, or a note if the message is empty."""
        severity = Severity.ERROR if error else Severity.NOTE
        return cls(subject, where, error or note, severity, status=status, core_status=core_status)

    @property
    def is_trial(self) -> bool:
        """Whether something was run or compared; notes are read off the task and its recording."""
        return self.where not in (SEEDS, TRIVIAL, BEFORE)

    def __str__(self) -> str:
        # A sound wrong variant passes or fails by its core cases.
        core = not self.is_error and self.where.startswith(f"{WRONG}/")
        status = self.core_status if core else self.status
        return ": ".join(
            filter(None, (self.severity, self.subject, self.where, status, self.message))
        )


def make_trials(task: Task, instance: Instance) -> Iterator[Trial]:
    """Yield the trials of an instance: golden, masked, variants, and for a counterfactual other options."""
    masked = task.masked_repo(instance)
    yield _trial(instance, "golden", "files", json.dumps(task.golden_files(instance)), Must.PASS)
    texts = {path: masked[path].data.decode("utf-8") for path in instance.goals}
    yield _trial(instance, "masked", "files", json.dumps(texts), Must.FAIL_CORE)
    if instance.configuration.is_altered:
        yield from _option_trials(task, instance)
    for kind in instance.configuration.variants:
        for path in task.variants(instance, kind):
            must = VARIANTS[kind]
            if path.is_dir():
                files = variant_files(task, instance, path)
                yield _trial(instance, f"{kind}/{path.name}", "files", json.dumps(files), must)
            elif text := read_variant(path):
                yield _trial(instance, f"{kind}/{path.name}", "function", text, must)


def _option_trials(task: Task, instance: Instance) -> Iterator[Trial]:
    """Yield the published method, and the reference with another option of one choice: all must fail."""

    def files(chosen: Mapping[str, str]) -> str:
        return json.dumps(task.golden_files(dataclasses.replace(instance, chosen=chosen)))

    yield _trial(instance, "option/published", "files", files({}), Must.FAIL_CORE)
    for choice in task.choices:
        stated = instance.option_of(choice)
        for option in choice.options:
            if option != stated:
                chosen = {**instance.chosen, choice.name: option}
                yield _trial(
                    instance,
                    f"option/{choice.name}={option}",
                    "files",
                    files(chosen),
                    Must.FAIL_CORE,
                )


def _trial(instance: Instance, name: str, form: str, content: str, must: Must) -> Trial:
    return Trial(
        instance.instance_id, name, Prediction(instance.instance_id, "check", form, content), must
    )


def variant_files(task: Task, method: Instance, folder: Path) -> dict[str, str]:
    """Return the goal files of a method's reference with the functions of a variant, a folder, in them.

    Raises:
        InputError: a file of the variant is not a goal file, is not Python, or defines no goal function.
    """
    files = task.golden_files(method)
    for file in matching(folder, "**/*.py"):
        path = file.relative_to(folder).as_posix()
        if path not in files:
            raise InputError(f"{file}: {path} is not a goal file; known are {', '.join(files)}")
        try:
            source = file.read_text(encoding="utf-8")
            tree = parse(source)
            names = [name for name in method.goals[path] if defines(tree, name, method.goals[path])]
            if not names:
                raise InputError(f"{file}: defines none of the goal functions of {path}")
            files[path] = splice_functions(files[path], names, source)
        except (SourceError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from error
    return files


def check_table(findings: Sequence[Finding]) -> Table:
    """Count the trials and errors of each instance in findings that are sorted by instance."""
    rows = []
    for instance, group in groupby(findings, key=lambda finding: finding.subject):
        own = list(group)
        trials, errors = (
            sum(finding.is_trial for finding in own),
            sum(finding.is_error for finding in own),
        )
        rows.append([instance, str(trials), str(errors)])
    return ["instance", "trials", "errors"], rows
