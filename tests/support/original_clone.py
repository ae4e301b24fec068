"""An invented clone of the original repository, in all dialects of its formats."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.original import facts

AGENTS = {"no_agent": "BaseAgent", "openhands_agent": "OpenHands"}
NUMBERS = {"LI": 1, "LC": 2, "CC": 3}
#: A pointer file, as Git LFS writes it.
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n"

MASKED = '''"""Numbers."""


def scale(values, factor):
    """Each value times the factor."""
    # to be written
    pass


def total(values):
    return sum(values)
'''
GOLDEN = '''"""Numbers."""


def scale(values, factor):
    """Each value times the factor."""
    result = []
    for value in values:
        result.append(value * factor)
    return result


def total(values):
    return sum(values)
'''


@dataclass
class Clone:
    """Writes the parts of a clone below `root`."""

    root: Path
    people: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def json(self, name: str, value: Any) -> Path:
        return self.write(name, json.dumps(value, indent=2))

    # --- results ---

    def unit_tests(
        self, setting: str, model: str, lines: Sequence[str], totals: Mapping[str, int] | None = None
    ) -> Path:
        """Write results.txt; `totals` replaces numbers of the footer."""
        passed = sum(": PASS" in line for line in lines)
        found = {"Total log files": len(lines), "Passed files": passed, "Failed files": len(lines) - passed}
        found |= totals or {}
        footer = [f"{name}: {number:>{4 - len(name) + 15}}" for name, number in found.items()]
        rate = f"Overall pass rate: {100 * passed / max(1, len(lines)):.2f}%"
        text = "\n".join([*sorted(lines), "", *footer, rate]) + "\n"
        return self.write(f"results/unit_test_evaluation/{AGENTS[setting]}/{model}/results.txt", text)

    def judgement(self, setting: str, model: str, folder: str, repo: str, index: int, text: str) -> Path:
        place = f"results/llm_as_a_judge_evaluation/{AGENTS[setting]}/{model}"
        return self.write(f"{place}/{folder}_{repo}_{index}_analysis.txt", text)

    def label(self, file: str, annotator: str, setting: str, model: str, paper: int, index: int, score: int) -> None:
        """Add a person's label; `save_people` writes all labels."""
        names = {"annotator": annotator, "agent_type": setting, "model_name": model}
        task = {"paper_index": paper, "function_index": index}
        comment = f"seen on day {paper}" if index else ""
        self.people.setdefault(file, []).append({**names, **task, "human_judge_result": score, "comment": comment})

    def save_people(self) -> None:
        for file, records in self.people.items():
            self.json(f"results/human_evaluation/{file}.json", records)

    def session(self, model: str, name: str, events: Sequence[Mapping[str, Any]], place: str = "") -> Path:
        """Write one file per event, and the same events in blocks."""
        folder = f"results/logs/OpenHands/{place or model}/file_store/sessions/{name}"
        for number, event in enumerate(events):
            self.json(f"{folder}/events/{number}.json", {"id": number, **event})
        for start in range(0, len(events), 25):
            block = [{"id": start + i, **event} for i, event in enumerate(events[start : start + 25])]
            self.json(f"{folder}/event_cache/{start}-{start + 25}.json", block)
        return self.root / folder

    # --- tasks ---

    def task(self, folder: str, implementations: Sequence[Mapping[str, Any]] | None = None, **changes: Any) -> Path:
        """Write a task with one function, a golden file and a test script; `changes` go into info.json."""
        number, _, name = folder.partition("-")
        items = implementations if implementations is not None else [implementation()]
        info = {
            "instance_id": int(number),
            "folder_name": folder,
            "repo_folder_name": "numbers",
            "paper_title": f"On {name}",
            "paper_url": "https://arxiv.org/abs/2401.00001",
            "year": 2024,
            "repo_url": "https://example.org/numbers",
            "implementations": [{"index": i, **item} for i, item in enumerate(items, start=1)],
            **changes,
        }
        base = f"benchmark/{folder}"
        self.json(f"{base}/info.json", info)
        self.write(f"{base}/numbers/numbers_of.py", MASKED)
        self.write(f"{base}/numbers/helpers/units.py", "UNIT = 1\n")
        self.write(f"{base}/numbers/README.md", "Numbers.\n")
        self.write(f"{base}/numbers/golden_files/numbers_of_golden.py", GOLDEN)
        self.write(f"{base}/numbers/unit_test/unit_test_1.py", "from numbers_of import scale\n")
        return self.root / base


