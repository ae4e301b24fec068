"""Generate parts of the site from the project's files, so that no text is written twice.

A page read as a file has a line with a link. A comment at its end names the content that replaces the line on the site:

    [...](...) <!-- include FILE -->              a Markdown file without its title
    [...](...) <!-- include FILE "Heading" -->    one section of it, without the heading
    [...](...) <!-- code FILE -->                 a file as it is
    [...](...) <!-- notebook FILE -->             cells and outputs of an executed notebook
    ... <!-- commands -->                         every command with its options
    ... <!-- columns -->                          the columns of the dataset
    ... <!-- limits -->                           default limits of a sandbox run
    ... <!-- gallery -->                         every task, by category
    - ... <!-- api NAME -->                       the documentation of a public name; "option" switches an option on
      - ... <!-- member -->                       nothing, because `api` includes it

An error fails the build. This command updates signatures and summaries in the lines of `api`:

    python docs/hooks.py
"""

import dataclasses
import html
import importlib
import inspect
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "https://github.com/lmr-bench/lmr-bench/blob/main"
#: File of the project → its page on the site.
PAGES = {
    "CONTRIBUTING.md": "adding-a-task.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "docs/adding-a-task.md": "adding-a-task.md",
}
DIRECTIVE = re.compile(r'^(.*)<!-- (\w+)(?: ([\w./-]+))?(?: "([^"]+)")? -->$', re.M)
_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with its directives replaced, and links to other files of the project changed for the site."""
    made = DIRECTIVE.sub(lambda found: _made(found[2], found[3] or "", found[4] or ""), markdown)
    return _LINK.sub(
        lambda link: _target("docs/index.md", *link.groups("")) if link[1].startswith("../") else link[0], made
    )


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
        case "limits":
            return _limits()
        case "gallery":
            return "\n\n".join(_gallery())
        case "api":
            if made_from_settings := _function_of_settings(name):
                return made_from_settings
            return f"\n::: {name}" + (f"\n    options:\n      {part}: true" if part else "") + "\n"
        case "member":
            return ""
    raise ValueError(f"documentation: nothing is called {kind!r}")


def _read(name: str) -> str:
    path = ROOT / name
    if not path.is_file():
        raise ValueError(f"documentation: {name} is not there")
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
        raise ValueError(f"documentation: {name} has no section {heading!r}")
    return _LINK.sub(lambda link: _target(name, *link.groups("")), "\n".join(lines))


def _section(lines: list[str], heading: str) -> Iterator[str]:
    """Yield the lines below a heading up to the next of its level or above; without a heading, all below the title."""
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
    """Return the target of a file's relative link, as seen from a page."""
    target = ((ROOT / name).parent / path).resolve()
    if not target.exists() or not target.is_relative_to(ROOT):
        raise ValueError(f"documentation: {name} links to {path}, which is not there")
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
    """Return an output as the notebook shows it: HTML, else Markdown, else text."""
    data = {kind: "".join(text) for kind, text in output.get("data", {"text/plain": output.get("text", "")}).items()}
    if "text/html" in data:
        page = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.S)
        shown = re.sub(r"\n\s*", "\n", re.sub(r"<(table|tr)[^>]*>", r"<\1>", page))
        return f'<div class="output">\n{shown}\n</div>'
    # Headings of an output must not become headings of the page.
    shown = re.sub(r"^#+ (.*)$", r"**\1**", data.get("text/markdown", ""), flags=re.M)
    return f'<div class="output" markdown="1">\n\n{shown or _code(data["text/plain"], "text")}\n\n</div>'


# --- commands ---------------------------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from lmrbench.cli import app

    yield from _command(get_command(app), "lmrbench")


def _command(command: Any, name: str) -> Iterator[str]:
    """Yield the documentation of a command and its subcommands; only a group that runs by itself has a section."""
    below = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield from _section_of(command, name)
    for part in below:
        yield from _command(below[part], f"{name} {part}")


def _section_of(command: Any, name: str) -> Iterator[str]:
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
    if is_option and item.default not in (None, "", ()) and not isinstance(item.default, bool):
        notes.append(f"Default: `{getattr(item.default, 'value', item.default)}`.")
    return shown, " ".join([html.escape(item.help or "", quote=False), *notes]).strip()


# --- tables -----------------------------------------------------------------------------------------------------------


def _columns() -> str:
    from lmrbench_data.dataset.rows import DatasetRow

    return _table(("column", "type", "meaning"), list(_described(DatasetRow)))


