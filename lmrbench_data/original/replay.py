"""Rebuild a file that an agent edited: replay the edit events of its session, and check the listings in it.

The tool edits by strings (`str_replace`, `insert`, `create`, `undo_edit`) and replies with a numbered listing, as for a
view of the file. Each line of each listing is compared with the rebuilt file. A view of the whole file that
differs replaces it: something other than the tool, such as a shell command, changed the file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ..base.shell import cell_may_write, may_write

#: Start of the tool's reply when it refuses an edit, which then changes nothing.
_REFUSED = re.compile(r"\s*(ERROR\b|No replacement was performed|Invalid `|File already exists|No edit history)")
_NUMBERED = re.compile(r" *(\d{1,6})\t(.*)")
#: The mark of truncated output, on a line of its own or at the end of one.
_CLIPPED = re.compile(r"<response clipped>|\[\.{3} ?Observation truncated")
_PRINTS_NUMBERED = re.compile(r"\s*(?:cd \S+ && )?cat -n (\S+)\s*")


@dataclass
class Rebuilt:
    """A file at one point of a session."""

    text: str | None
    """None if it is not known yet."""
    start: str | None
    """The initial text: the masked goal file, or the first whole view if the clone does not have it."""
    edits: int = 0
    """Edits that were replayed."""
    refused: int = 0
    """Edits that the tool refused."""
    listings: int = 0
    """Numbered listings that were compared with the file."""
    differing: int = 0
    """Listings that did not agree with it."""
    doubts: list[str] = field(default_factory=list)
    """Reasons to doubt the text; a view of the whole file clears them."""
    _history: list[str | None] = field(default_factory=list, repr=False)

    def edit(self, args: Mapping[str, Any]) -> None:
        """Replay an edit that the tool reports as made."""
        made = _apply(self.text, args, self._history)
        if made is None:
            self.doubts.append(f"a {str(args.get('command'))[:20]} cannot be replayed")
            return
        if args.get("command") != "undo_edit":
            self._history.append(self.text)
        self.text = made
        if self.start is None:
            self.start = ""
        self.edits += 1

    def see(self, content: str, *, whole: bool) -> None:
        """Compare a listing with the file.

        Args:
            content: the tool's reply.
            whole: the agent asked for the whole file.
        """
        shown = read_listing(content)
        if not shown.lines:
            return
        self.listings += 1
        is_whole = whole and shown.is_whole
        agrees = self.text is not None and _agrees(self.text, shown, is_whole=is_whole)
        if agrees and is_whole:
            self.doubts.clear()
        if agrees:
            return
        if self.text is not None:
            self.differing += 1
        if is_whole:
            self.text = "\n".join(text for _, text in shown.lines).rstrip("\n") + "\n"
            self.start = self.text if self.start is None else self.start
            self.doubts.clear()
        else:
            self.doubts.append("a listing differs from the rebuilt file")

    def suspect(self, command: str) -> None:
        """Note that a command may have changed the file."""
        self.doubts.append(f"a command may have changed it ({' '.join(command.split())[:60]})")


@dataclass(frozen=True)
class Listing:
    """The numbered lines of a tool's reply."""

    lines: list[tuple[int, str]]
    cut: frozenset[int]
    """Numbers of lines that may be truncated: a remark of the tool follows them."""
    is_whole: bool
    """The lines are consecutive from 1 and complete."""


def read_listing(content: str) -> Listing:
    """Read the numbered lines of a tool's reply."""
    lines: list[tuple[int, str]] = []
    cut: set[int] = set()
    for line in content.replace("\r\n", "\n").split("\n"):
        if found := _NUMBERED.fullmatch(line):
            text, *clipped = _CLIPPED.split(found[2], maxsplit=1)
            lines.append((int(found[1]), text))
            if clipped:
                cut.add(lines[-1][0])
        elif lines and line.strip():
            cut.add(lines[-1][0])
    numbers = [number for number, _ in lines]
    is_whole = bool(lines) and numbers == list(range(1, len(numbers) + 1)) and not cut
    return Listing(lines, frozenset(cut), is_whole)