def implementation(**changes: Any) -> dict[str, Any]:
    """Return an entry of info.json for `scale`."""
    return {
        "instruction": "Implement `scale` in numbers_of.py: each value times the factor, in a new list.",
        "category": "Evaluation Metrics",
        "goal_file": "numbers_of.py",
        "goal_function": "scale",
        "class_name": "",
        "golden_file": "golden_files/numbers_of_golden.py",
        "retrieval_context": ["README.md"],
        "unit_test_file": "unit_test/unit_test_1.py",
        **changes,
    }


def unit_test_line(folder: str, log: str, passed: bool, dialect: int) -> str:
    """Return a line of results.txt in one of its dialects."""
    if passed:
        return f"{folder}/{log}: " + ("PASS", "PASS fail_count: 0", "PASS (fail_count=0)")[dialect % 3]
    if dialect % 4 == 3:
        return f"/home/someone/out/model/{folder}/a-repo/unit_test/logs is not a directory"
    return f"{folder}/{log}: FAIL (found {dialect % 4} failure lines)"


def judge_text(category: str, dialect: str) -> str:
    """Return a file of the judge: `json`, `fenced` or `prose`."""
    number = NUMBERS[category]
    if dialect == "prose":
        return f"### Comparison\n\nThe loop in 2 and 3 differs.\n\n**Verdict** 3 of 4 steps agree.\n\n{number}\n"
    text = json.dumps({"category": str(number), "rationale": ["The loop is the same.", "The mean is `1/n`."]})
    return f"```json\n{text}\n```" if dialect == "fenced" else text


def events_of(actions: Mapping[str, int], task: str, seed: int = 0) -> list[dict[str, Any]]:
    """Return a session with this many actions of each kind, between events that do not count."""
    asked = f"Work in the folder.\nThe user's tasks include the following:\n{task}\n"
    events: list[dict[str, Any]] = [
        {"source": "user", "action": "message", "message": asked, "args": {"content": asked}},
        {"source": "user", "action": "recall", "args": {"query": "tools"}},
        {"source": "environment", "observation": "agent_state_changed", "extras": {"agent_state": "running"}},
    ]
    done = [name for name, count in actions.items() for _ in range(count)]
    random.Random(seed).shuffle(done)
    for name in done:
        events.append({"source": "agent", "action": name, "args": {"thought": "so"}, "message": name})
        events.append({"source": "environment", "observation": name, "content": "done", "cause": len(events) - 1})
    events.append({"source": "user", "action": "message", "args": {"content": "Please continue working on the task"}})
    return events


