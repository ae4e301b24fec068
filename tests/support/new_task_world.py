"""Shared by tests of new tasks: the documentation's example, a PDF of its paper, the commands of a page."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pymupdf

from lmrbench_data.draft.benchmark import new_benchmark
from support import warm_cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "new-task"
TASK = "01-nucleus"
LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
Done = subprocess.CompletedProcess[str]

#: Lines of the first page with their sizes; a heading is bold.
FRONT = (
    ("Published as a conference paper at ICLR 2020", 9, False),
    ("The Curious Case of", 17, True),
    ("Neural Text Degeneration", 17, True),
    ("Ari Holtzman, Jan Buys, Li Du, Maxwell Forbes, Yejin Choi", 10, False),
    ("Allen School of Computer Science & Engineering, University of Washington", 9, False),
    ("Abstract", 12, True),
    ("A summary of our own: sampling from all of the distribution loses the thread.", 10, False),
    ("1 Introduction", 12, True),
    ("The nucleus has most of the mass; the tail is cut off.", 10, False),
    ("3.1 Nucleus Sampling", 12, True),
    ("The smallest set of tokens whose probabilities add up to at least p (2).", 10, False),
)


def write_pdf(
    path: Path, lines: tuple[tuple[str, int, bool], ...] = FRONT, stamp: str = "1904.09751v2", title: str = ""
) -> Path:
    """Write a one-page paper with a title in its metadata and, unless empty, arXiv's stamp in the margin."""
    document = pymupdf.open()
    document.set_metadata({"title": title})
    page = document.new_page()
    if stamp:
        page.insert_text((22, 600), f"arXiv:{stamp}  [cs.CL]  14 Feb 2020", fontsize=18, rotate=90)
    top = 70
    for text, size, bold in lines:
        page.insert_text((60, top), text, fontsize=size, fontname="hebo" if bold else "helv")
        top += size + 8
    document.save(path)
    return path


def example_benchmark(folder: Path) -> Path:
    """Write a benchmark with the example's task, filled in but not recorded."""
    benchmark = new_benchmark(folder / "tasks", title="My Bench", name="my-bench")
    shutil.copytree(EXAMPLE / "filled", benchmark / TASK)
    shutil.copytree(EXAMPLE / "nucleus", benchmark / TASK / "repo")
    return benchmark


def lmrbench(folder: Path, *arguments: object, timeout: float = 300) -> Done:
    """Run a command in a folder."""
    return warm_cli.run([LMRBENCH, *map(str, arguments)], cwd=folder, text=True, timeout=timeout)


def blocks_of(page: str) -> list[tuple[str, str, str]]:
    """Return (language, name of the file above it, content) of each code block of a documentation page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"(?:^`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(language, title, content) for title, language, content in found]


def commands_of(page: str) -> list[list[str]]:
    """Return the words of each command in the page's shell blocks, without `lmrbench`."""
    lines = [line for language, _, content in blocks_of(page) if language == "bash" for line in content.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("lmrbench ")]
