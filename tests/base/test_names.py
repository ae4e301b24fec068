"""Names of models: one form, nothing invisible."""

from pathlib import Path
from typing import Any

import pytest

from lmrbench_evaluate.predictions.prediction import Prediction, read_predictions
from lmrbench_evaluate.predictions.sources import BadRow

ROWS: dict[str, Any] = {"toy-scale": {}}
GOOD = {"instance_id": "toy-scale", "function": "def scale(): pass"}


@pytest.mark.parametrize(
    "name",
    [
        "gpt\ufe0f",
        "g\u034fpt",
        "\u3164",
        "gpt\u200b",
        "gpt\u115f",
        "gp\u00adt",
        "g\u2800pt",
        "gpt\U000e0041",
        "=1+1",
        "@x",
    ],
    ids=ascii,
)
def test_names_that_mislead_are_bad_rows(name: str, tmp_path: Path) -> None:
    [row] = read_predictions([{**GOOD, "model_name_or_path": name}], ROWS)
    assert isinstance(row, BadRow), row
    assert "model_name_or_path" in row.reason
    [row] = read_predictions([{**GOOD, "model_name_or_path": "m", "setting": name}], ROWS)
    assert isinstance(row, BadRow), row


def test_one_name_has_one_form() -> None:
    names = ["org/model", "org/model ", " org/model", "ｏｒｇ/ｍｏｄｅｌ"]
    first, *others = read_predictions([{**GOOD, "model_name_or_path": name, "sample": 0} for name in names], ROWS)
    assert isinstance(first, Prediction)
    assert first.model == "org/model"
    assert all("duplicate of row 0" in str(other) for other in others), others
