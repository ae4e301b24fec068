"""The overview of all tasks: benchmark/README.md and its picture, generated from the task folders.

Results of fresh readers come from benchmark/readers.yaml, which is written by hand.
"""

import dataclasses
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.extras import need
from ..base.paths import benchmark_option
from ..base.text import counted
from .choice_section import choice_section
from .manifest import Benchmark, load_benchmark
from .readers import read_readers
from .task import Task

PAGE, PICTURE = "README.md", "categories.svg"
_METHOD = """\
Language-model agents solved each instance from what the paper track shows and nothing else: no contract, cases,
reference or sibling. Each reader had one attempt, could run code, and was evaluated afterwards. One more reader had
instruction and repository without the paper. The numbers are the original ones; the note names later changes.
"""
_METHOD_READERS = """\
One reader with the paper and another one without it wrote each method in one attempt, without running code.
"""
_INK, _BAR = "#24292f", "#1f5fa8"


def task_facts(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return the facts of each selected instance, in order of the task folders.

    `lines` counts lines of the repository's Python files; `depends_on` names the files that a solution needs.
    """
    return [
        {
            "instance_id": item.instance_id,
            "task": task.name,
            "category": item.category,
            "paper": task.paper["title"],
            "paper_url": task.paper["url"],
            "venue": task.paper["venue"],
            "year": task.paper["year"],
            "goals": [f"{file}:{name}" for file, names in item.goals.items() for name in names],
            "files": len(task.repo),
            "lines": sum(file.data.count(b"\n") for name, file in task.repo.items() if name.endswith(".py")),
            "depends_on": list(item.depends_on),
        }
        for task in tasks
        for item in task.instances
    ]


def goal_text(goals: Sequence[str]) -> str:
    """Return a goal function, or the number of them, for a table."""
    files = {goal.partition(":")[0] for goal in goals}
    return goals[0] if len(goals) == 1 else f"{len(goals)} functions in {counted(len(files), 'file')}"


def render_page(tasks: Sequence[Task]) -> str:
    """Return the text of benchmark/README.md."""
    facts = task_facts(tasks)
    categories = Counter(fact["category"] for fact in facts)
    papers = {fact["paper_url"] for fact in facts}
    folder = tasks[0].folder.parent
    lines = list(_page(facts, categories, len(papers), load_benchmark(folder)))
    methods = [dataclasses.replace(task, instances=(task.method,)) for task in tasks if task.method]
    if methods:
        lines += _methods(task_facts(methods))
    lines += choice_section(tasks)
    if readers := read_readers(folder):
        lines += _readers(readers, {fact["instance_id"] for fact in task_facts(methods)})
    return "\n".join(lines) + "\n"


def write_page(tasks: Sequence[Task]) -> tuple[Path, Path]:
    """Write the page and its figure; return their paths."""
    page, figure = (tasks[0].folder.parent / name for name in (PAGE, PICTURE))
    page.write_text(render_page(tasks), encoding="utf-8")
    draw_picture(tasks, figure)
    return page, figure


def check_page(tasks: Sequence[Task]) -> None:
    """Check that the page is up to date.

    Raises:
        InputError: it is not.
    """
    folder = tasks[0].folder.parent
    path = folder / PAGE
    if not path.is_file() or path.read_text(encoding="utf-8") != render_page(tasks):
        raise InputError(f"{path}: is not up to date; run `lmrbench tasks page{benchmark_option(folder)}`")


def _methods(facts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the section on methods."""
    yield ""
    yield "## Methods"
    yield ""
    yield "The configuration `method` masks all functions that carry a paper's method. Every case is core."
    yield ""
    yield "| instance | category | masked |"
    yield "|---|---|---|"
    for fact in facts:
        masked = f"[{goal_text(fact['goals'])}]({fact['task']}/method.yaml)"
        yield f"| `{fact['instance_id']}` | {fact['category']} | {masked} |"


def _readers(readers: dict[str, dict[str, Any]], methods: Container[str]) -> Iterator[str]:
    """Yield the lines of the section on fresh readers."""
    yield ""
    yield "## Fresh readers"
    yield ""
    yield _METHOD
    of_functions = {name: facts for name, facts in readers.items() if name not in methods}
    yield from _reader_table(of_functions, ("reproduced", "robust"))
    if of_methods := {name: facts for name, facts in readers.items() if name in methods}:
        yield ""
        yield "### Methods"
        yield ""
        yield _METHOD_READERS
        yield from _reader_table(of_methods, ("reproduced",))


def _reader_table(readers: dict[str, dict[str, Any]], levels: Sequence[str]) -> Iterator[str]:
    """Yield the rates of readers and a table of instances."""
    attempts = sum(facts["attempts"] for facts in readers.values())
    reached = {level: sum(facts[level] for facts in readers.values()) for level in levels}
    without = sum(facts["without_paper"] for facts in readers.values())
    rate = f"{100 * reached['reproduced'] / attempts:.0f} %"
    robust = f"; {reached['robust']} were also robust" if "robust" in levels else ""
    yield f"{reached['reproduced']} of {attempts} attempts reproduced the method ({rate}){robust}."
    yield f"Without the paper {without} of {len(readers)} instances were reproduced: for these the repository, or the"
    yield "reader's own knowledge, is enough."
    yield ""
    yield f"| instance | {' | '.join(levels)} | without the paper | note |"
    yield "|---|---|---|" + "---|" * len(levels)
    for instance, facts in sorted(readers.items()):
        counts = [f"{facts[name]}/{facts['attempts']}" for name in levels]
        alone = "reproduced: paper not needed" if facts["without_paper"] else "not reproduced"
        yield f"| `{instance}` | {' | '.join(counts)} | {alone} | {_cell(facts['note']) or '-'} |"


def _page(
    facts: Sequence[dict[str, Any]], categories: Counter[str], papers: int, benchmark: Benchmark
) -> Iterator[str]:
    yield "<!-- Written by `lmrbench tasks page`: edit the tasks, not this file. -->"
    yield "# The tasks" if benchmark.is_lmr_bench else f"# The tasks of {benchmark.title}"
    yield ""
    yield f"{len(facts)} instances from {papers} papers in {len(categories)} categories. Each folder is a paper."
    if benchmark.is_lmr_bench:
        yield "[CONTRIBUTING.md](../CONTRIBUTING.md) describes how to make a task."
    yield "`lmrbench tasks show ID` shows an instance as a model sees it."
    yield ""
    yield f"![Instances by category]({PICTURE})"
    yield ""
    yield "| category | instances |"
    yield "|---|---|"
    for name, count in sorted(categories.items(), key=lambda item: (-item[1], item[0])):
        yield f"| {name} | {count} |"
    yield ""
    yield "*Files* and *lines* are those of the reference repository (lines of Python)."
    yield "*Depends on* names the other files that a solution needs."
    yield ""
    yield "| instance | paper | category | goal function | files | lines | depends on |"
    yield "|---|---|---|---|---|---|---|"
    for fact in facts:
        venue = fact["venue"] if str(fact["year"]) in fact["venue"] else f"{fact['venue']}; {fact['year']}"
        paper = f"[{_cell(fact['paper'])}]({fact['paper_url']}) ({_cell(venue)})"
        file, _, function = fact["goals"][0].partition(":")
        goal = f"[`{function}`]({fact['task']}/repo/{file})"
        depends = ", ".join(f"`{name}`" for name in fact["depends_on"]) or "-"
        cells = (f"`{fact['instance_id']}`", paper, fact["category"], goal, fact["files"], fact["lines"], depends)
        yield f"| {' | '.join(map(str, cells))} |"


def draw_picture(tasks: Sequence[Task], path: Path) -> None:
    """Draw the number of instances by category as SVG, text kept as text."""
    need("report", "the picture of the categories")
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    counts = Counter(fact["category"] for fact in task_facts(tasks))
    names = sorted(counts, key=lambda name: (counts[name], name))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lmr-bench", "font.size": 11}):
        figure = Figure(figsize=(8, 0.8 + 0.4 * len(names)), facecolor="white")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        bars = axes.barh(names, [counts[name] for name in names], height=0.62, color=_BAR)
        axes.bar_label(bars, padding=4, color=_INK)
        axes.set_xlabel("instances", color=_INK)
        axes.tick_params(colors=_INK, length=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for side in axes.spines.values():
            side.set_visible(False)
        figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|")
