"""Read method.yaml: a paper's method, its counterfactuals and its underspecified instances."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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
    for where, fields, chosen in _altered(folder, facts, COUNTERFACTUAL):
        _check_options(where, chosen, choices)
        yield Altered(**fields, chosen=chosen)


def read_underspecified(
    folder: Path, facts: Mapping[str, Any], choices: Sequence[Choice]
) -> Iterator[Underspecified]:
    """Yield the underspecified instances of method.yaml."""
    for where, fields, stated in _altered(folder, facts, UNDERSPECIFIED):
        _check_options(f"{where}.options", stated["options"], choices)
        for problem in _faults(stated, {choice.name for choice in choices}):
            raise InputError(f"{where}{problem}")
        item = _underspecified(fields, stated)
        _check_tables(folder / item.experiments, item.tables, where)
        yield item


def _altered(
    folder: Path, facts: Mapping[str, Any], config: str
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield place, fields of the method under another name, and entry of each altered instance."""
    for index, stated in enumerate(facts.get(config, ())):
        fields = _method_facts(facts)
        fields["instance_id"] = altered_id(facts, config, index)
        fields["equivalent_mutants"] = {}
        yield f"{folder / METHOD_FILE}: {config}[{index}]", fields, stated


def _check_tables(path: Path, names: Sequence[str], where: str) -> None:
    code = read_text(path)
    for name in names:
        if f"def table_{name}(" not in code:
            raise InputError(f"{path}: no function table_{name}; {where} names it")


def _underspecified(fields: Mapping[str, Any], stated: Mapping[str, Any]) -> Underspecified:
    context_files = (*fields["context_files"], EXPERIMENTS)
    return Underspecified(
        **{**fields, "context_files": context_files},
        chosen=stated["options"],
        open=tuple(stated["open"]),
        tables=tuple(stated["tables"]),
        cpu_budget_s=stated["cpu_budget_s"],
        difficulty=stated.get("difficulty", EASY),
        experiments=stated.get("experiments", EXPERIMENTS),
        equal_outsiders=stated.get("equal_outsiders", {}),
    )


def _faults(stated: Mapping[str, Any], known: Set[str]) -> Iterator[str]:
    """Yield what is wrong with the choices that an item opens: key and problem."""
    opened = set(stated["open"])
    yield from _unknown_choices("open", opened, known)
    yield from _unknown_choices("unfit", stated.get("unfit", ()), known)
    for name in sorted(stated["options"].keys() - opened):
        yield f".options: the choice {name!r} is not open; add it to open"
    if stated.get("difficulty", EASY) != EASY:
        yield from _faults_of_mixed(stated, known)


def _unknown_choices(key: str, names: Iterable[str], known: Set[str]) -> Iterator[str]:
    for name in sorted(set(names) - known):
        yield f".{key}: the choice {name!r} is unknown; known: {', '.join(sorted(known))}"


def _faults_of_mixed(stated: Mapping[str, Any], known: Set[str]) -> Iterator[str]:
    """Yield why a hard or silent item does not open all choices that its one table can settle."""
    item = f"a {stated['difficulty']} item"
    least, most = HARD_CHOICES
    for name in sorted(known - {*stated["open"], *stated.get("unfit", ())}):
        yield f".open: {item} opens all choices; add {name!r}, or the reason against it to unfit"
    if not least <= len(stated["open"]) <= most:
        yield f".open: {item} opens {least} to {most} choices"
    if len(stated["tables"]) != 1:
        yield f".tables: {item} has one table"
    if stated["difficulty"] == SILENT and len(stated["options"]) < MIN_DEPARTURES:
        yield f".options: {item} has at least {MIN_DEPARTURES} departures"


def altered_id(facts: Mapping[str, Any], config: str, index: int) -> str:
    """Return the id of an instance with other options."""
    return f"{facts['instance_id'].removesuffix(f'-{METHOD}')}-{config}-{index + 1}"


def _check_options(where: str, chosen: Mapping[str, str], choices: Sequence[Choice]) -> None:
    """Check that the options of an instance exist and were not published."""
    options = {choice.name: list(choice.code) for choice in choices}
    for name, option in chosen.items():
        if name not in options:
            known = ", ".join(options)
            raise InputError(f"{where}: the choice {name!r} is unknown; known: {known}")
        if option not in options[name]:
            known = ", ".join(options[name])
            raise InputError(
                f"{where}.{name}: {option!r} is not an unpublished option; known: {known}"
            )


#: Fields of an instance that task.yaml and method.yaml state under the same name.
_SHARED = ("instance_id", "category", "equivalent_mutants")


def instance_facts(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that all instances share."""
    facts = {name: raw[name] for name in _SHARED if name in raw}
    for name in ("context_files", "depends_on", "evidence"):
        facts[name] = tuple(raw.get(name, ()))
    limits = {**raw["tests"], "seeds": tuple(raw["tests"]["seeds"])}
    return {**facts, "instruction": raw["instruction"].strip(), "tests": Tests(**limits)}
