"""Names of models: one form, nothing invisible."""

from typing import Any

import pytest

from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.predictions.reading import read_predictions
from lmrbench_evaluate.predictions.sources import BadRow

ROWS: dict[str, Any] = {"toy-scale": {}}
GOOD = {"instance_id": "toy-scale", "function": "def scale(): pass"}


NAMES = ["gpt\ufe0f", "g\u034fpt", "\u3164", "gpt\u200b", "gp\u00adt", "g\u2800pt", "gpt\U000e0041", "=1+1", "@cf/m"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_that_mislead_are_bad_rows(name: str) -> None:
    for names in ({"model_name_or_path": name}, {"model_name_or_path": "m", "setting": name}):
        [row] = read_predictions([{**GOOD, **names}], ROWS)
        assert isinstance(row, BadRow)
        assert next(reversed(names)) in row.reason
        assert name[0] not in "=@" or "leave it out" in row.reason


ALIKE = {
    "оpenai/gpt-5": "mixes letters of CYRILLIC and LATIN",
    "οrg/model": "GREEK and LATIN",
    "orɡ/model": "IPA and LATIN",
    "օrg/model": "ARMENIAN and LATIN",
    "org/mоdеl-數": "CYRILLIC and LATIN",
}


@pytest.mark.parametrize(("name", "reason"), ALIKE.items())
def test_names_that_mix_alphabets_are_bad_rows(name: str, reason: str) -> None:
    [row] = read_predictions([{**GOOD, "model_name_or_path": name}], ROWS)
    assert isinstance(row, BadRow)
    assert reason in row.reason
    for fine in ("org/數模型-7B", "Сайга-7", "é/Modèle-ü", "org/한국어-LLM", "org/ひらがな-カタ"):
        [good] = read_predictions([{**GOOD, "model_name_or_path": fine}], ROWS)
        assert isinstance(good, Prediction), fine


def test_one_name_has_one_form() -> None:
    names = ["o-r:g/model", "o-r:g/model ", " o-r:g/model", "ｏ－ｒ：ｇ/ｍｏｄｅｌ", "o\u2010r\ua789g\u2215model"]
    names += [f"o{dash}r:g/model" for dash in "\u2011\u2012\u2013\u2014\u2212\ufe63"]
    first, *others = read_predictions([{**GOOD, "model_name_or_path": name, "sample": 0} for name in names], ROWS)
    assert isinstance(first, Prediction)
    assert first.model == "o-r:g/model"
    assert all("duplicate of row 0" in str(other) for other in others), others
