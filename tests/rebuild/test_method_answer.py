"""An answer to a method is one text: which function of it goes into which file."""

import ast
import textwrap
from collections.abc import Mapping

import pytest

from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_evaluate.rebuild.answer import splice_method

MASKED = {
    "pack/model.py": """
import torch


class Near:
    def forward(self, x):
        raise NotImplementedError

    def scale(self, x):
        raise NotImplementedError


class Far:
    size = 3

    def forward(self, x):
        raise NotImplementedError
""",
    "train.py": """
def loss(x):
    raise NotImplementedError


def fit(model):
    raise NotImplementedError
""",
}
GOALS = {"pack/model.py": ["Near.forward", "Near.scale", "Far.forward"], "train.py": ["loss", "fit"]}
MODEL = """
WIDTH = 2

def _half(x):
    return x / WIDTH

class Near:
    def forward(self, x):
        return _half(self._keep(x))

    def scale(self, x):
        return 2 * x

    def _keep(self, x):
        return x

class Far:
    def forward(self, x):
        return x - 1
"""
TRAIN = "def loss(x):\n    return x**2\n\ndef fit(model):\n    return loss(model)\n"


def block(code: str, *, inside: str = "", above: str = "") -> str:
    first = f"# file: {inside}\n" if inside else ""
    return f"{above}\n\n```python\n{first}{code}```\n"


def method(owner: str, name: str, body: str) -> str:
    return block(f"class {owner}:\n    def {name}(self, x):\n        return {body}\n", inside="pack/model.py")


def run(files: Mapping[str, str]) -> list[float]:
    """Return what the functions of a rebuilt repository compute for one input."""
    for text in files.values():
        ast.parse(text)
    model: dict[str, object] = {}
    exec(files["pack/model.py"].replace("import torch", ""), model)
    train: dict[str, object] = {}
    exec(files["train.py"], train)
    near, far = model["Near"](), model["Far"]()  # type: ignore[operator]
    assert far.size == 3, "members that stay"
    return [near.forward(4.0), near.scale(4.0), far.forward(4.0), train["fit"](4.0)]  # type: ignore[operator]


