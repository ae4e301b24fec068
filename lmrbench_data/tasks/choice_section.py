"""Sections of the benchmark's page on choices: their options, and how fresh readers decided them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .readers import read_choice_readers
from .task import Altered, Task, Underspecified

_TEXT = """\
Each reader, a language-model agent, saw what an agent sees and answered once. A reader without a shell ran no code; one
with a shell ran the repository's experiments within the budget of CPU time. Answers were evaluated afterwards. *As
stated* counts altered choices that were read, or open choices that were settled. *Chance* is the mean of one over the
number of options."""


def choice_section(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the lines on choices and their readers; none if no task has choices."""
    chosen = [task for task in tasks if task.choices]
    if not chosen:
        return
    yield ""
    yield "## Altered and open choices"
    yield ""
    yield "Papers with choices: decisions with several options, the published one first. The configuration"
    yield "`counterfactual` states other options; `underspecified` leaves choices open and reports results."
    yield ""
    yield "| paper | choices and options | combinations | counterfactual | underspecified |"
    yield "|---|---|---|---|---|"
    for task in chosen:
        options = "<br>".join(f"{choice.name}: {', '.join(choice.options)}" for choice in task.choices)
        combinations = math.prod(len(choice.options) for choice in task.choices)
        rows = f"{len(task.counterfactuals)} | {len(task.underspecified)}"
        yield f"| [{task.name}]({task.name}/method.yaml) | {options} | {combinations} | {rows} |"
    if attempts := read_choice_readers(tasks[0].folder.parent):
        yield ""
        yield "### Fresh readers of altered papers"
        yield ""
        yield _TEXT
        for config, title in (("counterfactual", "Counterfactual"), ("underspecified", "Underspecified")):
            every = [(task, item) for task in chosen for item in task.instances_of(config)]
            yield from _readers(title, every, attempts)


def _readers(
    title: str, instances: Sequence[tuple[Task, Any]], attempts: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield the attempts at the instances of one configuration, and their rates with and without a shell."""
    lines: list[str] = []
    totals: dict[str, list[float]] = {}
    for task, item in instances:
        for facts in attempts.get(item.instance_id, ()):
            shell = "with a shell" if facts["shell"] else "no shell"
            stated = stated_options(task, item)
            right = [name for name, option in stated.items() if facts["choices"].get(name) == option]
            others = [_said(task, name, facts["choices"].get(name, "")) for name in stated if name not in right]
            budget = f"{item.cpu_budget_s} s" if isinstance(item, Underspecified) else "-"
            reproduced = "yes" if facts["reproduced"] else "no"
            shares = f"{len(right)}/{len(stated)} | {', '.join(others) or '-'}"
            lines.append(f"| `{item.instance_id}` | {shell} | {budget} | {reproduced} | {shares} |")
            total = totals.setdefault(shell, [0, 0, 0, 0, 0.0])
            chance = sum(1 / len(choice.options) for choice in task.choices if choice.name in stated)
            for place, value in enumerate((1, facts["reproduced"], len(right), len(stated), chance)):
                total[place] += value
    if not lines:
        return
    yield ""
    yield f"#### {title}"
    yield ""
    for shell, (rows, whole, settled, every, chance) in sorted(totals.items()):
        shares = f"{100 * settled / every:.0f} %, chance {100 * chance / every:.0f} %"
        done = f"{whole:.0f} of {rows:.0f} reproduced, {settled:.0f} of {every:.0f} choices as stated"
        yield f"- {shell}: {done} ({shares})"
    yield ""
    yield "| instance | reader | CPU budget | reproduced | as stated | otherwise |"
    yield "|---|---|---|---|---|---|"
    yield from lines


def stated_options(task: Task, item: Altered) -> dict[str, str]:
    """Return the altered or open choices of an instance, and the options that are true there."""
    if isinstance(item, Underspecified):
        known = {choice.name: choice for choice in task.choices}
        return {name: item.option_of(known[name]) for name in item.open}
    return dict(item.chosen)


def _said(task: Task, name: str, option: str) -> str:
    published = next(choice.published for choice in task.choices if choice.name == name)
    return f"{name}: {option or 'none of the options'}{' (published)' if option == published else ''}"
