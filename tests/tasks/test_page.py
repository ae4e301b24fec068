"""The benchmark's page lists tasks, choices and options, and what fresh readers made of altered papers."""

from dataclasses import replace
from pathlib import Path

from lmrbench_data.tasks.overview import render_page
from lmrbench_data.tasks.task_folders import load_tasks
from support.toy_choices import add_toy_choices

READERS = """\
toy-counterfactual-1:
- {shell: false, reproduced: false, choices: {weights: exponential, average: size}}
toy-underspecified-1:
- {shell: false, reproduced: false, choices: {weights: '', average: count}}
- {shell: true, reproduced: true, choices: {weights: exponential, average: root}}
"""


def test_choices_and_the_attempts_of_readers_are_listed(toy_benchmark: Path) -> None:
    assert "choices" not in render_page(load_tasks(benchmark=toy_benchmark))
    add_toy_choices(toy_benchmark)
    tasks = load_tasks(benchmark=toy_benchmark)
    text = render_page(tasks)
    assert "weights: exponential, cauchy, linear" in text
    assert "| 9 | 2 | 1 |" in text
    assert "Fresh readers" not in text
    (toy_benchmark / "choice_readers.yaml").write_text(READERS)
    lines = render_page(tasks).splitlines()
    settled = "choices as stated: 1 of 2 (50 %; chance 33 %, reciting 0 %; corrected 0.25)"
    assert f"- without a shell: 0 of 1 reproduced; {settled}" in lines
    assert "| `toy-counterfactual-1` | without a shell | - | no | 1/2 | weights: exponential (published) |" in lines
    settled = "choices as stated: 2 of 2 (100 %; chance 33 %, reciting 50 %; corrected 1.00)"
    split = "1 of 1 where the published option is true, 1 of 1 where it is not"
    assert f"- with a shell: 1 of 1 reproduced; {settled}; {split}" in lines
    otherwise = "weights: none of the options, average: count (published)"
    assert f"| `toy-underspecified-1` | without a shell | 20 s | no | 0/2 | {otherwise} |" in lines
    hard = [
        replace(task, underspecified=tuple(replace(i, difficulty="hard") for i in task.underspecified))
        for task in tasks
    ]
    assert f"- with a shell, hard rows: 1 of 1 reproduced; {settled}; {split}" in render_page(hard).splitlines()
