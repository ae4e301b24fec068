"""Print an instance as a model sees it: rendered and paged in a terminal, unchanged elsewhere."""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.text import visible
from .output import console, put
from .pager import page

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Formulas, which Markdown would change: `$$...$$` on lines of its own, `$...$` within one.
_BLOCK = re.compile(r"^\$\$(.+?)\$\$[ \t]*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<![\\$`\w])\$([^$`\n]+)\$(?![\w$])")


def print_instances(shown: Sequence[dict[str, Any]]) -> None:
    """Print the result of `view_instances`."""
    if not sys.stdout.isatty():
        for item in shown:
            _print_plain(item)
        return
    terminal = console()
    with terminal.capture() as capture:
        for item in shown:
            for part in _rendered(item):
                terminal.print(part)
    page("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def _print_plain(item: dict[str, Any]) -> None:
    put(f"{item['instance_id']}  ({item['category']})\n{item['paper']['title']}\n")
    put(f"INSTRUCTION\n{item['instruction']}\n")
    if "contract" in item:
        put(f"CONTRACT\n{item['contract']}\n")
    put(f"PAPER\n{item['paper_text']}")
    put("REPOSITORY\n" + "\n".join(f"  {name}" for name in item["repository"]))
    for name, text in item["masked_files"].items():
        put(f"\n{name} (masked: {', '.join(item['goals'][name])})\n{text}")


def _rendered(item: dict[str, Any]) -> "list[RenderableType]":
    from rich.syntax import Syntax
    from rich.text import Text

    def title(name: str) -> Text:
        return Text(f"\n{name}\n", "bold cyan")

    parts: list[RenderableType] = [
        Text(item["instance_id"], "bold"),
        Text(f"{item['category']}\n{item['paper']['title']}"),
    ]
    for name, key in (("INSTRUCTION", "instruction"), ("CONTRACT", "contract"), ("PAPER", "paper_text")):
        if key in item:
            parts += [title(name), _markdown(item[key])]
    parts += [title("REPOSITORY"), Text("\n".join(f"  {visible(name)}" for name in item["repository"]))]
    for name, text in item["masked_files"].items():
        parts.append(title(f"{visible(name)} (masked: {', '.join(item['goals'][name])})"))
        # The terminal's own colours, so that it can be read on any background.
        parts.append(Syntax(visible(text), "python", theme="ansi_dark", background_color="default", word_wrap=True))
    return parts


def _markdown(text: str) -> "RenderableType":
    """Render Markdown; formulas stay LaTeX, each block in lines of its own."""
    from rich.markdown import Markdown

    text = _BLOCK.sub(lambda found: f"\n```latex\n{found[1].strip()}\n```\n", visible(text))
    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    parts[::2] = (_INLINE.sub(r"`\1`", part) for part in parts[::2])  # the others are blocks of code
    return Markdown("".join(parts), code_theme="ansi_dark", inline_code_theme="ansi_dark", hyperlinks=False)