def replay(
    events: Iterable[Mapping[str, Any]], is_file: Callable[[PurePosixPath], bool], masked: str | None, name: str
) -> Rebuilt:
    """Rebuild one file from the events of a session.

    Args:
        events: in order.
        is_file: returns whether a path of the session is that of the file.
        masked: the initial file; None if it is not known.
        name: the file's name in commands.
    """
    file = Rebuilt(masked, masked)
    asked: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for event in events:
        args, number = event.get("args"), event.get("id")
        action, cause = event.get("action"), event.get("cause")
        if isinstance(action, str) and isinstance(args, dict) and isinstance(number, int):
            asked[number] = action, args
        elif "observation" in event and isinstance(cause, int) and cause in asked:
            _observe(file, *asked.pop(cause), event, is_file, name)
    return file


def _observe(
    file: Rebuilt,
    action: str,
    args: Mapping[str, Any],
    event: Mapping[str, Any],
    is_file: Callable[[PurePosixPath], bool],
    name: str,
) -> None:
    """Apply the outcome of an action."""
    content = event.get("content")
    content = content if isinstance(content, str) else ""
    path = args.get("path")
    if action in ("edit", "read"):
        if not isinstance(path, str) or not is_file(PurePosixPath(path)):
            return
        if event["observation"] != action or event.get("success") is False or _REFUSED.match(content):
            file.refused += action == "edit"
        elif action == "edit" and args.get("command") != "view":
            file.edit(args)
            file.see(content, whole=False)
        else:
            file.see(content, whole=not args.get("view_range") and _asks_for_all(args))
    elif action in ("run", "run_ipython"):
        command = args.get("command") if action == "run" else args.get("code")
        if isinstance(command, str) and name in command:
            printed = _PRINTS_NUMBERED.fullmatch(command)
            if printed and PurePosixPath(printed[1]).name == name and is_file(PurePosixPath(printed[1])):
                file.see(content, whole=True)
            elif may_write(command, name) if action == "run" else cell_may_write(command, name):
                file.suspect(command)


def _asks_for_all(args: Mapping[str, Any]) -> bool:
    return args.get("start") in (None, 0, 1) and args.get("end") in (None, -1)


def _apply(text: str | None, args: Mapping[str, Any], history: list[str | None]) -> str | None:
    """Apply an edit; None if it cannot be replayed."""
    command, new = args.get("command"), args.get("new_str")
    if command == "create":
        content = args.get("file_text")
        return content if isinstance(content, str) else None
    if command == "undo_edit":
        return history.pop() if history else None
    if text is None:
        return None
    if command == "insert":
        line = args.get("insert_line")
        lines = text.split("\n")
        if type(line) is not int or not isinstance(new, str) or not 0 <= line <= len(lines):
            return None
        return "\n".join([*lines[:line], *new.split("\n"), *lines[line:]])
    old = args.get("old_str")
    if command != "str_replace" or not isinstance(old, str) or not old:
        return None
    return _replace(text, old, new if isinstance(new, str) else "")


def _replace(text: str, old: str, new: str) -> str | None:
    """Replace the only occurrence of `old`; None if there is not exactly one.

    After the literal strings, try two variations of some versions of the tool: stripped strings and expanded tabs.
    """
    expanded = text.expandtabs(), old.expandtabs(), new.expandtabs()
    for whole, wanted, given in ((text, old, new), expanded):
        for one, other in ((wanted, given), (wanted.strip(), given.strip())):
            if one and whole.count(one) == 1:
                return whole.replace(one, other)
    return None


def _agrees(text: str, shown: Listing, *, is_whole: bool) -> bool:
    lines = [line.expandtabs().rstrip() for line in text.split("\n")]
    for number, line in shown.lines:
        there = lines[number - 1] if 0 < number <= len(lines) else None if line.strip() else ""
        seen = line.expandtabs().rstrip()
        if there != seen and not (number in shown.cut and there is not None and there.startswith(seen)):
            return False
    return not (is_whole and any(lines[len(shown.lines) :]))  # a whole view that ends before the file does
