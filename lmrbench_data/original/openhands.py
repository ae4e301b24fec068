"""Read OpenHands sessions: events one file each, actions counted as in Section 5.1 of the paper.

Of the original's three mirrors only `logs/OpenHands/<model>` is read; they hold the same events, or another run. Blocks
of events in `event_cache` repeat the single files. A session without the name of a task is identified by the task that
it was given; it is kept apart and never counted, because it may be a repeated or aborted run.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..base.problems import Problem
from .catalogue import Info, text_of
from .clone import Clone, UnreadableFile, clone_error, clone_warning, number_of
from .facts import ACTIONS

#: The text before the task in a session's first event.
_TASK = "The user's tasks include the following:"
_EVENT = re.compile(r"(\d{1,9})\.json")
#: Not models: other copies of the same sessions.
MIRRORS = ("outputs", "outputs_renamed")


class Trajectory(NamedTuple):
    """One session: the place of its events, its subject and the agent's actions."""

    model: str
    session: str
    folder: Path
    paper: int | None
    """None if it is not known."""
    counted: bool
    """True for the first session with the task's name of its model and paper."""
    events: tuple[Path, ...]
    """Files of its events, in order."""
    actions: Mapping[str, int]
    """Counts of the agent's actions, by `ACTIONS`."""


def session_folders(clone: Clone) -> list[tuple[str, Path]]:
    """Return (model, folder) of each session."""
    found = []
    if clone.results is not None:
        for path in sorted(clone.results.glob("logs/OpenHands/*/file_store/sessions/*")):
            model = path.parents[2].name
            if path.is_dir() and model not in MIRRORS:
                found.append((model, path))
    return found


def read_session(clone: Clone, model: str, folder: Path, problems: list[Problem]) -> tuple[Trajectory, str]:
    """A session, and the task that it was given (empty if its first event names none)."""
    number = number_of(folder.name)
    subject = f"{model} session {folder.name}"
    where = clone.place(folder)
    if not clone.holds(folder / "events"):
        problems.append(clone_error(subject, where, "a link leads out of the clone; the session is left out"))
        return Trajectory(model, folder.name, folder, None, False, (), {}), ""
    paths = _event_files(folder)
    counts: Counter[str] = Counter()
    kept, task = [], ""
    for position, path in paths.items():
        try:
            event = clone.read_json(path)
            if not isinstance(event, dict):
                raise UnreadableFile("not an event")
        except UnreadableFile as error:
            problems.append(clone_error(subject, clone.place(path), f"{error}; the event is left out"))
            continue
        kept.append(path)
        if position == 0:
            task = _task(event)
        if event.get("source") == "agent" and event.get("action") in ACTIONS:
            counts[event["action"]] += 1
    if not kept:
        problems.append(clone_error(subject, where, "no event that can be read; the session is left out"))
    elif missing := sorted(set(range(max(paths) + 1)) - paths.keys()):
        named = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        problems.append(clone_warning(subject, where, f"events are missing ({named}): counts are too low"))
    actions = {name: counts[name] for name in ACTIONS}
    paper = number[0] if number else None
    return Trajectory(model, folder.name, folder, paper, number is not None, tuple(kept), actions), task


def read_events(clone: Clone, trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """The events of a session, in order."""
    for path in trajectory.events:
        yield clone.read_json(path)


def identify(task: str, named: Mapping[str, int], infos: Sequence[Info]) -> int | None:
    """The paper of a session by the task that it was given; None if no paper, or more than one, matches.

    Args:
        task: see `read_session`.
        named: paper of each task that a session with a name was given.
    """
    if not task:
        return None
    if task in named:
        return named[task]
    given = f" {task} "
    by_words = {
        info.paper for info in infos if _all_in(given, (text_of(item, "instruction") for item in info.implementations))
    }
    if not by_words:
        by_words = {info.paper for info in infos if _all_in(given, _places(info))}
    return by_words.pop() if len(by_words) == 1 else None


def _all_in(given: str, texts: Iterable[str]) -> bool:
    wanted = [" ".join(text.split()) for text in texts]
    return bool(wanted) and all(text and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", given) for text in wanted)


def _places(info: Info) -> list[str]:
    """File and function of each implementation."""
    return [text_of(item, name) for item in info.implementations for name in ("goal_file", "goal_function")]


def _event_files(folder: Path) -> dict[int, Path]:
    """The files of single events by their number, in order."""
    events = folder / "events"
    paths = events.iterdir() if events.is_dir() else ()
    found = {int(name[1]): path for path in paths if (name := _EVENT.fullmatch(path.name))}
    return dict(sorted(found.items()))


def _task(event: Mapping[str, Any]) -> str:
    """The task in a session's first event, in one line."""
    args = event.get("args")
    texts = [event.get("message"), args.get("content") if isinstance(args, dict) else None]
    for text in texts:
        if isinstance(text, str) and _TASK in text:
            return " ".join(text.partition(_TASK)[2].split())
    return ""
