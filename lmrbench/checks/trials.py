"""Trials: answers with a known outcome that a sound task must confirm; findings of a check."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Self

from lmrbench_data.base.archive import matching
from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.source import SourceError, parse
from lmrbench_data.base.splice import defines, splice_functions
from lmrbench_data.tasks.problems import Problem, Severity
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
        if self is Must.PASS:
            return verdict.status is Status.PASSED
        reproduced = verdict.core_status is Status.PASSED
        if self is Must.FAIL_CORE:
            return not reproduced
        return reproduced and not (self is Must.BREAK_CONTRACT and verdict.status is Status.PASSED)


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
        # A wrong answer fails for a core case; that it also breaks the contract proves nothing.
        is_wrong = self.must is Must.FAIL_CORE and verdict.core_status is not Status.PASSED
        reason = verdict.reason(core=is_wrong)
        error = self._error(verdict, reason)
        statuses = (verdict.status, verdict.core_status)
        return Finding.of(self.instance_id, self.name, error, reason, *statuses)

    def _error(self, verdict: Verdict, reason: str) -> str:
        if not self.must.holds(verdict):
            return f"{self.must.value}{_outcome(verdict)}"
        problem = self._proves_nothing(verdict) if self.must is Must.FAIL_CORE else ""
        return problem and f"{problem}: {reason}"

    def _proves_nothing(self, verdict: Verdict) -> str:
        """Return why the failure of a wrong answer does not show that the cases notice it."""
        if verdict.status is Status.MALFORMED:
            return "cannot be applied, so it proves nothing"
        cases = verdict.cases
        if cases and all(case.detail.startswith(BROKEN) for case in cases):
            return "is broken code, not a misread method"
        failed = {case.status for case in cases if case.core} - {Status.PASSED}
        if failed == {Status.ERROR} and self.name.startswith(f"{WRONG}/"):
            return "raises where it must return a wrong value, so it proves nothing"
        return ""


def _outcome(verdict: Verdict) -> str:
    """Describe a verdict that is not the required one."""
    if verdict.status is Status.PASSED:
        return ", but passes; the cases do not notice it"
    if verdict.core_status is Status.PASSED:
        return f", but only other cases notice it: {verdict.reason()}"
    return f": {verdict.reason(core=True)}"


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
        parts = (self.severity, self.subject, self.where, self.status, self.message)
        return ": ".join(filter(None, parts))


def make_trials(task: Task, instance: Instance) -> Iterator[Trial]:
    """Yield the trials of an instance: golden, masked, options of altered papers, and variants."""
    masked = task.masked_repo(instance)
    texts = {path: masked[path].data.decode("utf-8") for path in instance.goals}
    yield _trial(instance, "golden", task.golden_files(instance), Must.PASS)
    yield _trial(instance, "masked", texts, Must.FAIL_CORE)
    if instance.configuration.is_altered:
        yield from _option_trials(task, instance)
    for kind in instance.configuration.variants:
        for path in task.variants(instance, kind):
            answer = variant_files(task, instance, path) if path.is_dir() else read_variant(path)
            if answer:
                yield _trial(instance, f"{kind}/{path.name}", answer, VARIANTS[kind])


def _option_trials(task: Task, instance: Instance) -> Iterator[Trial]:
    """Yield the published method, and the reference with one other option: all must fail."""
    answers: dict[str, Mapping[str, str]] = {"published": {}}
    for choice in task.choices:
        for option in choice.options:
            if option != instance.option_of(choice):
                answers[f"{choice.name}={option}"] = {**instance.chosen, choice.name: option}
    for name, chosen in answers.items():
        files = task.golden_files(dataclasses.replace(instance, chosen=chosen))
        yield _trial(instance, f"option/{name}", files, Must.FAIL_CORE)


def _trial(instance: Instance, name: str, answer: str | Mapping[str, str], must: Must) -> Trial:
    """Make a trial of a function's source, or of whole files."""
    if isinstance(answer, str):
        form, content = "function", answer
    else:
        form, content = "files", json.dumps(answer)
    prediction = Prediction(instance.instance_id, "check", form, content)
    return Trial(instance.instance_id, name, prediction, must)


def variant_files(task: Task, method: Instance, folder: Path) -> dict[str, str]:
    """Return a method's goal files with the functions of a variant, which is a folder.

    Raises:
        InputError: a file is not a goal file, is not Python, or defines no goal function.
    """
    files = task.golden_files(method)
    for file in matching(folder, "**/*.py"):
        path = file.relative_to(folder).as_posix()
        if path not in files:
            raise InputError(f"{file}: {path} is not a goal file; known are {', '.join(files)}")
        try:
            files[path] = _with_functions(files[path], method.goals[path], file)
        except (SourceError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from error
    return files


def _with_functions(text: str, goals: Sequence[str], file: Path) -> str:
    """Return a goal file with the functions that a file of a variant defines."""
    source = file.read_text(encoding="utf-8")
    tree = parse(source)
    names = [name for name in goals if defines(tree, name, goals)]
    if not names:
        raise SourceError("defines none of the goal functions of its namesake")
    return splice_functions(text, names, source)
