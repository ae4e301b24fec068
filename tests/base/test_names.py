"""Names and texts: one form in which no two names look alike, suggestions of names, shortened texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.base.text import without_middle
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


def test_name_that_contains_the_word_is_suggested_first() -> None:
    assert did_you_mean("gpt5", ["gpt-4", "gpt-4.1", "openai/gpt-5"]) == " (did you mean 'openai/gpt-5'?)"
    assert did_you_mean("gpt5", ["gpt-4", "claude"]) == " (did you mean 'gpt-4'?)"


@given(text=st.text(max_size=400), most=st.integers(0, 300))
def test_text_without_its_middle_is_never_longer(text: str, most: int) -> None:
    shortened = without_middle(text, most)
    assert len(shortened) <= len(text)
    assert shortened[: most // 2] == text[: most // 2]
