"""predictions.jsonl of a run folder: its own copy of the predictions, read row by row, never held whole."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from lmrbench_data.base.errors import InputError

from .prediction import FORMS, UNSTATED, AnswerKey, Prediction, object_text


class PredictionFile:
    """A file of checked predictions."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, predictions: Iterable[Prediction]) -> dict[AnswerKey, int]:
        """Replace the file and return its index: the byte at which the row of each prediction starts."""
        temporary, positions, position = self.path.with_name(f".{self.path.name}"), dict[AnswerKey, int](), 0
        try:
            with temporary.open("wb") as file:
                for item in predictions:
                    positions[item.key] = position
                    position += file.write(json.dumps(item.as_row()).encode("ascii") + b"\n")
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
        return positions

    def read(self, position: int) -> Prediction:
        """Read the prediction that starts at this byte; InputError if it is damaged."""
        with self.path.open("rb") as file:
            file.seek(position)
            return self._parse(file.readline(), f"byte {position}")

    def __iter__(self) -> Iterator[Prediction]:
        """Yield all predictions in order; none if the file is missing, InputError if it is damaged."""
        if self.path.is_file():
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    yield self._parse(line, number)

    def _parse(self, line: bytes, place: object) -> Prediction:
        """Read a row that `Prediction.as_row` made."""
        try:
            raw = json.loads(line)
            form = next(form for form in FORMS if form in raw)
            names = raw["instance_id"], raw["model_name_or_path"]
            more = raw["sample"], raw["setting"], raw.get("track", UNSTATED), raw.get("metadata")
            content = object_text(raw[form]) if isinstance(raw[form], dict) else raw[form]
            return Prediction(*names, form, content, *more, str(raw.get("problem", "")))
        except (ValueError, TypeError, LookupError, StopIteration, RecursionError) as error:
            raise InputError(f"{self.path}:{place}: damaged; evaluate again to fix it") from error
