"""`lmrbench analyse dependencies`: which names count, what never changes them, means by outcome and error class."""

import ast
import json
import keyword
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lmrbench_data as lmr
from lmrbench_data.analyse.dependencies import (
    OTHER,
    RETRIEVAL,
    answer_names,
    as_dict,
    dependency_recall,
    reference_names,
    tables,
)
from lmrbench_data.analyse.errors.classes import Classes, ErrorClass
from lmrbench_data.analyse.errors.diagnosis import Diagnosis, Evidence
from lmrbench_data.analyse.errors.diagnosis_log import FILE, DiagnosisLog
from lmrbench_data.analyse.used_names import Kind, used_names
from lmrbench_data.base.source import find_function
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.judge.question_log import Judge, QuestionOutcome
from lmrbench_evaluate.predictions.prediction import Prediction

GIVEN = {
    "main.py": """
        import math
        import numpy as np
        import torch.nn as nn
        from lib import helpers
        from lib.helpers import decay as shrink
        from lib import *

        LIMIT = 3

        def near(x): return x

        class Base(nn.Module):
            scale = 2
            def __init__(self): self.width = 1
            def step(self): return 0

        class Model(Base):
            def goal(self, x, eps=LIMIT):
                raise NotImplementedError
        """,
    "lib/__init__.py": "from .helpers import decay\nfrom .more import far\n",
    "lib/helpers.py": "RATE = 1\n\ndef decay(x): return x\n\ndef unused(): pass\n",
    "lib/more.py": "def far(x): return x\n\nclass Board:\n    def legal_moves(self): pass\n    def mean(self): pass\n",
}


def files(texts: dict[str, str]) -> dict[str, File]:
    return {path: File(_dedent(text).encode()) for path, text in texts.items()}


