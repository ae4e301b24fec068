"""Names of models: one form, in which no two look alike."""

from typing import Any

import pytest

from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.predictions.reading import read_predictions
from lmrbench_evaluate.predictions.sources import BadRow

ROWS: dict[str, Any] = {"toy-scale": {}}
GOOD = {"instance_id": "toy-scale", "function": "def scale(): pass"}


NAMES = [
    "gpt\ufe0f",
    "\u3164",
    "gpt\u200b",
    "\u043epenai/gpt-5",
    "o\u2010r/m",
    "\uff4d",
    "m\u00e9",
    "m" * 151,
    "=1+1",
    "@cf/m",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_that_mislead_are_bad_rows(name: str) -> None:
    for names in ({"model_name_or_path": name}, {"model_name_or_path": "m", "setting": name}):
        [row] = read_predictions([{**GOOD, **names}], ROWS)
        assert isinstance(row, BadRow)
        assert next(reversed(names)) in row.reason
        assert name[0] not in "=@" or "leave it out" in row.reason


def test_one_name_has_one_form() -> None:
    names = ["o-r:g/a model", "o-r:g/a model ", " o-r:g/a  model"]
    first, *others = read_predictions([{**GOOD, "model_name_or_path": name, "sample": 0} for name in names], ROWS)
    assert isinstance(first, Prediction)
    assert first.model == "o-r:g/a model"
    assert all("duplicate of row 0" in str(other) for other in others), others
