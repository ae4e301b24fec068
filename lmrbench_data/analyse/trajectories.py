"""Count the actions of an agent's session from the records of mini-swe-agent or OpenHands.

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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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


_WRITERS = _words("patch cp mv rm rmdir mkdir touch ln chmod ed ex truncate dd install apply_patch black autopep8")
_READERS = _words(
    """
    cat head tail less more nl tac grep egrep fgrep rg ag find fd ls tree wc stat file du df pwd cd echo printf awk sed
    cut sort uniq tr diff cmp comm column jq which type whereis env printenv export set id whoami uname date basename
    dirname realpath readlink true false : test [ sleep hexdump xxd od strings md5sum sha256sum seq paste fold hostname
    nproc free history man help ulimit read tee git
    """
)
_GIT_WRITES = _words("apply am checkout restore reset stash commit add rm mv revert merge cherry-pick init")
#: Words that may stand before a program.
_PREFIXES = _words("sudo time timeout nice nohup env command exec xargs then do else if while until ! { (")
_BLOCKS = _words("fi done } ) esac for case in function")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
#: Output into no file, or into one that does not stay.
_NOT_KEPT = re.compile(r"\d?>&\d|&?>{1,2}\|?\s*(?:/dev/|/tmp/)\S*")
_BEFORE = re.compile(r"\w+=|-|\d")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
#: Python code that writes a file.
_PYTHON_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.write(?:_text|_bytes|lines)?\(|open\([^)]*,\s*(?:mode\s*=\s*)?['\"][rb+t]*[wax]"
    r"|shutil\.(?:copy|move|rmtree)|os\.(?:remove|rename|replace|unlink)\("
)


def count_actions(folder: Path) -> Counter[str] | None:
    """The actions of the session that a folder holds, by kind and `EXCLUDED`; None without a known record."""
    counts: Counter[str] = Counter()
    is_session = False
    for path in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        for value in _values(path):
            if isinstance(value.get("messages"), list):
                counts.update(kind for message in value["messages"] for kind in _of_message(message))
                is_session = True
            elif "kind" in value and "source" in value:
                counts.update(_of_event(value))
                is_session = True
    return counts if is_session else None


def _values(path: Path) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file; none if it is not JSON."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):  # not JSON, or the line at which the agent was killed
            continue
        if isinstance(value, dict):
            yield value


def _of_message(message: Any) -> Iterator[str]:
    """The actions of one message of mini-swe-agent: each command; a message if there is none."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return
    extra = message.get("extra")
    actions = extra.get("actions") if isinstance(extra, dict) else None
    commands = [action.get("command") for action in actions or () if isinstance(action, dict)]
    yield from (kind_of(command) for command in commands if isinstance(command, str))
    if not commands:
        yield "message"


def _of_event(event: Mapping[str, Any]) -> Iterator[str]:
    """The kind of an event of OpenHands; none if it is not an action of the agent."""
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
    text = _NOT_KEPT.sub("", _QUOTED.sub("_", text))
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