EXPECTED = [2.0, 8.0, 3.0, 16.0]
ANSWERS = {
    "a_block_a_file_with_its_path_inside": block(MODEL, inside="pack/model.py") + block(TRAIN, inside="train.py"),
    "the_path_above_the_block": block(MODEL, above="### `pack/model.py`") + block(TRAIN, above="**train.py**:"),
    "no_paths_at_all": block(MODEL) + block(TRAIN),
    "one_block_for_everything": block(MODEL + TRAIN),
    "one_block_with_a_line_for_each_file": block(f"{MODEL}\n# file: train.py\n{TRAIN}", inside="pack/model.py"),
    "a_list_of_blocks": "1. The model:\n"
    + textwrap.indent(block(MODEL, inside="pack/model.py"), "   ")
    + "2. The training:\n"
    + textwrap.indent(block(TRAIN, inside="train.py"), "   "),
    "thoughts_first": "<think>def loss(x): maybe</think>\n" + block(MODEL) + block(TRAIN),
    "a_draft_and_a_correction": block("def fit(model):\n    return 0\n") + block(MODEL) + block(TRAIN),
    "a_block_a_function": method("Near", "forward", "x / 2")
    + method("Near", "scale", "2 * x")
    + method("Far", "forward", "x - 1")
    + block(TRAIN),
    "another_block_that_does_not_parse": "```\nsome text\n  here(\n```\n" + block(MODEL) + block(TRAIN),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_functions_find_their_files(name: str) -> None:
    assert run(splice_method(MASKED, GOALS, ANSWERS[name]).files) == EXPECTED


def test_helpers_come_once_and_functions_that_are_missing_stay_masked() -> None:
    files = splice_method(MASKED, GOALS, block(MODEL, inside="pack/model.py")).files
    assert files["train.py"] == MASKED["train.py"]
    for text in ("def _half", "WIDTH = 2", "def _keep", "class Far", "class Near"):
        assert files["pack/model.py"].count(text) == 1, text


FILE = """
import torch

LIMIT = 3


class Near:
    name = "near"

    def forward(self, x):
        {near}


class Table:
    entries = [Near]


def fit(model):
    {fit}


TABLE = [Table.entries, fit]
"""
LATE = {"model.py": FILE.format(near="raise NotImplementedError", fit="raise NotImplementedError")}
LATE_GOALS = {"model.py": ["Near.forward", "fit"]}
WHOLE = FILE.format(near="return helper(x)", fit="return model.forward(LIMIT)")


@pytest.mark.parametrize("dropped", ["", "import torch\n", "LIMIT = 3\n", '    name = "near"\n'])
def test_pasted_file_replaces_the_file_or_repeats_nothing(dropped: str) -> None:
    reply = WHOLE.replace(dropped, "").replace("class Near", "def helper(x):\n    return x + 1\n\n\nclass Near", 1)
    text = splice_method(LATE, LATE_GOALS, block(reply)).files["model.py"]
    parts = "import torch|LIMIT = 3|class Near|class Table|TABLE = |def helper|def fit|name ="
    assert {part: text.count(part) for part in parts.split("|")} == dict.fromkeys(parts.split("|"), 1)
    scope: dict[str, object] = {}
    exec(text.replace("import torch", ""), scope)
    assert scope["fit"](scope["Near"]()) == 4  # type: ignore[operator]
    assert text.index("TABLE = ") > text.index("def fit")


@pytest.mark.parametrize("dropped", ["", "LIMIT = 3\n"])
def test_demo_below_a_pasted_file_is_left_out(dropped: str) -> None:
    """TABLE, a statement of the file, stays, and comes once."""
    reply = WHOLE.replace(dropped, "").replace("helper", "abs") + "\nmodel = Near()\nassert fit(model) == unknown\n"
    files, note = splice_method(LATE, LATE_GOALS, block(reply))
    scope: dict[str, object] = {}
    exec(files["model.py"].replace("import torch", ""), scope)
    assert (files["model.py"].count("TABLE = "), "model" in scope) == (1, False)
    assert note == "left out below the last definition: 2 statements"


def test_replaced_draft_of_a_function_is_not_inserted() -> None:
    draft = "def helper(x):\n    return x\n\ndef loss(x):\n    return helper(x)\n\ndef fit(model):\n    return 0\n"
    files, note = splice_method(MASKED, GOALS, block(draft) + block("def fit(model):\n    return loss(model)\n"))
    scope: dict[str, object] = {}
    exec(files["train.py"], scope)
    assert scope["fit"](3) == 3  # type: ignore[operator]
    assert files["train.py"].count("def fit") == 1
    assert note == ""


def test_helpers_in_a_block_of_their_own_stand_before_the_next_block() -> None:
    reply = block("def half(x):\n    return x / 2\n") + block("def loss(x):\n    return half(x)\n") + block("loss(3)\n")
    files, note = splice_method(MASKED, GOALS, reply)
    scope: dict[str, object] = {}
    exec(files["train.py"], scope)
    assert scope["loss"](3) == 1.5  # type: ignore[operator]
    assert note == "left out: 1 other block of code"


def test_a_method_without_its_class_is_taken_only_if_one_function_can_be_meant() -> None:
    bare = block("def scale(self, x):\n    return 2 * x\n\ndef forward(self, x):\n    return x\n")
    text = splice_method(MASKED, GOALS, bare).files["pack/model.py"]
    assert (text.count("raise NotImplementedError"), text.count("return 2 * x"), text.count("return x")) == (2, 1, 0)


def test_cut_reply_holds_all_functions_or_is_malformed() -> None:
    whole = "\n".join(f"def {name.rpartition('.')[2]}(x):\n    return x\n" for name in ("loss", "fit"))
    masked, goals = {"train.py": MASKED["train.py"]}, {"train.py": GOALS["train.py"]}
    assert "return x" in splice_method(masked, goals, f"```\n{whole}```\nIt", is_cut=True).files["train.py"]
    with pytest.raises(MalformedAnswerError, match="before its last function"):
        splice_method(masked, goals, f"```\n{whole.partition('def fit')[0]}```\nNow", is_cut=True)


def test_an_answer_without_any_of_the_functions_is_malformed() -> None:
    for text in ("", "I would rather not.", block("x = 1\n"), "def broken(:"):
        with pytest.raises(MalformedAnswerError):
            splice_method(MASKED, GOALS, text)
