"""Parts of the documentation that are made from the project's own files, so that no text stands twice.

A page asks for one with a comment on a line of its own:

    <!-- include FILE -->                a Markdown file without its title
    <!-- include FILE "Heading" -->      one section of it, without the heading
    <!-- code FILE -->                   a file as it is
    <!-- notebook FILE -->               cells and outputs of an executed notebook
    <!-- commands -->                    every command with its options
    <!-- columns -->                     the columns of the dataset
    <!-- counts -->                      how large the benchmark is
    <!-- limits -->                      what a sandbox run may use by default

What cannot be made fails the build.
"""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "https://github.com/lmr-bench/lmr-bench/blob/main"
#: Files of the project that are pages here.
PAGES = {
    "CONTRIBUTING.md": "adding-a-task.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "docs/adding-a-task.md": "adding-a-task.md",
}
_DIRECTIVE = re.compile(r'^<!-- (\w+)(?: ([\w./-]+))?(?: "([^"]+)")? -->$', re.M)
_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its directives carried out."""
    return _DIRECTIVE.sub(lambda found: _made(found[1], found[2] or "", found[3] or ""), markdown)


def _made(kind: str, name: str, part: str) -> str:
    match kind:
        case "include":
            return _include(name, part)
        case "code":
            return _code(_read(name), Path(name).suffix.removeprefix("."))
        case "notebook":
            return "\n\n".join(_cells(json.loads(_read(name))["cells"]))
        case "commands":
            return "\n\n".join(_commands())
        case "columns":
            return _columns()
        case "counts":
            return _counts()
        case "limits":
            return _limits()
    raise PluginError(f"documentation: nothing is called {kind!r}")


def _read(name: str) -> str:
    path = ROOT / name
    if not path.is_file():
        raise PluginError(f"documentation: {name} is not there")
    return path.read_text(encoding="utf-8")


def _code(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


# --- other files ------------------------------------------------------------------------------------------------------


def _include(name: str, heading: str) -> str:
    lines = list(_section(_read(name).splitlines(), heading))
    if not lines:
        raise PluginError(f"documentation: {name} has no section {heading!r}")
    return _LINK.sub(lambda link: _target(name, link[1], link[2] or ""), "\n".join(lines))


def _section(lines: list[str], heading: str) -> Iterator[str]:
    """The lines below a heading, up to the next one of its level or above; all below the title if empty."""
    level, fenced = 0, False
    for line in lines:
        fenced ^= bool(_FENCE.match(line))
        found = None if fenced else _HEADING.match(line)
        if level and not (found and heading and len(found[1]) <= level):
            yield line
        elif level:
            return
        elif found and heading in ("", found[2]):
            level = len(found[1])


def _target(name: str, path: str, anchor: str) -> str:
    """Where a relative link of an included file leads from a page."""
    target = ((ROOT / name).parent / path).resolve()
    if not target.exists() or not target.is_relative_to(ROOT):
        raise PluginError(f"documentation: {name} links to {path}, which is not there")
    inside = str(target.relative_to(ROOT))
    return PAGES.get(inside, f"{SOURCE}/{inside}") + anchor


# --- notebooks --------------------------------------------------------------------------------------------------------


def _cells(cells: list[dict[str, Any]]) -> Iterator[str]:
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield text
        else:
            yield _code(text, "python")
            yield from map(_output, cell["outputs"])


def _output(output: dict[str, Any]) -> str:
    """An output as a reader of the notebook sees it: HTML, else Markdown, else text."""
    data = {kind: "".join(text) for kind, text in output.get("data", {"text/plain": output.get("text", "")}).items()}
    if "text/html" in data:
        page = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.S)
        shown = re.sub(r"\n\s*", "\n", re.sub(r"<(table|tr)[^>]*>", r"<\1>", page))
        return f'<div class="output">\n{shown}\n</div>'
    # Headings of an output are none of the page's.
    shown = re.sub(r"^#+ (.*)$", r"**\1**", data.get("text/markdown", ""), flags=re.M)
    return f'<div class="output" markdown="1">\n\n{shown or _code(data["text/plain"], "text")}\n\n</div>'


# --- commands ---------------------------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from lmrbench_data.cli import app

    yield from _command(get_command(app), "lmrbench")


def _command(command: Any, name: str) -> Iterator[str]:
    """A command and all below it; groups have no section of their own."""
    if below := getattr(command, "commands", None):
        for part in below:
            yield from _command(below[part], f"{name} {part}")
        return
    yield f"## {name}"
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        example = paragraph.removeprefix("Example: ")
        text = " ".join(line.strip() for line in example.splitlines())
        yield _code(text, "bash") if example != paragraph else html.escape(text, quote=False)
    rows = [_parameter(item) for item in command.params if "--help" not in item.opts]
    yield _table(("argument or option", "meaning"), rows)


def _parameter(item: Any) -> tuple[str, str]:
    is_option = item.param_type_name == "option"
    names = [*item.opts, *item.secondary_opts] if is_option else [item.metavar or item.name.upper()]
    shown = ", ".join(f"`{name}`" for name in names)
    notes = []
    if is_option and item.required:
        notes.append("Required.")
    elif not is_option and not item.required:
        notes.append("Optional.")
    if is_option and not (item.default is None or isinstance(item.default, bool)):
        notes.append(f"Default: `{getattr(item.default, 'value', item.default)}`.")
    return shown, " ".join([html.escape(item.help or "", quote=False), *notes]).strip()


# --- tables -----------------------------------------------------------------------------------------------------------


def _columns() -> str:
    from lmrbench_data.croissant import COLUMNS
    from lmrbench_data.rows import schema

    def rows(fields: Any, above: str) -> Iterator[tuple[str, ...]]:
        for field in fields:
            listed = hasattr(field.type, "value_type")
            kind = field.type.value_type if listed else field.type
            name = f"{above}{field.name}"
            parts = [kind.field(index) for index in range(kind.num_fields)]
            shown = "struct" if parts else str(kind)
            yield f"`{name}`", f"list of {shown}" if listed else shown, COLUMNS[name]
            yield from rows(parts, f"{name}.")

    return _table(("column", "type", "meaning"), list(rows(schema(), "")))


def _counts() -> str:
    from lmrbench_data.tasks import load_tasks

    tasks = load_tasks()
    instances = [implementation for task in tasks for implementation in task.implementations]
    categories = {implementation.category for implementation in instances}
    return f"{len(instances)} instances from {len(tasks)} papers in {len(categories)} categories."


def _limits() -> str:
    from lmrbench_data.evaluate.sandbox.base import Limits

    return _table(("limit", "value"), [(f"`{name}`", str(value)) for name, value in Limits(0, 0).as_row().items()])
