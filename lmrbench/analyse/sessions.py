"""Agents' sessions as counts of their actions, with their outcome: the original's, or those of runs.

The five kinds are those of the LMR-BENCH paper's Figure 5, mapped as in its Appendix F: edit; finish; message
(messages and thoughts); read; run (shell and IPython). Browsing and the like, which it excludes, is counted apart.
OpenHands' actions are mapped by their tools. mini-swe-agent has one tool, the shell: a command is split at `;`, `&&`,
`||`, `|` and line ends. It is `finish` if it prints mini-swe-agent's final marker, else the first of these that fits a
part: `edit`, it writes a file (a redirection or `tee`, not below /dev or /tmp, a program that changes files, or Python
code in the command that writes one); `run`, any other program; `read`, no change.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.text import plural, split_text
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..generation.agents.agent_runs import TRAJECTORIES
from ..original import facts

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("edit", "finish", "message", "read", "run")
#: Not among the paper's kinds.
EXCLUDED = "excluded"
#: Largest file that is read as the record of a session.
MAX_BYTES = 64 * 1024 * 1024
#: Words in the names of OpenHands' tools and actions, in order; for an editor the command decides.
_TOOL_WORDS = {
    "finish": "finish",
    "think": "message",
    **dict.fromkeys(("editor", "edit", "patch", "write"), "edit"),
    **dict.fromkeys(("grep", "glob", "read", "view"), "read"),
    **dict.fromkeys(("terminal", "bash", "shell", "python"), "run"),
}
#: Final marker of mini-swe-agent.
FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WRITERS = _words(
    "patch cp mv rm rmdir mkdir touch ln chmod ed ex truncate dd install apply_patch black autopep8"
)
_READERS = _words(
    """
    cat head tail less more nl tac grep egrep fgrep rg ag find fd ls tree wc stat file du df pwd cd echo printf awk sed
    cut sort uniq tr diff cmp comm column jq which type whereis env printenv export set id whoami uname date basename
    dirname realpath readlink true false : test [ sleep hexdump xxd od strings md5sum sha256sum seq paste fold hostname
    nproc free history man help ulimit read tee git
    """
)
_GIT_WRITES = _words(
    "apply am checkout restore reset stash commit add rm mv revert merge cherry-pick init"
)
#: Words that may stand before a program.
_PREFIXES = _words(
    "sudo time timeout nice nohup env command exec xargs then do else if while until ! { ("
)
_BLOCKS = _words("fi done } ) esac for case in function")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
#: Output into no file, or into one that does not stay.
_NOT_KEPT = re.compile(r"\d?>&\d|&?>{1,2}\|?\s*(?:/dev/|/tmp/)\S*")
_BEFORE = re.compile(r"\w+=|-|\d")
_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE
)
#: Arithmetic and tests of the shell, where `>` compares.
_COMPARISON = re.compile(r"\$?\(\([^\n]*?\)\)|\[\[ [^\n]*? \]\]|\\>")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
#: Python code that writes a file.
_PYTHON_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.write(?:_text|_bytes|lines)?\(|open\([^)]*,\s*(?:mode\s*=\s*)?['\"][rb+t]*[wax]"
    r"|shutil\.(?:copy|move|rmtree)|os\.(?:remove|rename|replace|unlink)\("
)
#: Prefix of the settings of agents' rows.
AGENT = "agent:"


@dataclass(frozen=True)
class Sessions:
    """The sessions of one analysis."""

    source: str
    outcome: str
    """The criterion for `passed`."""
    frame: "pd.DataFrame"
    """One row for each session: model (in runs with the agent's name), session (instance and sample; in the original
    the paper, all of whose functions it works on), passed (True, False or None) and the number of actions by kind."""
    notes: Sequence[str] = ()


def original_sessions() -> Sessions:
    """Return the 66 named sessions of OpenHands that the original published (actions.csv)."""
    frame = facts.sessions()
    frame["session"] = frame["paper"].astype(str)
    note = "A session works on all functions of its paper, and has passed if the unit tests of all of them passed."
    source = "the original's sessions of OpenHands (actions.csv)"
    return Sessions(
        source, "unit tests", frame[["model", "session", "passed", *KINDS, EXCLUDED]], [note]
    )


def run_sessions(runs: Sequence[str | Path], level: Level = Level.REPRODUCED) -> Sessions:
    """Return the sessions of the agents whose answers some runs evaluated; those that reach the level have passed.

    The trajectories are beside the predictions, where `lmrbench agent run` wrote them.
    """
    import pandas as pd

    answers: dict[AnswerKey, dict[str, Any] | None] = {}
    for run in map(RunFolder, map(Path, runs)):
        folder = Path(str(run.facts.get("predictions"))).resolve().parent / TRAJECTORIES
        for row in run.rows():
            if row["setting"].startswith(AGENT):
                answers[AnswerKey.of(row).row] = _session(row, folder, level)
    where, rows = ", ".join(map(str, runs)), [session for session in answers.values() if session]
    if not answers:
        raise InputError(
            f"{where}: holds no answer of an agent; evaluate what `lmrbench agent run` wrote"
        )
    if not rows:
        raise InputError(
            f"{where}: no session of an agent found for {plural(len(answers), 'answer')} of agents; trajectories stand "
            "beside the predictions that were evaluated"
        )
    left_out = plural(len(answers) - len(rows), "answer")
    notes = (
        [f"Left out: {left_out} without a trajectory of a known format."]
        if len(answers) > len(rows)
        else []
    )
    return Sessions(where, str(level), pd.DataFrame(rows), notes)


def _session(row: ResultRow, folder: Path, level: Level) -> dict[str, Any] | None:
    """Return the row of an answer's session; None without a known trajectory."""
    name = f"{row['instance_id']}-{row['sample']}"
    # A stranger's run may contain any name of an instance.
    actions = (
        count_actions(folder / name)
        if "/" not in name and not name.startswith(".")
        else Counter[str]()
    )
    if not any(actions[kind] for kind in KINDS):
        return None
    reached = reaches(outcome(row["status"], row["core_status"]), level)
    return {
        "model": f"{row['model_name_or_path']}, {row['setting'].removeprefix(AGENT)}",
        "session": name,
        "passed": None if row["status"] == Status.INFRA_ERROR else reached,
        **{kind: actions[kind] for kind in (*KINDS, EXCLUDED)},
    }


# --- records of agents ------------------------------------------------------------------------------------------------


def count_actions(folder: Path) -> Counter[str]:
    """Count the actions of the session that a folder holds, by kind and `EXCLUDED`; none without a known record."""
    counts: Counter[str] = Counter()
    for path in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        for value in _values(path):
            if isinstance(value.get("messages"), list):
                counts.update(
                    kind for message in value["messages"] for kind in _of_message(message)
                )
            elif "kind" in value and "source" in value:
                counts.update(_of_event(value))
    return counts


def _values(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a file; none if it is not JSON."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for part in split_text(text) if path.suffix == ".jsonl" else [text]:
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):  # not JSON, or the line at which the agent was killed
            continue
        if isinstance(value, dict):
            yield value


def _of_message(message: Any) -> Iterator[str]:
    """Yield the actions of one message of mini-swe-agent: each command; a message if there is none."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return
    extra = message.get("extra")
    actions = extra.get("actions") if isinstance(extra, dict) else None
    commands = [action.get("command") for action in actions or () if isinstance(action, dict)]
    yield from (kind_of(command) for command in commands if isinstance(command, str))
    if not commands:
        yield "message"


def _of_event(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield the kind of an event of OpenHands; none if it is not an action of the agent."""
    if event["source"] != "agent":
        return
    action = event.get("action")
    if event["kind"] == "MessageEvent":
        yield "message"
    elif isinstance(action, dict):  # a call that no tool understood has none
        yield _of_tool(str(event.get("tool_name") or ""), action)


def _of_tool(tool: str, action: Mapping[str, Any]) -> str:
    for name in (tool.lower(), str(action.get("kind", "")).lower()):
        kind = next((kind for word, kind in _TOOL_WORDS.items() if word in name), None)
        if kind and "brows" not in name:
            return "read" if kind == "edit" and action.get("command") == "view" else kind
    return EXCLUDED


def kind_of(command: str) -> str:
    """Classify a command as `finish`, `edit`, `run` or `read`; an empty one is `run`."""
    if FINISH in command:
        return "finish"
    text = _COMMENT.sub("", _HEREDOC.sub(r"\3", command.replace("\\\n", " ")))
    text = _NOT_KEPT.sub("", _COMPARISON.sub("test", _QUOTED.sub("_", text)))
    is_code = "python" in command and ("-c " in command or "<<" in command)
    if ">" in text or (is_code and _PYTHON_WRITES.search(command)):
        return "edit"
    kinds = {_kind(part.split()) for part in re.split(r"[;&|\n]+", text)}
    return next((kind for kind in ("edit", "run", "read") if kind in kinds), "run")


def _kind(words: list[str]) -> str | None:
    """Classify a simple command; None if there is no program."""
    words = list(itertools.dropwhile(lambda word: word in _PREFIXES or _BEFORE.match(word), words))
    if not words or words[0] in _BLOCKS:  # the body of a loop or branch is a part of its own
        return None
    name, rest = words[0].lstrip("({").rpartition("/")[2], words[1:]
    target = next((word for word in rest if not word.startswith("-")), "")
    writes = {
        "tee": not target.startswith(("/dev/", "/tmp/")),
        "find": "-delete" in rest,
        "git": target in _GIT_WRITES,
        **dict.fromkeys(("sed", "perl"), any(map(_IN_PLACE.match, rest))),
    }
    if name in _WRITERS or writes.get(name):
        return "edit"
    return "read" if name in _READERS else "run"
