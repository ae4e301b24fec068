"""Read method.yaml: a paper's method, its counterfactuals and its underspecified instances."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.strict_yaml import check, read_yaml
from ..loader import COUNTERFACTUAL, METHOD, UNDERSPECIFIED
from .choices import Choice, read_text
from .experiments import EASY, HARD_CHOICES, MIN_DEPARTURES, SILENT
from .experiments import FILE as EXPERIMENTS
from .task import Altered, Instance, Method, Tests, Underspecified

#: File of a task that describes its instances of the configurations other than `function`.
METHOD_FILE = "method.yaml"


def read_method(folder: Path) -> tuple[Method | None, Mapping[str, Any]]:
    """Read method.yaml and return its method and its content; None and nothing if the task has none."""
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
    for number, chosen in enumerate(facts.get(COUNTERFACTUAL, ()), start=1):
        _check_options(f"{folder / METHOD_FILE}: {COUNTERFACTUAL}[{number - 1}]", chosen, choices)
        yield Altered(**_altered_facts(facts, COUNTERFACTUAL, number), chosen=chosen)


def read_underspecified(
    folder: Path, facts: Mapping[str, Any], choices: Sequence[Choice]
) -> Iterator[Underspecified]:
    """Yield the underspecified instances of method.yaml."""
    for number, stated in enumerate(facts.get(UNDERSPECIFIED, ()), start=1):
        where = f"{folder / METHOD_FILE}: {UNDERSPECIFIED}[{number - 1}]"
        opened, chosen = tuple(stated["open"]), stated["options"]
        if unknown := [name for name in opened if name not in {choice.name for choice in choices}]:
            raise InputError(f"{where}.open: the choice {unknown[0]!r} is unknown")
        _check_options(f"{where}.options", chosen, choices)
        if closed := chosen.keys() - {*opened}:
            raise InputError(
                f"{where}.options: the choice {min(closed)!r} is not open; add it to open"
            )
        difficulty = stated.get("difficulty", EASY)
        if difficulty != EASY:
            _check_mixed(where, difficulty, stated, choices)
        experiments = stated.get("experiments", EXPERIMENTS)
        code = read_text(folder / experiments)
        if lacking := [name for name in stated["tables"] if f"def table_{name}(" not in code]:
            raise InputError(
                f"{folder / experiments}: no function table_{lacking[0]}; {where} names it"
            )
        same = _altered_facts(facts, UNDERSPECIFIED, number)
        same["context_files"] = (*same["context_files"], EXPERIMENTS)
        yield Underspecified(
            **same,
            chosen=chosen,
            open=opened,
            tables=tuple(stated["tables"]),
            cpu_budget_s=stated["cpu_budget_s"],
            difficulty=difficulty,
            experiments=experiments,
            equal_outsiders=stated.get("equal_outsiders", {}),
        )


def _check_mixed(
    where: str, difficulty: str, stated: Mapping[str, Any], choices: Sequence[Choice]
) -> None:
    """Check that a hard or silent item opens all choices that a table can settle, and reports one table."""
    item = f"a {difficulty} item"
    opened, every = {*stated["open"], *stated.get("unfit", ())}, {choice.name for choice in choices}
    if stray := opened ^ every:
        raise InputError(
            f"{where}: {item} opens {min(stray)!r} or names it in unfit, and no other choices"
        )
    if not HARD_CHOICES[0] <= len(stated["open"]) <= HARD_CHOICES[1]:
        raise InputError(
            f"{where}.open: {item} opens {HARD_CHOICES[0]} to {HARD_CHOICES[1]} choices"
        )
    if len(stated["tables"]) != 1:
        raise InputError(f"{where}.tables: {item} has one table")
    if difficulty == SILENT and len(stated["options"]) < MIN_DEPARTURES:
        raise InputError(f"{where}.options: {item} has at least {MIN_DEPARTURES} departures")


def _altered_facts(facts: Mapping[str, Any], config: str, number: int) -> dict[str, Any]:
    """Return the fields of an instance with other options than the method of method.yaml."""
    return {
        **_method_facts(facts),
        "instance_id": altered_id(facts, config, number),
        "equivalent_mutants": {},
    }


def altered_id(facts: Mapping[str, Any], config: str, number: int) -> str:
    """Return the id of an instance with other options."""
    return f"{facts['instance_id'].removesuffix(f'-{METHOD}')}-{config}-{number}"


def _check_options(where: str, chosen: Mapping[str, str], choices: Sequence[Choice]) -> None:
    """Check that the options of an instance exist and were not published."""
    options = {choice.name: list(choice.code) for choice in choices}
    for name, option in chosen.items():
        if option not in options.get(name, ()):
            raise InputError(
                f"{where}.{name}: {option!r} is not an unpublished option of {options}"
            )


def instance_facts(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that all instances share."""
    names = {item.name for item in dataclasses.fields(Instance)} - {
        "goals",
        "removed",
        "contract",
        "shown_siblings",
    }
    lists = {key: tuple(raw.get(key, ())) for key in ("context_files", "depends_on", "evidence")}
    tests = Tests(**{**raw["tests"], "seeds": tuple(raw["tests"]["seeds"])})
    own = {key: value for key, value in raw.items() if key in names}
    return {**own, **lists, "instruction": raw["instruction"].strip(), "tests": tests}
