"""The record of a verified run, `verified/<run_id>.json`: who verified what, with all rates.

`lmrbench verify` writes it from its own run, and a leaderboard shows its rates as they are. The
module imports pydantic and the standard library alone: the leaderboard Space gets a copy of it
(`cards/space`).
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: The judge's categories: completely correct, logic correct with subtle errors, incorrect logic.
JUDGED = ("CC", "LC", "LI")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Task(_Part):
    """An instance of the benchmark."""

    category: str
    paper: str
    url: str = ""
    """The address of the paper, http(s) or empty."""
    difficulty: str = ""
    """`easy`, `hard` or `silent` for an underspecified paper."""

    @field_validator("url")
    @classmethod
    def _only_http(cls, url: str) -> str:
        return url if url.startswith(("https://", "http://")) else ""


class TaskResult(_Part):
    """One model's samples of one instance."""

    outcomes: dict[str, int]
    """Outcome (`verdict.levels.OUTCOMES`) → number of samples; `robust` implies reproduced."""
    judged: dict[str, int] = {}
    memorised: int = 0
    failure: str = ""
    """The case that decided the first sample that is not robust, with its difference."""

    @property
    def robust(self) -> int:
        """Number of samples whose cases all passed."""
        return self.outcomes.get("robust", 0)

    @property
    def reproduced(self) -> int:
        """Number of samples whose core cases all passed."""
        return self.outcomes.get("reproduced", 0) + self.robust


class Choices(_Part):
    """Numbers of altered and open choices that were read, or can be hit without the paper."""

    total: int = 0
    read: int = 0
    """Choices made as the paper has them."""
    guessed: float = 0
    """Choices that a guess among the options is expected to hit."""
    recited: int = 0
    """Choices whose true option is the published one, which a recited method hits."""
    read_published: int = 0
    """Those among `recited` that were read."""
    corrected: float | None = None
    """The share read: 0 for the larger one of guessing and reciting, 1 for all; None if there is no
    choice, or if all are `recited`."""


class Score(_Part):
    """One model's rates, on all instances or on those of a category.

    Every instance counts as many samples as the one with the most. Fields that begin with `claimed`
    are the submitter's word: nobody has verified them, and they never change a rank.
    """

    reproduced: int
    robust: int
    total: int = Field(gt=0)
    missing: int
    interval: tuple[float, float]
    """Wilson's 95% interval of the ranking rate; n is the number of instances."""
    memorised: int = 0
    """Samples that passed on the published seeds only, at either level."""
    choices: Choices = Choices()
    claimed_judged: dict[str, int] = {}
    claimed_cost_usd: float | None = None
    """US dollars for one answer to each instance; None if an answer states no cost."""

    def rate(self, level: str) -> float:
        """Return the share that reached a level, `reproduced` or `robust`."""
        return float(getattr(self, level) / self.total)


class Entry(_Part):
    """One model in one setting and track."""

    model: str
    setting: str
    track: str
    level: Literal["reproduced", "robust"]
    """The level that ranks the track."""
    difficulty: str = ""
    """`easy`, `hard` or `silent` if the entry is on these rows alone; empty if it is on all."""
    samples: int = Field(gt=0)
    judges: list[str] = []
    fingerprint: str
    """Equal for equal predictions, whatever their names."""
    overall: Score
    categories: dict[str, Score]
    tasks: dict[str, TaskResult]
    """Instance id → results, unanswered instances included."""


class Record(_Part):
    """A run that a maintainer has repeated.

    Attributes:
        version: version of the format; records of other versions are not read.
        submission: the verified commit of the pull request.
        agreed: number of rows whose verdict equals the submitted one.
        memorised: a line for each answer that passes the published seeds only, up to a limit.
        differing: a line for each answer whose verdict differs from the submitted one, likewise.
        fresh_seeds: the secret seeds, which are secret no more.
    """

    version: Literal[2] = 2
    run_id: str
    verified_at: str
    verified_by: str
    submitted_by: str
    pull_request: int
    submission: str
    dataset: str
    config: str = Field(pattern=r"^[a-z]{1,40}$")
    dataset_sha256: str
    benchmark_version: str = Field(pattern=r"^\d{1,6}\.\d{1,6}\.\d{1,6}$")
    harness_version: str
    predictions_sha256: str
    rows: int
    agreed: int
    memorised: list[str]
    differing: list[str]
    fresh_seeds: list[int]
    tasks: dict[str, Task]
    entries: list[Entry]

    @property
    def memorised_answers(self) -> int:
        """Number of answers that pass the published seeds only; `memorised` may list fewer."""
        return sum(entry.overall.memorised for entry in self.entries if not entry.difficulty)
