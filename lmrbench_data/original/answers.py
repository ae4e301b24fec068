"""The original's answers, rebuilt from its agents' sessions: one for each model and goal function.

The release has no file of answers. Its sessions hold the edits, so each answer is the goal file that they lead to
(`replay`), with the certainty of that result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import PurePosixPath

from lmrbench_evaluate.predictions.prediction import Prediction

from ..base.source import SourceError
from .catalogue import Function
from .clone import Clone
from .goals import Goal, code_of
from .openhands import Trajectory, read_events
from .replay import Rebuilt, replay

#: The setting of OpenHands sessions.
AGENT = "openhands_agent"


class Recovery(StrEnum):
    """The way in which an answer was rebuilt."""

    REPLAYED = "replayed"
    """Every edit was replayed, and all listings agree with the result."""
    PARTIAL = "partial"
    """An edit could not be replayed, a listing differs, or a command may have changed the file."""
    UNIMPLEMENTED = "unimplemented"
    """The function is still masked."""
    NOT_RECOVERED = "not recovered"
    """There is no session of this model and task, or it never shows the goal file."""


@dataclass(frozen=True)
class Recovered:
    """One model's answer to one function, rebuilt or not."""

    model: str
    function: Function
    recovery: Recovery
    goal: Goal | None = None
    session: str = ""
    file: Rebuilt | None = None
    why: str = ""
    """The reason for a doubtful or missing answer."""

    @property
    def text(self) -> str | None:
        """The final goal file; None if it is not known."""
        return self.file.text if self.file and self.recovery is not Recovery.NOT_RECOVERED else None

    @property
    def metadata(self) -> dict[str, str | int]:
        """The `metadata` of a prediction: how the answer was rebuilt."""
        assert self.file is not None
        counts = {"edits": self.file.edits, "listings": self.file.listings, "differing": self.file.differing}
        return {"recovery": str(self.recovery), "session": self.session, **counts}

    def prediction(self) -> Prediction | None:
        """The whole goal file as an answer to the original's task; None if answers to it cannot be judged."""
        if self.text is None or self.goal is None or self.goal.golden is None or self.goal.masked is None:
            return None
        names = self.function.instance_id, self.model, "goal_file", self.text
        problem = "" if self.text.strip() else "goal_file is empty"
        return Prediction(*names, setting=AGENT, metadata=self.metadata, problem=problem)


def recover_answers(
    clone: Clone,
    trajectories: Sequence[Trajectory],
    goals: Sequence[Goal],
    functions: Sequence[Function],
    models: Sequence[str],
) -> list[Recovered]:
    """The answers of some models to some functions, whether they can be rebuilt or not.

    Args:
        trajectories: those that do not count are passed over.
        functions: of all papers.
    """
    by_function = {goal.function: goal for goal in goals}
    sessions = {(item.model, item.paper): item for item in trajectories if item.counted}
    found = []
    for model in models:
        for paper in sorted({function.paper for function in functions}):
            of_paper = [function for function in functions if function.paper == paper]
            session = sessions.get((model, paper))
            files = _replay_all(clone, session, [by_function[item] for item in of_paper if item in by_function])
            for function in of_paper:
                goal = by_function.get(function)
                if session is None:
                    found.append(_missing(model, function, "no session of this paper has its name"))
                elif goal is None:
                    found.append(_missing(model, function, "the clone does not say which file it is in"))
                else:
                    found.append(_recovered(model, goal, session, files[goal.path]))
    return found


def _missing(model: str, function: Function, why: str) -> Recovered:
    return Recovered(model, function, Recovery.NOT_RECOVERED, why=why)


def _replay_all(clone: Clone, session: Trajectory | None, goals: Sequence[Goal]) -> dict[str, Rebuilt]:
    """The goal files of a session by path: several functions may be in one."""
    if session is None or not goals:
        return {}
    events = list(read_events(clone, session))
    return {
        path: replay(events, partial(Goal.is_file, goal), goal.masked, PurePosixPath(path).name)
        for path, goal in {goal.path: goal for goal in goals}.items()
    }


def _recovered(model: str, goal: Goal, session: Trajectory, file: Rebuilt) -> Recovered:
    recovery, why = Recovery.REPLAYED, ""
    if file.text is None:
        recovery, why = Recovery.NOT_RECOVERED, "neither the clone nor the session has the goal file"
    elif file.doubts:
        recovery, why = Recovery.PARTIAL, file.doubts[-1]
    elif _is_unchanged(file, goal.name):
        recovery, why = Recovery.UNIMPLEMENTED, "" if file.edits else "the agent did not edit the goal file"
    return Recovered(model, goal.function, recovery, goal, session.session, file, why)


def _is_unchanged(file: Rebuilt, name: str) -> bool:
    assert file.text is not None
    if file.text == file.start:
        return True
    try:
        return code_of(file.text, name) == code_of(file.start or "", name)
    except SourceError:
        return False
