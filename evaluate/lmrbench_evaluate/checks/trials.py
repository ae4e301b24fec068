"""What is proved of a task: probes, each an answer with what it must come to, and the findings that come of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from lmrbench_data.base.text import counted
from lmrbench_data.tasks.task import Implementation, Task

from ..predictions.prediction import Prediction
from ..verdict.verdict import Status, Verdict
from .faults import read_variant
from .mutants import make_mutants

#: The name of the finding that says which cases vary with the seed.
SEEDS = "seeds"
#: The name of the finding that says which cases a trivial answer passes.
TRIVIAL = "trivial answers"
#: The name of the finding that says what a quick look left out.
UNTRIED = "not tried"
#: The name of the finding that stands for all of an instance that was checked before.
BEFORE = "checked before"


class Must(Enum):
    """What an answer must come to; the value says it of one that does not."""

    PASS = "must pass"
    REPRODUCE = "must pass every core case"
    BE_CARELESS = "must pass every core case and fail another"
    MISREAD = "must fail a core case"
    BE_NOTICED = "must not pass"

    def holds(self, verdict: Verdict) -> bool:
        """Whether a verdict is what was asked for."""
        robust, reproduced = verdict.status is Status.PASSED, verdict.core_status is Status.PASSED
        return {
            Must.PASS: robust,
            Must.REPRODUCE: reproduced,
            Must.BE_CARELESS: reproduced and not robust,
            Must.MISREAD: not reproduced,
            Must.BE_NOTICED: not robust,
        }[self]


#: What each kind of variant must come to.
VARIANTS = {"valid": Must.PASS, "plain": Must.REPRODUCE, "careless": Must.BE_CARELESS, "wrong": Must.MISREAD}


@dataclass(frozen=True)
class Probe:
    """One thing to prove: what an answer must come to."""

    instance_id: str
    name: str
    """`golden`, `masked`, `<kind of variant>/<file>`, `mutant/<line before> => <line after>`, or `equivalent/...` for a
    mutant that the task says nobody can tell from the reference."""
    prediction: Prediction
    must: Must

    @property
    def is_mutant(self) -> bool:
        """A mutant may be any nonsense, as long as the cases notice it."""
        return self.name.startswith(("mutant/", "equivalent/"))


@dataclass(frozen=True)
class Finding:
    """A probe and what it came to; without a verdict, a fault that was found by reading, or a note."""

    instance_id: str
    name: str
    ok: bool
    message: str
    status: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else --json shows of it."""

    @property
    def is_probe(self) -> bool:
        """Whether something was run or compared; a note is read off the task and its recording."""
        return self.name not in (SEEDS, TRIVIAL, UNTRIED, BEFORE)

    @property
    def telling_status(self) -> str:
        """The status that made it what it is: of a wrong variant that is in order, that of its core cases."""
        core = self.ok and self.name.startswith("wrong/")
        return str(self.facts["core_status"]) if core and "core_status" in self.facts else self.status

    def as_row(self) -> dict[str, Any]:
        """For --json."""
        return {
            "instance_id": self.instance_id,
            "probe": self.name,
            "ok": self.ok,
            "status": self.status,
            "message": self.message,
            **self.facts,
        }


def make_probes(task: Task, implementation: Implementation) -> Iterator[Probe]:
    """Golden, masked and the variants of an instance."""
    instance = implementation.instance_id

    def probe(name: str, form: str, content: str, must: Must) -> Probe:
        return Probe(instance, name, Prediction(instance, "check", form, content), must)

    yield probe("golden", "goal_file", task.golden_file(implementation), Must.PASS)
    masked = task.masked_repo(implementation)[implementation.goal_file].data.decode("utf-8")
    yield probe("masked", "goal_file", masked, Must.MISREAD)
    for kind, must in VARIANTS.items():
        for path in task.variants(implementation, kind):
            if text := read_variant(path):
                yield probe(f"{kind}/{path.name}", "function", text, must)


def first_of_each_kind(probes: Sequence[Probe]) -> tuple[list[Probe], Finding]:
    """The probes of a quick look, and the finding that says what it does not show."""
    first = {probe.name.partition("/")[0]: probe for probe in reversed(probes)}
    chosen = [probe for probe in probes if probe in first.values()]
    left = [probe.name for probe in probes if probe not in chosen]
    variants = sum("/" in probe.name for probe in probes)
    what = f"{len(left)} of {counted(variants, 'variant')}, repetition, two threads, demo and smoke tests"
    return chosen, Finding(probes[0].instance_id, UNTRIED, True, what, facts={"untried": left})


def mutant_probes(task: Task, implementation: Implementation) -> Iterator[Probe]:
    """Every mutant of an instance's reference."""
    instance = implementation.instance_id
    golden = task.golden_file(implementation)
    for mutant in make_mutants(golden, implementation.goal_function, implementation.remove):
        equivalent = mutant.name in implementation.equivalent_mutants
        name = f"{'equivalent' if equivalent else 'mutant'}/{mutant.name}"
        must = Must.PASS if equivalent else Must.BE_NOTICED
        yield Probe(instance, name, Prediction(instance, "check", "goal_file", mutant.source), must)


def unknown_equivalents(implementation: Implementation, tried: Sequence[Probe]) -> Iterator[Finding]:
    """Entries of `equivalent_mutants` that an edit of the reference has left behind."""
    known = {probe.name for probe in tried}
    for name in implementation.equivalent_mutants:
        if f"equivalent/{name}" not in known:
            message = "no such mutant of the reference: take it out of equivalent_mutants"
            yield Finding(implementation.instance_id, f"equivalent/{name}", False, message)