def _described(row: type, above: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield name, type and description of each column; nested ones are named from the top, `tests.cases.name`."""
    from lmrbench_data.dataset.columns import ARROW_NAMES, columns

    for column in columns(row):
        is_list = typing.get_origin(column.kind) is list
        kind = typing.get_args(column.kind)[0] if is_list else column.kind
        is_struct = typing.is_typeddict(kind)
        shown = "struct" if is_struct else ARROW_NAMES[kind]
        yield f"`{above}{column.name}`", f"list of {shown}" if is_list else shown, column.description
        if is_struct:
            yield from _described(kind, f"{above}{column.name}.")


def _limits() -> str:
    from lmrbench_evaluate.sandbox.base import Limits

    return _table(("limit", "value"), [(f"`{name}`", str(value)) for name, value in Limits(0, 0).as_row().items()])


def _gallery() -> Iterator[str]:
    """Yield the tasks of each category as a list; a task is an instance with its paper and goal function."""
    from lmrbench_data.tasks.overview import task_facts
    from lmrbench_data.tasks.task_folders import load_tasks

    facts = task_facts(load_tasks())
    for category in sorted({fact["category"] for fact in facts}):
        cards = [_task_card(fact) for fact in facts if fact["category"] == category]
        yield f"### {category}"
        yield f'<div class="gallery">\n{"".join(cards)}</div>'


def _task_card(fact: dict[str, Any]) -> str:
    file, _, function = fact["goals"][0].partition(":")
    code = f"{SOURCE}/benchmark/{fact['task']}/repo/{file}"
    return (
        f'<div><a href="{fact["paper_url"]}">{html.escape(fact["paper"])}</a>'
        f"<p>{html.escape(fact['venue'])} · {fact['lines']} lines</p>"
        f'<a href="{code}"><code>{html.escape(function)}</code></a></div>\n'
    )


# --- functions whose arguments come from settings ---------------------------------------------------------------------


def _function_of_settings(path: str) -> str:
    """Return heading, signature and docstring of a function whose arguments come from settings; otherwise nothing."""
    found = _found(path)
    if not hasattr(found, "__signature__"):
        return ""
    name = path.rpartition(".")[2]
    signature = inspect.signature(found)
    shown = "".join(f"    {item},\n" for item in str(_plain(signature))[1:-1].split(", "))
    parts = [f"### {name}", _code(f"{name}(\n{shown})", "python")]
    for block in inspect.getdoc(found).split("\n\n"):
        heading, _, body = block.partition(":\n")
        parts.append(block if heading not in ("Args", "Raises") else f"**{heading}**\n\n" + "\n".join(_items(body)))
    return "\n\n".join(parts) + "\n"


def _items(body: str) -> Iterator[str]:
    """Yield the entries of a docstring section as list items."""
    for entry in re.split(r"^    (?=\S)", body, flags=re.M)[1:]:
        name, _, text = " ".join(entry.split()).partition(": ")
        yield f"- `{name}`: {html.escape(text, quote=False)}"


def _found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


# --- the Python API, for readers of the file --------------------------------------------------------------------------


def with_current_api(markdown: str) -> str:
    """Return a page with up-to-date lines for each `api` directive and its members."""
    lines: list[str] = []
    for line in markdown.splitlines():
        found = DIRECTIVE.match(line)
        if found and found[2] == "api":
            lines += _api(found[3], line[found.end(1) :])
        elif not (found and found[2] == "member"):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _api(path: str, comment: str) -> Iterator[str]:
    import lmrbench

    found, name = _found(path), path.rpartition(".")[2]
    file = Path(inspect.getsourcefile(inspect.unwrap(found)) or "").resolve().relative_to(ROOT)
    shown = f"lmr.{name}" if name in lmrbench.__all__ else path
    if not inspect.isclass(found) or dataclasses.is_dataclass(found):
        shown += _signature(found)
    yield f"- [`{shown}`](../{file}): {_summary(found)} {comment}"
    members = vars(found).items() if inspect.isclass(found) else ()
    for part, value in members:
        is_method = inspect.isfunction(value)
        if not part.startswith("_") and (is_method or isinstance(value, property)) and inspect.getdoc(value):
            yield f"    - `{part}{_signature(value) if is_method else ''}`: {_summary(value)} <!-- member -->"


def _signature(function: Any) -> str:
    """Return names and defaults; the site shows the types."""
    return str(_plain(inspect.signature(function))).replace("<factory>", "...")


def _plain(signature: inspect.Signature) -> inspect.Signature:
    plain = [item.replace(annotation=item.empty) for name, item in signature.parameters.items() if name != "self"]
    return signature.replace(parameters=plain, return_annotation=signature.empty)


def _summary(found: Any) -> str:
    return " ".join((inspect.getdoc(found) or "").partition("\n\n")[0].split())


if __name__ == "__main__":
    page = ROOT / "docs" / "python-api.md"
    page.write_text(with_current_api(page.read_text(encoding="utf-8")), encoding="utf-8")
