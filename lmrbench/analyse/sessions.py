"""Agents' sessions as counts of their actions, with outcomes: the original's, or those of runs.

The five kinds are those of the LMR-BENCH paper's Figure 5, mapped by tools as in its Appendix F:
edit; finish; message (messages and thoughts); read; run (shell and IPython). Browsing and the like,
which it excludes, is counted apart. A command is `finish` if it prints mini-swe-agent's final
marker.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jsonl import parse_row
from lmrbench_data.base.names import child_path
from lmrbench_data.base.text import plural
from lmrbench_data.chat.refusals import get
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_evaluate.predictions.prediction import AGENT_PREFIX, AnswerKey
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..generation.agents.agent_runs import TRAJECTORIES
from ..generation.agents.session_trace import read_session
from ..original import facts

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("edit", "finish", "message", "read", "run")
#: Not among the paper's kinds.
EXCLUDED = "excluded"
#: Words in the names of tools and of OpenHands' actions, in order. An editor's command decides.
_TOOL_WORDS = {
    "finish": "finish",
    "think": "message",
    **dict.fromkeys(("editor", "edit", "patch", "write"), "edit"),
    **dict.fromkeys(("grep", "glob", "read", "view"), "read"),
    **dict.fromkeys(("terminal", "bash", "shell", "python"), "run"),
}
#: Final marker of mini-swe-agent.
FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True)
class Sessions:
    """The sessions of one analysis."""

    source: str
    outcome: str
    """The criterion for `passed`."""
    frame: "pd.DataFrame"
    """One row for each session: model (in runs with the agent's name), session (instance and
    sample; in the original the paper, all of whose functions it works on), passed (True, False or
    None) and the number of actions by kind."""
    notes: Sequence[str] = ()


def original_sessions() -> Sessions:
    """Return the 66 named sessions of OpenHands that the original published (actions.csv)."""
    frame = facts.sessions()
    frame["session"] = frame["paper"].astype(str)
    frame = frame[["model", "session", "passed", *KINDS, EXCLUDED]]
    note = (
        "A session works on all functions of its paper, and has passed if the unit tests of all of "
        "them passed."
    )
    source = "the original's sessions of OpenHands (actions.csv)"
    return Sessions(source, "unit tests", frame, [note])


def run_sessions(runs: Sequence[str | Path], level: Level = Level.REPRODUCED) -> Sessions:
    """Return the sessions of agents whose answers some runs evaluated.

    The trajectories are beside the predictions, where `lmrbench agent run` wrote them.

    Args:
        level: the level that a session must reach to have passed.
    """
    import pandas as pd

    sessions: dict[AnswerKey, dict[str, Any] | None] = {}
    for run in runs:
        sessions |= _sessions_of(RunFolder(Path(run)), level)
    source = ", ".join(map(str, runs))
    rows = [session for session in sessions.values() if session]
    _check_sessions(source, answers=len(sessions), sessions=len(rows))
    notes = list(_session_notes(len(sessions) - len(rows)))
    return Sessions(source, str(level), pd.DataFrame(rows), notes)


def _check_sessions(source: str, answers: int, sessions: int) -> None:
    if not answers:
        raise InputError(
            f"{source}: holds no answer of an agent; evaluate what `lmrbench agent run` wrote"
        )
    if not sessions:
        raise InputError(
            f"{source}: no session of an agent found for {plural(answers, 'answer')} of agents; "
            "trajectories stand beside the predictions that were evaluated"
        )


def _session_notes(left_out: int) -> Iterator[str]:
    if left_out:
        answers = plural(left_out, "answer")
        yield f"Left out: {answers} without a trajectory of a known format."


def _sessions_of(folder: RunFolder, level: Level) -> dict[AnswerKey, dict[str, Any] | None]:
    """Return the sessions of the agents' answers in a run; None without a known trajectory."""
    predictions = Path(str(folder.facts.get("predictions"))).resolve()
    trajectories = predictions.parent / TRAJECTORIES
    sessions = {}
    for row in folder.rows():
        if row["setting"].startswith(AGENT_PREFIX):
            sessions[AnswerKey.of(row).row] = _session(row, trajectories, level)
    return sessions


def _session(row: ResultRow, trajectories: Path, level: Level) -> dict[str, Any] | None:
    """Return the row of an answer's session; None without a known trajectory."""
    name = f"{row['instance_id']}-{row['sample']}"
    try:
        actions = count_actions(child_path(trajectories, name))
    except ValueError:  # a stranger's run may contain any name of an instance
        return None
    if not any(actions[kind] for kind in KINDS):
        return None
    agent = row["setting"].removeprefix(AGENT_PREFIX)
    model = f"{row['model_name_or_path']}, {agent}"
    passed = _has_passed(row, level)
    counts = {kind: actions[kind] for kind in (*KINDS, EXCLUDED)}
    return {"model": model, "session": name, "passed": passed, **counts}


def _has_passed(row: ResultRow, level: Level) -> bool | None:
    """Return whether an answer reached a level; None after an infra error."""
    if row["status"] == Status.INFRA_ERROR:
        return None
    return reaches(outcome(row["status"], row["core_status"]), level)


# --- records of agents ----------------------------------------------------------------------------


def count_actions(folder: Path) -> Counter[str]:
    """Count the actions of the session in a folder by kind; none without a known record."""
    counts: Counter[str] = Counter()
    for message in read_session(folder):
        if message["role"] == "assistant":
            calls = message.get("toolCalls")
            counts.update(map(_of_call, calls) if isinstance(calls, list) else ["message"])
    return counts


def _of_call(call: Any) -> str:
    """Return the kind of a call of a tool."""
    tool = str(get(call, "function", "name"))
    action = parse_row(str(get(call, "function", "arguments")).encode(), {}) or {}
    if FINISH in str(action.get("command")):
        return "finish"
    for name in (tool.lower(), str(action.get("kind", "")).lower()):
        if "brows" in name:
            continue
        for word, kind in _TOOL_WORDS.items():
            if word in name:
                is_view = kind == "edit" and action.get("command") == "view"
                return "read" if is_view else kind
    return EXCLUDED
