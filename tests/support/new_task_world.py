"""Shared by tests of new tasks: the documentation's example, the commands of a page."""

import re
import shlex
import shutil
from pathlib import Path

from lmrbench_data.tasks.drafts import new_benchmark
from support.command_line import Done, in_process

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "new-task"
TASK = "01-nucleus"


def example_benchmark(folder: Path) -> Path:
    """Write a benchmark with the example's task, filled in but not recorded."""
    benchmark = new_benchmark(folder / "tasks", title="My Bench", name="my-bench")
    shutil.copytree(EXAMPLE / "filled", benchmark / TASK)
    shutil.copytree(EXAMPLE / "nucleus", benchmark / TASK / "repo")
    return benchmark


def lmrbench(folder: Path, *arguments: str | Path) -> Done:
    """Run a command in a folder."""
    return in_process(*arguments, cwd=folder)


def blocks_of(page: str) -> list[tuple[str, str, str]]:
    """Return (language, name of the file above it, content) of each code block of a documentation page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"(?:^`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(language, title, content) for title, language, content in found]


def commands_of(page: str) -> list[list[str]]:
    """Return the words of each command in the page's shell blocks, without `lmrbench`."""
    lines = [line for language, _, content in blocks_of(page) if language == "bash" for line in content.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("lmrbench ")]
