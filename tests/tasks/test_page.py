"""The benchmark's page lists tasks, choices and options."""

from pathlib import Path

from lmrbench_data.tasks.overview import render_page
from lmrbench_data.tasks.task_folders import load_tasks
from support.toy_choices import add_toy_choices


def test_choices_are_listed(toy_benchmark: Path) -> None:
    assert "choices" not in render_page(load_tasks(benchmark=toy_benchmark))
    add_toy_choices(toy_benchmark)
    text = render_page(load_tasks(benchmark=toy_benchmark))
    assert "weights: exponential, cauchy, linear" in text
    assert "| 9 | 2 | 1 |" in text
