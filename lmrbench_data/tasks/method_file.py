"""Read method.yaml: a paper's method, its counterfactuals and its underspecified instances."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.strict_yaml import check, read_yaml
from ..loader import COUNTERFACTUAL, METHOD, UNDERSPECIFIED
from .choices import Choice, read_text
from .experiments import EASY, HARD_CHOICES, MIN_DEPARTURES, SILENT
from .experiments import FILE as EXPERIMENTS
from .task import Altered, Method, Tests, Underspecified

#: File of a task that describes its instances of the configurations other than `function`.
METHOD_FILE = "method.yaml"


def read_method(folder: Path) -> tuple[Method | None, Mapping[str, Any]]:
    """Read method.yaml and return its method and its content; nothing if the task has none."""
    path = folder / METHOD_FILE
    if not path.exists():
        return None, {}
    facts = read_yaml(path)
    check(facts, "method.schema.json", path)
    return Method(**_method_facts(facts)), facts


def _method_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**instance_facts(facts), "goals": facts["goals"], "removed": facts.get("remove", {})}


def read_counterfactuals(
    folder: Path, facts: Mapping[str, Any], choices: Sequence[Choice]
) -> Iterator[Altered]:
    """Yield the counterfactuals of method.yaml."""
    for index, chosen in enumerate(facts.get(COUNTERFACTUAL, ())):
        _check_options(f"{folder / METHOD_FILE}: {COUNTERFACTUAL}[{index}]", chosen, choices)
        yield Altered(**_altered_facts(facts, COUNTERFACTUAL, index), chosen=chosen)


def read_underspecified(
    folder: Path, facts: Mapping[str, Any], choices: Sequence[Choice]
) -> Iterator[Underspecified]:
    """Yield the underspecified instances of method.yaml."""
    for index, stated in enumerate(facts.get(UNDERSPECIFIED, ())):
        where = f"{folder / METHOD_FILE}: {UNDERSPECIFIED}[{index}]"
        _check_options(f"{where}.options", stated["options"], choices)
        _check_open(where, stated, choices)
        item = _underspecified(facts, index, stated)
        _check_tables(folder / item.experiments, item.tables, where)
        yield item


def _check_tables(path: Path, names: Sequence[str], where: str) -> None:
    code = read_text(path)
    for name in names:
        if f"def table_{name}(" not in code:
            raise InputError(f"{path}: no function table_{name}; {where} names it")


def _underspecified(
    facts: Mapping[str, Any], index: int, stated: Mapping[str, Any]
) -> Underspecified:
    fields = _altered_facts(facts, UNDERSPECIFIED, index)
    fields["context_files"] += (EXPERIMENTS,)
    return Underspecified(
        **fields,
        chosen=stated["options"],
        open=tuple(stated["open"]),
        tables=tuple(stated["tables"]),
        cpu_budget_s=stated["cpu_budget_s"],
        difficulty=stated.get("difficulty", EASY),
        experiments=stated.get("experiments", EXPERIMENTS),
        equal_outsiders=stated.get("equal_outsiders", {}),
    )


def _check_open(where: str, stated: Mapping[str, Any], choices: Sequence[Choice]) -> None:
    """Check that an item opens known choices, among them all whose true option is unpublished."""
    known = {choice.name for choice in choices}
    for name in stated["open"]:
        if name not in known:
            raise InputError(f"{where}.open: the choice {name!r} is unknown")
    for name in stated["options"]:
        if name not in stated["open"]:
            problem = f"the choice {name!r} is not open; add it to open"
            raise InputError(f"{where}.options: {problem}")
    if stated.get("difficulty", EASY) != EASY:
        _check_mixed(where, stated, known)


def _check_mixed(where: str, stated: Mapping[str, Any], known: set[str]) -> None:
    """Check that a hard or silent item opens all choices that its one table can settle."""
    item = f"a {stated['difficulty']} item"
    least, most = HARD_CHOICES
    for name in known.symmetric_difference([*stated["open"], *stated.get("unfit", ())]):
        problem = f"{item} opens {name!r} or names it in unfit, and no other choices"
        raise InputError(f"{where}: {problem}")
    if not least <= len(stated["open"]) <= most:
        raise InputError(f"{where}.open: {item} opens {least} to {most} choices")
    if len(stated["tables"]) != 1:
        raise InputError(f"{where}.tables: {item} has one table")
    departures = len(stated["options"])
    if stated["difficulty"] == SILENT and departures < MIN_DEPARTURES:
        raise InputError(f"{where}.options: {item} has at least {MIN_DEPARTURES} departures")


def _altered_facts(facts: Mapping[str, Any], config: str, index: int) -> dict[str, Any]:
    """Return the fields of an instance with other options than the method of method.yaml."""
    names = {"instance_id": altered_id(facts, config, index), "equivalent_mutants": {}}
    return {**_method_facts(facts), **names}


def altered_id(facts: Mapping[str, Any], config: str, index: int) -> str:
    """Return the id of an instance with other options."""
    return f"{facts['instance_id'].removesuffix(f'-{METHOD}')}-{config}-{index + 1}"


def _check_options(where: str, chosen: Mapping[str, str], choices: Sequence[Choice]) -> None:
    """Check that the options of an instance exist and were not published."""
    options = {choice.name: list(choice.code) for choice in choices}
    for name, option in chosen.items():
        if option not in options.get(name, ()):
            problem = f"{option!r} is not an unpublished option of {options}"
            raise InputError(f"{where}.{name}: {problem}")


#: Fields of an instance that task.yaml and method.yaml state under the same name.
_SHARED = ("instance_id", "category", "equivalent_mutants")


def instance_facts(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that all instances share."""
    facts = {name: raw[name] for name in _SHARED if name in raw}
    for name in ("context_files", "depends_on", "evidence"):
        facts[name] = tuple(raw.get(name, ()))
    limits = {**raw["tests"], "seeds": tuple(raw["tests"]["seeds"])}
    return {**facts, "instruction": raw["instruction"].strip(), "tests": Tests(**limits)}