class Tool:
    """The sessions' editor, on its own files: it edits them and records the events."""

    CLIPPED = "<response clipped><NOTE>To save on context only part of this file has been shown to you.</NOTE>"

    def __init__(self, files: dict[str, str], task: str = "a task") -> None:
        self.files, self.events = files, events_of({}, task)[:3]
        self._undo: dict[str, list[str | None]] = {}

    def act(self, action: str, args: Mapping[str, Any], observation: str, content: str, **more: Any) -> None:
        """Record an action of the agent and its observation."""
        cause = len(self.events)
        self.events.append({"source": "agent", "action": action, "args": {"thought": "", **args}, "message": action})
        seen = {"observation": observation, "content": content, "extras": {}, "cause": cause, **more}
        self.events.append({"source": "agent", **seen})

    def edit(self, command: str, path: str, *, told: bool = True, **given: Any) -> bool:
        """Edit with the tool and return whether it succeeded. Without `told`, its reply shows nothing of the file."""
        none = dict.fromkeys(("file_text", "old_str", "new_str", "insert_line"))
        args = {"path": path, "command": command, **none, "content": "", "start": 1, "end": -1, **given}
        try:
            where = self._change(command, path, args)
        except ValueError as error:
            self.act("edit", args, "edit", f"ERROR:\n{error}")
            return False
        lines = self.files.get(path, "").split("\n")
        snippet = list(enumerate(lines, start=1))[max(0, where - 4) : where + 8]
        text = f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n"
        text += "".join(f"{number:6}\t{line}\n" for number, line in snippet)
        text += "Review the changes and make sure they are as expected."
        if command == "create":
            text = f"File created successfully at: {path}"
        self.act("edit", args, "edit", text if told else f"The file {path} has been edited.")
        return True

    def view(self, path: str, first: int = 1, last: int | None = None, clip: int | None = None) -> None:
        """Show a file with the tool: all of it, some lines, or its first `clip` characters."""
        lines = list(enumerate(self.files[path].split("\n"), start=1))[first - 1 : last]
        text = "".join(f"{number:6}\t{line}\n" for number, line in lines)
        text = text if clip is None or len(text) <= clip else text[:clip] + self.CLIPPED
        view_range = None if (first, last) == (1, None) else [first, last or -1]
        args = {"path": path, "start": 0, "end": -1, "impl_source": "oh_aci", "view_range": view_range}
        self.act("read", args, "read", f"Here's the result of running `cat -n` on {path}:\n{text}")

    def run(self, command: str, content: str = "") -> None:
        self.act("run", {"command": command, "is_input": False, "blocking": False}, "run", content)

    def _change(self, command: str, path: str, args: Mapping[str, Any]) -> int:
        """Change a file and return the line of the change."""
        text, history = self.files.get(path), self._undo.setdefault(path, [])
        if command == "undo_edit":
            if not history or history[-1] is None:
                raise ValueError(f"No edit history found for {path}.")
            self.files[path] = str(history.pop())
            return 0
        if command == "create":
            if text is not None:
                raise ValueError(f"File already exists at: {path}. Cannot overwrite files using command `create`.")
            self.files[path] = args["file_text"]
            history.append(None)
            return 0
        assert text is not None
        if command == "insert":
            lines, line = text.split("\n"), args["insert_line"]
            if not 0 <= line <= len(lines):
                raise ValueError(f"Invalid `insert_line` parameter: {line}.")
            self.files[path] = "\n".join([*lines[:line], *args["new_str"].split("\n"), *lines[line:]])
        else:
            if text.count(args["old_str"]) != 1:
                raise ValueError("No replacement was performed. The string was not found once in the file.")
            line = text[: text.index(args["old_str"])].count("\n")
            self.files[path] = text.replace(args["old_str"], args["new_str"] or "")
        history.append(text)
        return int(line)


def write_facts(root: Path, labels: Iterable[facts.Label], sessions: Iterable[facts.PublishedSession]) -> Clone:
    """Write a clone whose results agree with its labels and sessions, in every dialect."""
    clone = Clone(root)
    labels, sessions = list(labels), list(sessions)
    several = {label.paper for label in labels if label.function_index}
    tested: dict[tuple[str, str], list[str]] = {}
    for number, label in enumerate(labels):
        folder = f"{label.paper}-P{label.paper}"
        if label.passed is not None:
            alone = label.paper not in several
            log = "unit_test.log" if alone and number % 5 == 0 else f"unit_test_{label.function_index + 1}.log"
            dialect = number if alone else number % 3  # a line of such a paper always names its folder
            lines = tested.setdefault((label.setting, label.model), [])
            lines.append(unit_test_line(folder, log, label.passed, dialect))
        prose = label.setting == "no_agent" and label.model == "gpt4.1" and label.paper != 8
        form = "prose" if prose else ("json", "json", "json", "fenced")[number % 4]
        text = judge_text(label.judge, form)
        clone.judgement(label.setting, label.model, folder, "a_repo-name", label.function_index, text)
        score = NUMBERS[label.human] - (label.annotator == "ziming")
        who = "Shuo" if label.annotator == "shuo" else label.annotator
        what = label.setting, label.model, label.paper, label.function_index
        clone.label(label.annotator, who, *what, score)
    for (setting, model), lines in tested.items():
        clone.unit_tests(setting, model, lines)
    clone.save_people()
    for number, session in enumerate(sessions):
        events = events_of(session.actions, f"the task of paper {session.paper}", number)
        clone.session(session.model, f"{session.paper}-P{session.paper}", events)
    return clone