def _dedent(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(line[8:] if line.startswith(" " * 8) else line for line in lines)


def names(body: str, above: str = "", **more: str) -> set[str]:
    """Return the names that the goal function uses with this body."""
    lines = "\n".join(f"                {line}" for line in body.splitlines())
    main = (
        GIVEN["main.py"]
        .replace("                raise NotImplementedError", lines)
        .replace("LIMIT = 3", f"LIMIT = 3\n{above}")
    )
    written = files(
        {**GIVEN, "main.py": main, **{name.replace("__", "/") + ".py": text for name, text in more.items()}}
    )
    return {name.name for name in used_names(written, files(GIVEN), "main.py", "Model.goal")}


@pytest.mark.parametrize(
    ("body", "found"),
    {
        "math.exp(x)": {"math.exp"},
        "np.linalg.norm(x)": {"numpy.linalg.norm"},
        "import numpy.linalg as la; la.norm(x)": {"numpy.linalg.norm"},
        "from numpy.linalg import norm\nnorm(x)": {"numpy.linalg.norm"},
        "helpers.decay(x)": {"lib/helpers.py::decay"},
        "shrink(x)": {"lib/helpers.py::decay"},
        "import lib\nlib.decay(x)": {"lib/helpers.py::decay"},
        "from lib import far as f\nf(x)": {"lib/more.py::far"},
        "far(x)": {"lib/more.py::far"},
        "helpers.RATE * LIMIT": {"lib/helpers.py::RATE", "main.py::LIMIT"},
        "near(x)": {"main.py::near"},
        "self.step() + self.width + self.scale": {"main.py::Base.step", "main.py::Base.width", "main.py::Base.scale"},
        "super().step()": {"main.py::Base.step"},
        "self.training": {"torch.nn.Module.training"},
        "x.legal_moves()": {"lib/more.py::Board.legal_moves"},
        # Not: locals, builtins, what any object has, annotations, strings, the signature, the function itself.
        "math = x\nmath.exp(near)": {"main.py::near"},
        "[math for math in x if LIMIT]": {"main.py::LIMIT"},
        "(lambda near: near)(x)": set(),
        "len(x).mean()": set(),
        "y: np.ndarray = x": set(),
        "'near(x)'": set(),
        "return self.goal(x)": set(),
        "return x": set(),
        "def near(z): return z\nnear(x)": set(),
        "LIMIT = 4": set(),
        "global LIMIT\nLIMIT += LIMIT": {"main.py::LIMIT"},
    }.items(),
)
def test_which_names_count(body: str, found: set[str]) -> None:
    assert names(body) == found


def test_what_an_answer_adds_is_part_of_it() -> None:
    """A helper, method or file that it adds counts as the names used in it, however deep."""
    assert names("mine(x)", above="def mine(x): return other(x)\ndef other(x): return helpers.decay(x)") == {
        "lib/helpers.py::decay"
    }
    assert names(
        "from lib.new import mine\nmine(x)", lib__new="from .more import far\ndef mine(x): return far(x)\n"
    ) == {"lib/more.py::far"}
    assert names("mine(x)", above="def mine(x): return mine(x)") == set()
    assert names("Mine.of(x)", above="class Mine:\n    rate = helpers.RATE\n    def of(x): return near(x)") == {
        "main.py::near"
    }


@pytest.fixture(scope="module")
def rows() -> list[DatasetRow]:
    return load_rows("embedded")


def gold(row: DatasetRow, source: str) -> Prediction:
    return Prediction(row["instance_id"], "m", "goal_file", source)


@pytest.mark.slow
def test_a_reference_has_recall_one_and_an_answer_without_names_has_none(rows: list[DatasetRow]) -> None:
    for row in rows:
        wanted = reference_names(row)
        assert answer_names(row, gold(row, row["golden_file"])) == wanted
        name = row["goal_function"].rpartition(".")[2]
        empty = Prediction(row["instance_id"], "m", "function", f"def {name}(*args, **kwargs):\n    return None\n")
        assert answer_names(row, empty) == set()
    kinds = {name.kind for row in rows for name in reference_names(row)}
    assert kinds == set(Kind)


class _Rename(ast.NodeTransformer):
    """Renames variables of a function wherever they stand in it."""

    def __init__(self, new: dict[str, str]) -> None:
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new.get(node.id, node.id), node.ctx), node)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_names_of_variables_change_nothing(rows: list[DatasetRow], data: st.DataObject) -> None:
    row = data.draw(st.sampled_from(rows))
    tree = ast.parse(row["golden_file"])
    place = find_function(row["golden_file"], row["goal_function"]).node.lineno
    [node] = [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and part.lineno == place]
    variables = sorted(
        {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    )
    word = st.from_regex(r"[a-z_]{1,12}", fullmatch=True).filter(lambda text: not keyword.iskeyword(text))
    words = data.draw(st.lists(word, min_size=len(variables), max_size=len(variables), unique=True))
    renamed = {name: f"{word}_{number}_x" for number, (name, word) in enumerate(zip(variables, words, strict=True))}
    node.body = [_Rename(renamed).visit(part) for part in node.body]
    changed = ast.unparse(tree)
    assert answer_names(row, gold(row, changed)) == reference_names(row)


@given(alias=st.from_regex(r"[a-z]{3,9}_q", fullmatch=True))
@settings(max_examples=25, deadline=None)
def test_names_of_imports_change_nothing(alias: str) -> None:
    for form in (f"import numpy as {alias}\n{alias}.exp(x)", f"from numpy import exp as {alias}\n{alias}(x)"):
        assert names(form) == {"numpy.exp"}
        above, _, use = form.partition("\n")
        assert names(use, above=above) == {"numpy.exp"}
    assert names(f"from lib import helpers as {alias}\n{alias}.decay(x)") == {"lib/helpers.py::decay"}


def test_recall_of_a_run_by_outcome_and_error_class(tmp_path: Path, toy_row: dict[str, Any]) -> None:
    write_dataset([toy_row], tmp_path / "toy", load_benchmark())
    answers = {
        "finds": "def scale(values, factor):\n    return [value * factor + OFFSET for value in values]\n",
        "rebuilds": "def scale(values, factor):\n    return [value * factor for value in values]\n",
        "invents": "def scale(values, factor):\n    return [value * factor + SHIFT for value in values]\n",
        "adds": "def scale(values, factor):\n    return [value + factor + OFFSET for value in values]\n",
        "silent": "no",
    }
    predictions = [
        {"instance_id": "toy-scale", "model_name_or_path": name, "function": text} for name, text in answers.items()
    ]
    run = lmr.evaluate(predictions, tmp_path / "run", dataset=str(tmp_path / "toy"), sandbox="local").path
    with DiagnosisLog.open(run / FILE) as file:
        for name, error in (("invents", ErrorClass.CROSS_FILE_RETRIEVAL), ("adds", ErrorClass.PAPER_PARSING)):
            prediction = Prediction("toy-scale", name, "function", answers[name])
            evidence = Evidence(error, "quote", "candidate", "why", found=True)
            made = QuestionOutcome(Diagnosis(Classes(error, frozenset({error})), (evidence,)))
            file.append(prediction.answer, Judge("m", "e1-0"), made)

    found = dependency_recall([run])
    recall = {item.key[1]: item.recall() for item in found.answers}
    assert recall == {"finds": 1, "rebuilds": 0, "invents": 0, "adds": 1}
    assert found.left_out == {"malformed": 1}
    means = {name: found.mean(items, Kind.REPOSITORY).value for name, items in found.by("outcome").items()}
    assert means == {"reproduced": 0.5, "not reproduced": 0.5}
    assert {name: found.mean(items).value for name, items in found.by("error").items()} == {RETRIEVAL: 0, OTHER: 1}
    assert [(name.name, missed, of) for _, name, missed, of in found.missed()] == [("helpers.py::OFFSET", 2, 4)]
    assert [title for title, _ in tables(found)][-2:] == [
        "Failed answers by error class",
        "Names of the reference that answers do not use",
    ]
    assert json.loads(json.dumps(as_dict(found)))["outcome"]["reproduced"]["libraries"]["value"] is None
