"""Predictions: one answer of a model to an instance, its identity, and a run's file of them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.jsonl import line_of
from lmrbench_data.base.proportions import TRACKS
from lmrbench_data.base.text import one_line
from lmrbench_data.chat.finish_reasons import Ending, ending, is_token_limit
from lmrbench_data.dataset.rows import DatasetRow, golden_files_of
from lmrbench_data.loader import read_archive

from .sources import WORDS

FORMS = ("function", "goal_file", "model_patch", "files")
#: Words for the benchmark's own files as predictions.
GOLD, MASKED = WORDS
#: Limit of an answer in any form but a patch.
MAX_ANSWER_BYTES = 1_000_000
#: git searches for the place of each hunk, and its time grows with the square of the size of a
#: hostile patch.
MAX_PATCH_BYTES = 200_000
#: The track of a row without one.
UNSTATED = "unstated"
#: Prefix of the settings of agents; the name of the agent follows.
AGENT_PREFIX = "agent:"


class AnswerKey(NamedTuple):
    """Identity of an answer; with fields left empty, of all answers that agree in the others."""

    instance_id: str
    model: str = ""
    setting: str = ""
    track: str = ""
    sample: int = 0
    sha256: str = ""
    """Hash of the content."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return what a row of predictions, results, judgements or diagnoses states."""
        return cls(
            row["instance_id"],
            row.get("model_name_or_path") or "",
            row.get("setting") or "",
            row.get("track") or UNSTATED,
            row.get("sample") or 0,
            row.get("prediction_sha256") or "",
        )

    @property
    def row(self) -> Self:
        """Identity of a row of predictions, whatever its content."""
        return self._replace(sha256="")

    @property
    def content(self) -> Self:
        """Identity of what is evaluated once."""
        return self._replace(model="", setting="", track="", sample=0)

    @property
    def question(self) -> Self:
        """Identity of what a judge is asked once."""
        return self._replace(model="", setting="", sample=0)

    def __str__(self) -> str:
        names = ", ".join(filter(None, (self.setting, self.track)))
        return f"sample {self.sample} of {self.model!r} ({names}) for {self.instance_id}"

    def as_row(self) -> dict[str, Any]:
        """Return the keys of a result row that distinguish the answers to one instance."""
        return {
            "model_name_or_path": self.model,
            "setting": self.setting,
            "track": self.track,
            "sample": self.sample,
            "prediction_sha256": self.sha256,
        }


@dataclass(frozen=True)
class Prediction:
    """One answer of one model for one instance."""

    instance_id: str
    model: str
    form: str
    """One of `FORMS`."""
    content: str
    """The answer as text; the object of `files` as JSON."""
    sample: int = 0
    setting: str = ""
    track: str = UNSTATED
    """One of `TRACKS`, or `unstated`."""
    metadata: Mapping[str, Any] | None = None
    problem: str = ""
    """The reason why the answer cannot be used: malformed, with empty `content`."""

    @property
    def is_cut(self) -> bool:
        """Whether it is a reply that ended before the model ended it."""
        is_reply = self.form == "function"
        return is_reply and ending(_finish_reason(self.metadata)) is not Ending.COMPLETE

    @property
    def cut(self) -> str:
        """How the reply was cut; empty if it was not."""
        if not self.is_cut:
            return ""
        if was_cut(self.metadata):
            return "the reply was cut at the token limit"
        reason = one_line(_finish_reason(self.metadata))[:40]
        return f"the reply was cut off (finish_reason {reason})"

    @cached_property
    def sha256(self) -> str:
        """Identity of the content: predictions that agree in it run once."""
        text = f"{self.form}\n{self.content}"
        if self.problem:
            text = f"problem\n{self.problem}"
        elif self.is_cut:
            text = f"cut\n{text}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def key(self) -> AnswerKey:
        """Its identity."""
        return AnswerKey(
            self.instance_id, self.model, self.setting, self.track, self.sample, self.sha256
        )

    def as_row(self) -> dict[str, Any]:
        """Return the row with the keys of the prediction contract."""
        is_object = self.form == "files" and self.content
        row = {
            "instance_id": self.instance_id,
            "model_name_or_path": self.model,
            self.form: json.loads(self.content) if is_object else self.content,
            "sample": self.sample,
            "setting": self.setting,
            "track": self.track,
        }
        if self.problem:
            row["problem"] = self.problem
        if self.metadata is not None:
            row["metadata"] = self.metadata
        return row


def was_cut(metadata: Any) -> bool:
    """Return whether the server cut the reply of an answer at the token limit."""
    return is_token_limit(_finish_reason(metadata))


def _finish_reason(metadata: Any) -> Any:
    return metadata.get("finish_reason") if isinstance(metadata, Mapping) else None


def too_large(form: str, content: str) -> str:
    """Return why an answer exceeds the limit of its form; empty if it does not."""
    is_patch = form == "model_patch"
    most = MAX_PATCH_BYTES if is_patch else MAX_ANSWER_BYTES
    if len(content.encode("utf-8", "surrogatepass")) <= most:
        return ""
    return f"{'the patch' if is_patch else form} is larger than {most} bytes"


def check_track(track: str) -> None:
    """Raise ArgumentError unless a model can be shown this track, one of `TRACKS`."""
    if track not in TRACKS:
        raise ArgumentError("track", f"must be {' or '.join(TRACKS)}, not {track!r}")


def own_answer(row: DatasetRow, word: str) -> Prediction:
    """Return the reference (`gold`) or the masked files (`masked`) as an answer."""
    files = golden_files_of(row)
    if word == MASKED:
        masked = read_archive(row["repo_archive"])
        files = {name: masked[name].data.decode("utf-8") for name in files}
    if configuration_of(row).is_method:
        return Prediction(row["instance_id"], word, "files", object_text(files))
    return Prediction(row["instance_id"], word, "goal_file", files[row["goal_file"]])


def object_text(texts: Mapping[str, str]) -> str:
    """Return an object of texts as the content of a prediction."""
    return json.dumps(texts, ensure_ascii=False)


class PredictionFile:
    """predictions.jsonl of a run folder: checked predictions, read row by row, never held whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, predictions: Iterable[Prediction]) -> dict[AnswerKey, int]:
        """Replace the file and return its index: the byte at which each prediction starts."""
        positions: dict[AnswerKey, int] = {}

        def lines() -> Iterator[bytes]:
            position = 0
            for item in predictions:
                line = line_of(item.as_row())
                positions[item.key] = position
                position += len(line)
                yield line

        write_atomically(self.path, lines())
        return positions

    def read(self, position: int) -> Prediction:
        """Read the prediction that starts at this byte; InputError if it is damaged."""
        with self.path.open("rb") as file:
            file.seek(position)
            return self._parse(file.readline(), f"byte {position}")

    def __iter__(self) -> Iterator[Prediction]:
        """Yield all predictions; none if the file is missing, InputError if it is damaged."""
        if self.path.is_file():
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    yield self._parse(line, number)

    def _parse(self, line: bytes, place: object) -> Prediction:
        try:
            raw = json.loads(line)
            form = next(form for form in FORMS if form in raw)
            return Prediction(
                raw["instance_id"],
                raw["model_name_or_path"],
                form,
                object_text(raw[form]) if isinstance(raw[form], dict) else raw[form],
                raw["sample"],
                raw["setting"],
                raw["track"],
                raw.get("metadata"),
                str(raw.get("problem", "")),
            )
        except (ValueError, TypeError, LookupError, StopIteration, RecursionError) as error:
            fix = "evaluate again with `replace=True` to fix it"
            raise InputError(f"{self.path}:{place}: damaged; {fix}") from error
