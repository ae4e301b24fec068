"""Draw the picture of the front page from a real run: an instance, an answer, and what `lmrbench show` says about it.

    python docs/picture.py

evaluates the answer of README's first five minutes and writes docs/images/overview.svg and, for phones,
docs/images/overview-phone.svg. The text of the pictures is what the commands print.
"""

import html
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTANCE = "empathy-gap-delta"
#: File → characters in a line.
PICTURES = {"overview.svg": 84, "overview-phone.svg": 42}
SIZE, LEADING, ADVANCE, MARGIN = 13, 19, 7.9, 20
_PAPER, _TEXT, _FAINT, _HEAD, _GOOD, _BAD = "#0f172a", "#e2e8f0", "#94a3b8", "#93c5fd", "#86efac", "#fdba74"
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

Line = tuple[str, str]  # colour, text


def answer_of_readme() -> str:
    """Return the answer that README evaluates."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r'^answer = """\n(.*?)^"""$', text, re.M | re.S)
    assert found is not None, "README has no answer"
    return found[1].rstrip()


def verdict_on(answer: str) -> list[str]:
    """Evaluate an answer; return what `lmrbench show` says up to the differences of the code."""
    row = {"instance_id": INSTANCE, "model_name_or_path": "my-model", "track": "paper", "function": answer}
    command = [str(Path(sys.executable).with_name("lmrbench"))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "predictions.jsonl").write_text(json.dumps(row), encoding="utf-8")
        evaluate = [*command, "evaluate", "predictions.jsonl", "--out", "runs/mine", "--instance", INSTANCE]
        subprocess.run(evaluate, cwd=folder, check=True, capture_output=True)
        show = [*command, "show", "runs/mine", INSTANCE]
        done = subprocess.run(show, cwd=folder, check=True, capture_output=True, text=True)
    said = done.stdout.partition(", from the reference to the answer")[0].splitlines()[:-1]
    # Headings and text, without the marks of Markdown.
    return [line.lstrip("# ").replace("`", "") for line in said if line.strip("`\n ")]


def lines_of(columns: int, answer: str, verdict: list[str]) -> Iterator[Line]:
    """Yield the lines of the picture, wrapped to a number of characters."""
    import lmrbench as lmr

    row = next(row for row in lmr.load() if row["instance_id"] == INSTANCE)
    parts: list[tuple[str, list[Line]]] = [
        ("1  A model gets a paper, its repository with one function masked, and an instruction", []),
        ("2  It writes the function", [(_TEXT, line) for line in answer.splitlines()]),
        (f"3  Tests decide: lmrbench show runs/mine {INSTANCE}", [(_colour(line), line) for line in verdict]),
    ]
    parts[0][1].append((_FAINT, f"{row['paper_title']} ({row['venue']})"))
    parts[0][1].append((_TEXT, " ".join(row["instruction"].split())))
    for number, (title, body) in enumerate(parts):
        if number:
            yield _TEXT, ""
        for line in textwrap.wrap(title, columns, subsequent_indent="   "):
            yield _HEAD, line
        for colour, text in body:
            indent = " " * (len(text) - len(text.lstrip()))
            hanging = indent + ("    " if number else "")
            for line in textwrap.wrap(text, columns, subsequent_indent=hanging, break_on_hyphens=False):
                yield colour, line


def _colour(line: str) -> str:
    if line.startswith("Verdict"):
        return _GOOD
    return _BAD if "Failed" in line or ": failed" in line else _TEXT


def svg(lines: list[Line], columns: int) -> str:
    """Return a picture of lines of text."""
    width, height = round(columns * ADVANCE) + 2 * MARGIN, len(lines) * LEADING + 2 * MARGIN
    label = html.escape(" ".join(text.strip() for _, text in lines if text))
    shown = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + LEADING * number + SIZE}" fill="{colour}">{html.escape(text)}</text>\n'
        for number, (colour, text) in enumerate(lines)
        if text
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{label}">\n<style>text {{ font: {SIZE}px {_FONT}; white-space: pre }}</style>\n'
        f'<rect width="{width}" height="{height}" rx="10" fill="{_PAPER}"/>\n{shown}</svg>\n'
    )


if __name__ == "__main__":
    answer = answer_of_readme()
    verdict = verdict_on(answer)
    for name, columns in PICTURES.items():
        target = ROOT / "docs" / "images" / name
        target.write_text(svg(list(lines_of(columns, answer, verdict)), columns), encoding="utf-8")
