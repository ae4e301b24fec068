"""Splice answers into the goal file in every form that models use, or refuse them with a reason."""

import ast
import contextlib
import textwrap
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmrbench_data.base import limited_calls
from lmrbench_data.base.archive import pack
from lmrbench_data.base.source import MalformedAnswerError, find_function
from lmrbench_data.base.text import plural
from lmrbench_data.loader import File
from lmrbench_evaluate.predictions.prediction import MAX_ANSWER_BYTES, Prediction
from lmrbench_evaluate.rebuild import answer as answers
from lmrbench_evaluate.rebuild.workspace import rebuild

MASKED = '''"""Scale numbers."""

import math

OFFSET = 0.0


@some.decorator
def scale(values, factor):
    """Each of `values` times `factor`."""
    raise NotImplementedError


def after(values):
    return scale(values, OFFSET)
'''
METHOD = '''import torch


class Base:
    pass


class Outer(Base):
    """Holds things."""

    size = 3

    def __init__(self):
        self.size = 3

    class Inner:
        @property
        def area(self):
            """The area."""
            raise NotImplementedError

    def forward(self, x):
        """Forward."""
        raise NotImplementedError

    def other(self, x):
        return x


model = Outer()
'''
BODY = "def scale(values, factor):\n    return [value * factor for value in values]\n"


def splice_function(masked: str, goal: str, answer: str) -> str:
    return answers.splice_function({"goal.py": masked}, goal, answer).files["goal.py"]


def run(source: str, **names: Any) -> dict[str, Any]:
    """Execute a spliced file and return its names."""

    class Some:
        @staticmethod
        def decorator(function: Any) -> Any:
            function.decorated = getattr(function, "decorated", 0) + 1
            return function

    scope: dict[str, Any] = {"some": Some, "__name__": "goal", **names}
    exec(compile(source, "goal.py", "exec"), scope)
    return scope


# --- what is understood -----------------------------------------------------------------------------------------------

PLAIN_FORMS = {
    "plain": BODY,
    "fence with CRLF": f"```python\n{BODY}```\n".replace("\n", "\r\n"),
    "fence with prose around": f"Sure! Here's the code:\n\n```py\n{BODY}```\n\nIt doesn't (ever) fail.\n",
    "tildes": f"~~~\n{BODY}~~~",
    "indented fence in a list": "1. The code:\n\n    ```python\n"
    + BODY.replace("def", "    def").replace("    ret", "        ret")
    + "    ```\n",
    "the task quoted first": f"Given:\n```python\ndef scale(values, factor):\n    ...\n```\nMine:\n```\n{BODY}```\n",
    "prose without fences": f"From the paper it's clear (see Eq. 1):\n\n{BODY}\nThis doesn't (really) matter.\nDone.\n",
    "prose like code": f"from the paper it follows\nimport is not needed\n\n{BODY}\nimport nothing, that's it\n",
    "prose below a body with a blank line": BODY.replace(":\n", ":\n\n", 1) + "\nThat's all.\n",
    "indented": "    def scale(values, factor):\n        return [value * factor for value in values]\n",
    "indented with tabs": "\tdef scale(values, factor):\n\t\treturn [value * factor for value in values]\n",
    "call below": f"{BODY}\nprint(undefined(scale))\n",
    "fence inside its docstring": "```python\n"
    + BODY.replace(":\n", ':\n    """Doc.\n\n    ```\n    scale()\n    ```\n    """\n', 1)
    + "```\n",
    "old Mac line endings": BODY.replace("\n", "\r"),
    "end token behind the code": f"{BODY.rstrip()}<|im_end|>",
    "end token inside the fence": f"```python\n{BODY.rstrip()}</s>\n```",
    "another turn behind the end": f"{BODY.rstrip()}<|im_end|>\n<|im_start|>user\nIs that all? It isn't.",
    "start token before the code": f"<|assistant|>{BODY}",
    "tokens around the fence": f"<\uff5cAssistant\uff5c>```python\n{BODY}```<\uff5cend\u2581of\u2581sentence\uff5c>",
    "a test with a nested function": f"```python\n{BODY}```\nTest:\n```python\ndef test_it():\n"
    "    def scale(values, factor):\n        return 1\n    assert scale(0, 0)\n```\n",
    "a syntax error in the last fence": f"```\n{BODY}```\n```\ndef scale(values, factor):\n    return ((\n```",
}


@pytest.mark.parametrize("form", PLAIN_FORMS)
def test_every_form_of_answer_is_spliced(form: str) -> None:
    spliced = splice_function(MASKED, "scale", PLAIN_FORMS[form])
    scope = run(spliced)
    assert scope["scale"]([1.0, -2.0], 3.0) == [3.0, -6.0]
    assert scope["scale"].decorated == 1
    assert scope["after"]([1.0]) == [0.0]
    before, _, rest = MASKED.partition("def scale")
    assert spliced.startswith(before), "nothing above the function changes"
    assert spliced.endswith(rest.partition("NotImplementedError\n")[2]), "nor below"


def test_imports_helpers_and_constants_come_along() -> None:
    answer = '''
"""A module docstring for show."""
from __future__ import annotations
import functools, operator
from collections.abc import Iterable

TABLE = {"one": 1}; TWO = 2
HELP: dict[str, int] = {
    "a": 1,
}


@functools.cache
def helper(x):
    """Multi
line."""
    return x


class Pair:
    first = 1


def scale(values: Iterable[Undefined], factor):
    return [operator.mul(helper(v), factor) * TABLE["one"] * Pair.first * TWO * HELP["a"] for v in values] + [LATER]


LATER = 7
scale.note = "kept below"
'''
    spliced = splice_function(MASKED, "scale", answer)
    scope = run(spliced)
    assert scope["scale"]([1.0], 3.0) == [6.0, 7]
    assert scope["scale"].note == "kept below"
    assert ast.get_docstring(ast.parse(spliced)) == "Scale numbers."
    assert spliced.index("def helper") < spliced.index("@some.decorator")
    assert "__name__" not in spliced
    assert spliced.count("TABLE = ") == 1, "two statements on a line are taken once"


#: what stands below the function → number of its statements that are left out
DEMOS = {
    "values = load()\nresult = scale(values, 2)\nprint(result)": 3,
    "for values, wanted in examples:\n    assert scale(values, 2) == wanted": 1,
    "result: list = scale(data, 2)": 1,
    "total = 0\ntotal += scale(data, 2)[0]\ndel total": 2,
    "scale = scale(data, 2)": 1,
    "def build(): ...\n\n\nTABLE = build()\nresize = TABLE": 2,
    "list = scale(data, 2)\nsum = 0": 2,
    "first, *rest = scale(data, 2)\nlast = rest[-1]\nEPS = 1e-9; print(first)": 4,
    "def main():\n    print(scale(data, 2))\n\n\nif __name__ == '__main__':\n    def run(): ...\n    main()": 1,
    "@staticmethod\ndef test():\n    pass\n\n\nraise SystemExit(test())": 1,
}
#: what names things below the function
NEEDED = [
    "import math\nbase = 1\nUNIT = base + 1",
    "UNIT = 2",
    "UNIT: int = 2",
    "try:\n    from absent import UNIT\nexcept ImportError:\n    UNIT = 2",
    "if OFFSET:\n    UNIT = 1\nelse:\n    UNIT = 2",
]


@pytest.mark.parametrize("demo", DEMOS)
def test_demo_below_the_answer_is_left_out_with_a_note(demo: str) -> None:
    for answer in (f"{BODY}\n\n{demo}\n", f"So:\n```python\n{BODY}\n# Try it\n{demo}\n```\n"):
        files, note = answers.splice_function({"goal.py": MASKED}, "scale", answer)
        assert run(files["goal.py"])["after"]([1.0]) == [0.0]
        assert note == f"left out below the last definition: {plural(DEMOS[demo], 'statement')}"


@pytest.mark.parametrize("constant", NEEDED)
def test_what_names_things_below_the_function_stays(constant: str) -> None:
    answer = f"def scale(values, factor):\n    return [value * factor * UNIT for value in values]\n\n\n{constant}\n"
    files, note = answers.splice_function({"goal.py": MASKED}, "scale", answer)
    assert run(files["goal.py"])["scale"]([1], 2) == [4]
    assert not note


def test_blocks_before_the_answer_come_along_and_others_are_counted() -> None:
    blocks = [
        "import operator\n",
        "TWO = 2\n\ndef helper(x):\n    return TWO * x\n",
        "print(helper(1))\n",
        "def helper(:\n",
        "def scale(values, factor):\n    return operator.mul(helper(values), factor)\n",
        "scale(1, 2)\n",
    ]
    answer = "\n".join(f"Step:\n```python\n{block}```" for block in blocks)
    files, note = answers.splice_function({"goal.py": MASKED}, "scale", answer)
    assert run(files["goal.py"])["scale"](3, 5) == 30
    assert note == "left out: 3 other blocks of code"
    assert answers.splice_function({"goal.py": MASKED}, "scale", BODY).note == ""


FENCED = f"```python\n{BODY}```\n"
#: A reply that was cut at the token limit → whether its answer was complete.
CUT_REPLIES = {
    "behind the block": (f"The answer:\n{FENCED}It multiplies ea", True),
    "in a block that follows": (f"{FENCED}A test:\n```python\nassert scale([1]", True),
    "behind thoughts": (f"<think>\nHm.\n</think>\n{FENCED}It", True),
    "in the block, where it parses": (FENCED.removesuffix("```\n"), False),
    "without a fence": (BODY, False),
    "in a second version": (f"{FENCED}Faster:\n```python\ndef scale(values, fac", False),
    "in thoughts with a draft": (f"<think>\nA draft:\n{FENCED}But then", False),
    "before the answer": ("```python\nimport math\n```\n", False),
}


@pytest.mark.parametrize("name", CUT_REPLIES)
def test_cut_reply_counts_if_its_block_was_closed(name: str) -> None:
    text, is_complete = CUT_REPLIES[name]
    with contextlib.nullcontext() if is_complete else pytest.raises(MalformedAnswerError):
        spliced = answers.splice_function({"goal.py": MASKED}, "scale", text, is_cut=True)
        assert run(spliced.files["goal.py"])["scale"]([1.0, -2.0], 3.0) == [3.0, -6.0]


def test_overloads_are_not_second_definitions() -> None:
    stubs = "".join(f"@typing.overload\ndef scale(values: {kind}, factor): ...\n" for kind in ("int", "str"))
    spliced = splice_function(MASKED, "scale", f"import typing\n\n{stubs}{BODY}")
    assert run(spliced)["scale"]([1], 2) == [2]
    method = "".join(f"@overload\ndef forward(self, x: {kind}): ...\n" for kind in ("int", "str"))
    spliced = splice_function(METHOD, "Outer.forward", f"{method}def forward(self, x):\n    return x\n")
    find_function(spliced, "Outer.forward")


@pytest.mark.parametrize("form", ["getter", "getter and setter", "both in their class", "both, indented"])
def test_setter_of_a_property_stays_beside_its_getter(form: str) -> None:
    getter = "@property\ndef mean(self):\n    raise NotImplementedError\n"
    setter = "@mean.setter\ndef mean(self, value):\n    self.values = [value]\n\n@mean.deleter\ndef mean(self): ...\n"
    file = "class Pair:\n" + textwrap.indent(f"values = [1, 3]\n\n{getter}\n{setter}", "    ")
    answer = getter.replace("raise NotImplementedError", "return sum(self.values) / len(self.values)")
    if form != "getter":
        answer += "\n" + setter.replace("[value]", "[-value]")
    if form not in ("getter", "getter and setter"):
        answer = textwrap.indent(answer, "    ")
    if "class" in form:
        answer = f"class Pair:\n{answer}"
    pair = run(splice_function(file, "Pair.mean", answer))["Pair"]()
    assert pair.mean == 2
    pair.mean = 7
    assert pair.mean == 7, "the setter of the file counts"


def test_tokens_of_chat_templates_inside_code_stay() -> None:
    code = 'def scale(values, factor):\n    return f"""<|im_start|>user\n{values}<|im_end|>\n"""\n'
    for answer in (code, f"So:\n```python\n{code}```<|im_end|>"):
        assert run(splice_function(MASKED, "scale", answer))["scale"](7, 1) == "<|im_start|>user\n7<|im_end|>\n"


def test_decorators_of_the_answer_replace_those_of_the_file() -> None:
    twice = run(splice_function(MASKED, "scale", f"@some.decorator\n@some.decorator\n{BODY}"))
    assert twice["scale"].decorated == 2


METHOD_FORMS = {
    "not indented": "def forward(self, x):\n    return x + helper(x)\n",
    "indented": "    def forward(self, x):\n        return x + helper(x)\n",
    "first line stripped": "def forward(self, x):\n        return x + helper(x)\n",
    "tabs": "\tdef forward(self, x):\n\t\treturn x + helper(x)\n",
    "in its class": "class Outer(Base):\n    size = 99\n\n    def __init__(self):\n        self.size = 99\n\n"
    "    def forward(self, x):\n        return x + helper(x)\n",
    "imports above, method indented": "import math\n\n    def forward(self, x):\n        return x + helper(x)\n",
    "decorator stripped": "@plain\n    def forward(self, x):\n        return x + helper(x)\n",
}


@pytest.mark.parametrize("form", METHOD_FORMS)
def test_methods_go_into_their_class(form: str) -> None:
    spliced = splice_function(METHOD, "Outer.forward", METHOD_FORMS[form])
    modules = {"helper": lambda x: 10 * x, "plain": lambda function: function}
    model = run(spliced.replace("import torch\n", ""), **modules)["model"]
    assert model.forward(1) == 11
    assert model.size == 3, "other members of the class in the answer are only context"
    assert model.other(5) == 5


@pytest.mark.parametrize("indent", ["    ", ""])
def test_new_members_of_a_class_come_along(indent: str) -> None:
    answer = f"""{indent}import math
{indent}LIMIT = 5

{indent}def _double(self, x):
{indent}    return self.LIMIT + math.floor(2 * x)

{indent}def other(self, x):
{indent}    return "changed"

{indent}def forward(self, x):
{indent}    return self._double(x)
"""
    if not indent:
        answer = "class Outer(Base):\n" + "".join(f"  {line}\n" for line in answer.splitlines())
    model = run(splice_function(METHOD, "Outer.forward", answer).replace("import torch\n", ""))["model"]
    assert model.forward(1.0) == 7
    assert model.other(5) == 5, "a member that the class has stays"


def test_nested_classes_and_multi_line_strings() -> None:
    text = '"""\n  ragged\n\tlines\n"""'
    answer = f"class Inner:\n\t@property\n\tdef area(self):\n\t\ttext = {text}\n\t\treturn text, f'''\n{{1}}'''\n"
    spliced = splice_function(METHOD, "Outer.Inner.area", answer).replace("import torch\n", "")
    assert run(spliced)["Outer"].Inner().area == ("\n  ragged\n\tlines\n", "\n1")


def test_async_functions_and_files_with_other_line_endings() -> None:
    masked = MASKED.replace("def scale", "async def scale").replace("\n", "\r\n")
    spliced = splice_function(
        masked, "scale", "import math\nasync def scale(a, b):\n    x = '''1\n2'''\n    return x\n"
    )
    assert "\r" not in spliced.replace("\r\n", "")
    assert "\n" not in spliced.replace("\r\n", "")
    assert isinstance(find_function(spliced, "scale").node, ast.AsyncFunctionDef)
    with pytest.raises(StopIteration) as stopped:
        run(spliced)["scale"](1, 2).send(None)
    assert stopped.value.value == "1\n2"


def test_future_imports_go_to_the_top_once() -> None:
    for head in ("", "#!/usr/bin/env python\n# comment\n", '"""Doc."""\n', "from __future__ import annotations\n"):
        masked = f"{head}import math\n\n\ndef scale(values, factor):\n    raise NotImplementedError"
        answer = f"from  __future__ import (\n    annotations,\n    division,\n)\nimport math\n{BODY}"
        spliced = splice_function(masked, "scale", answer)
        assert run(spliced)["scale"]([1], 2) == [2]
        assert spliced.count("annotations") == 1


# --- what is refused --------------------------------------------------------------------------------------------------

RETURN = "def scale(values, factor):\n    return "
MALFORMED = {
    "nothing": "",
    "another function": "def scaled(values, factor):\n    return values\n",
    "only a call": "result = scale([1], 2)\n",
    "two definitions": BODY + "\n" + BODY,
    "one at the top and one in a branch": BODY + "\nif True:\n    def scale(values, factor):\n        return values\n",
    "inside a function": "def outer():\n    def scale(values, factor):\n        return values\n",
    "in a class that is not asked for": "class Scaler:\n    def scale(self, values, factor):\n        return values\n",
    "a lambda": "scale = lambda values, factor: values\n",
    "syntax error": RETURN + "[value * factor for value in\n",
    "syntax error behind a blank line": "def scale(values, factor):\n    x = 1\n\n    return ((x\n",
    "wrong indentation": "def scale(values, factor):\n        x = 1\n    return x\n",
    "tabs and spaces": "def scale(values, factor):\n    x = 1\n\treturn x\n",
    "null byte": RETURN + "'\0'\n",
    "half a surrogate pair": RETURN + "'\ud800'\n",
    "in a string": "'''\ndef scale(values, factor):\n    return values\n'''\n",
    "a draft that was cut in thoughts": f"<think>\nThe function:\n```python\n{RETURN}values\n",
    "too many parentheses": RETURN + "(" * 100_000 + ")" * 100_000,
    "too many lambdas": RETURN + "lambda:" * 30_000 + "1",
    "too many branches": "def scale(values, factor):\n    if x: pass\n" + "    elif x: pass\n" * 5000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_answers_are_refused_with_one_line(name: str) -> None:
    with pytest.raises(MalformedAnswerError) as refusal:
        splice_function(MASKED, "scale", MALFORMED[name])
    message = str(refusal.value)
    assert 10 < len(message) < 300
    assert "\n" not in message


def test_the_line_of_a_syntax_error_is_that_of_the_answer() -> None:
    with pytest.raises(MalformedAnswerError, match="line 3"):
        splice_function(MASKED, "scale", "def scale(values, factor):\n    x = 1\n    return 1 +\n")
    with pytest.raises(MalformedAnswerError, match="line 3"):
        splice_function(METHOD, "Outer.forward", "    def forward(self, x):\n        x = 1\n        return 1 +\n")


DRAFT = "def scale(values, factor):\n    return values\n"


#: What stands before thoughts and behind them.
MARKS = {
    "tags": ("<think>\n", "\n</think>\n"),
    "tags in a line": ("<think>", "</think>"),
    "a template opened it": ("", "\n</think>\n"),
    "a template opened it, in a line": ("", "</think>"),
    "prose behind the end": ("<think>\n", "</think>Here is the code:\n\n"),
    "a name of no list": ("<xyzzy>\n", "\n</xyzzy>\n"),
    "a name of no list, in a line": ("<xyzzy>", "</xyzzy>"),
    "another alphabet": ("\u3010\u601d\u8003\u3011", "\u3010/\u601d\u8003\u3011"),
    "attributes": ('<thought id="1">\n', "\n</thought>\n"),
    "two kinds": ("<think>\nHm.\n</think>\n<musings>\n", "\n</musings>\n"),
    "tags around the answer": ("<think>", "</think><answer>"),
    "nested": ("<thinking>\n<reflection>\n", "\n</reflection>\n</thinking>\n<output>\n"),
    "details": ('<details type="reasoning" done="true">\n<summary>7 seconds</summary>\n', "\n</details>\n\n"),
    "brackets": ("[THINK]", "[/THINK]"),
    "triangles": ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    "a channel of Gemma": ("<|channel>thought\n", "\n<channel|>"),
    "begin and end": ("<|begin_of_thought|>\n", "\n<|end_of_thought|>\n\n<|begin_of_solution|>\n"),
    "start and end": ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    "start and end behind the name": ("<|xyzzy_start|>\n", "\n<|xyzzy_end|>\n"),
    "full width": ("<\uff5cbegin\u2581of\u2581thinking\uff5c>", "<\uff5cend\u2581of\u2581thinking\uff5c>"),
    "channels": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "channels with a format": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>python<|message|>",
    ),
    "channels without marks": ("analysis", "assistantfinal"),
}
DRAFTS = {
    "fenced": f"It scales. A first try:\n\n```python\n{DRAFT}```\n\nThis ignores the factor.",
    "bare": f"A first try:\n\n{DRAFT}\nThis ignores the factor.",
    "not closed": f"A first try:\n\n```python\n{DRAFT}\nThis ignores it.",
    "last": f"A first try:\n\n```python\n{DRAFT}```",
}
USE = "\nUse:\n\n```python\nprint(scale([1], 2))\n```\n"
BEHIND = [BODY, FENCED, FENCED + USE, f"{BODY}{USE}Done."]
NO_ANSWER = ["I am sorry, I cannot do it.", "def scale(values, factor):\n    return ((\n"]


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("mark", MARKS)
def test_a_draft_is_never_the_answer(mark: str, draft: str) -> None:
    opening, closing = MARKS[mark]
    thoughts = opening + DRAFTS[draft]
    for answer in BEHIND:
        spliced = splice_function(MASKED, "scale", thoughts + closing + answer)
        assert run(spliced)["scale"]([1.0], 2.0) == [2.0]
    for answer in NO_ANSWER:
        with pytest.raises(MalformedAnswerError):
            splice_function(MASKED, "scale", thoughts + closing + answer)
    cut = f"{thoughts}\n\nSo the function must"
    for is_cut in (True, False) if opening else ():
        with pytest.raises(MalformedAnswerError):
            answers.splice_function({"goal.py": MASKED}, "scale", cut, is_cut=is_cut)


def test_of_versions_without_marks_the_last_one_counts() -> None:
    for draft in (f"First:\n\n```python\n{DRAFT}```\nBut no:\n\n", f"First:\n\n{DRAFT}\nBut no:\n\n"):
        for answer in BEHIND:
            assert run(splice_function(MASKED, "scale", draft + answer))["scale"]([1.0], 2.0) == [2.0]


#: Replies with BODY as their answer.
REPLIES = {
    "thoughts behind code without a fence": f"{BODY}\n<think>\nIs this right?\n</think>\n",
    "names in capitals": f"  <Thinking>\n{DRAFT}\n</THINKING>\n\nHere it is:\n\n{BODY}\nDone.",
    "thoughts twice": f"<think>\n{DRAFT}</think>\n<reasoning>\n{DRAFT}</reasoning>\n```python\n{BODY}```\n",
    "thoughts in thoughts": f"<think>\n{DRAFT}\n<think>\nagain\n{DRAFT}</think>\nand\n</think>\n{BODY}",
    "thoughts that never end: all there is": f"<think>\n{BODY}",
    "a token before thoughts": f"<|assistant|><think>\n```python\n{DRAFT}```\n</think>\n```python\n{BODY}```",
    "an answer in tags": f"<answer>\n{FENCED}</answer>\nIt multiplies.",
    "an answer in tags without a fence": f"<solution>\n{BODY}</solution>\n\nIt multiplies.",
    "an answer in tags, in a line": f"<answer>{BODY.rstrip()}</answer>",
    "html": f'<pre><code class="python">{BODY}</code></pre>\nDone.',
    "a file": f'<file path="goal.py">\n{BODY}</file>\nDone.',
    "details": f"The answer.\n\n<details>\n<summary>Code</summary>\n\n{FENCED}\n</details>\n\nIt multiplies.\n",
    "an explanation behind": f"{FENCED}\n<explanation>\nIt multiplies.\n</explanation>\n",
    "thoughts behind": f"{FENCED}\n<think>\nIs it right?\n```python\n{DRAFT}```\nYes.\n</think>\n",
    "thoughts behind, cut": f"{FENCED}\n<think>\nIs it right?\n```python\n{DRAFT}```\nYes, and",
    "a heading": f"[Reasoning]\nWe multiply.\n\n{FENCED}\nThis is right.",
    "a mark that prose mentions": f"{FENCED}\nThe part before </think> is dropped.",
    "types in prose": f"We use Dict<str, int> and List<int>.\n\n{FENCED}\nIt returns list<float>.",
    "a box": f"<|begin_of_box|>{FENCED}<|end_of_box|>",
    "turns": f"<|im_start|>assistant\n{FENCED}<|im_end|>\n<|im_start|>user\nThanks!<|im_end|>",
    "a wrapper with a name of no list": f"<completion>\n{FENCED}</completion>\nIt multiplies.",
    "such a wrapper without a fence": f"<submission>\n{BODY}</submission>\nIt multiplies.",
    "such a wrapper behind thoughts": f"<think>\n{DRAFT}</think>\n<completion>\n{FENCED}</completion>\nIt multiplies.",
    "such a wrapper in another": f"<result><name>scale</name><body>\n{FENCED}</body></result>\nIt multiplies.",
    "open details": f"<details open>\n<summary>Code</summary>\n\n{FENCED}\n</details>\n\nIt multiplies.",
    "a link in capitals": f"[DPO](https://example.org/dpo) says so.\n\n{FENCED}\nIt multiplies.",
    "headings in capitals": f"[SUMMARY]\nWe multiply.\n\n[METHOD]\n{FENCED}\nIt multiplies.",
    "thoughts that the answer ends": f"<analysis>\n{DRAFT}\nNo.\n\n<answer>\n{FENCED}</answer>\nIt multiplies.",
    "such thoughts in brackets": f"[THINKING]\n{DRAFT}\nNo.\n\n[ANSWER]\n{FENCED}\nIt multiplies.",
    "a last fence that a string holds, not closed": "So:\n\n```python\n"
    + BODY.replace(":\n", ':\n    """\n```python\nscale([1], 2)\n```\n    """\n', 1),
    "a constant": f"```python\nPROMPT = '''\n<think>\nSo\n</think>\n</musing>\n'''\n\n{BODY}```\nDone.",
}


@pytest.mark.parametrize("name", REPLIES)
def test_answer_is_found_among_thoughts_and_other_marks(name: str) -> None:
    assert run(splice_function(MASKED, "scale", REPLIES[name]))["scale"]([1.0], 2.0) == [2.0]


@pytest.mark.parametrize("behind", ["", USE])
@pytest.mark.parametrize("opening", ["```python", "```"])
def test_a_fence_in_a_string_does_not_end_a_block(opening: str, behind: str) -> None:
    text = f'"""\n{opening}\nscale([1], 2)\n```\n"""'
    body = BODY.replace(":\n", f":\n    {text}\n    example = {text}\n", 1)
    assert run(splice_function(MASKED, "scale", f"So:\n\n```python\n{body}```\n{behind}"))["scale"]([1], 2) == [2]


def test_half_a_character_counts_only_in_the_code() -> None:
    for answer in (f"Sure \ud83d!\n\n{BODY}\nDone \ude00", f"Sure \ud83d!\n{FENCED}Done \ude00"):
        assert run(splice_function(MASKED, "scale", answer))["scale"]([1.0], 2.0) == [2.0]
        assert len(Prediction("toy", "m", "function", answer).sha256) == 64
    with pytest.raises(MalformedAnswerError, match="contains a lone surrogate"):
        splice_function(MASKED, "scale", f"```python\nNAME = '\ud83d'\n\n{BODY}```\n")


def test_code_about_reasoning_tags_is_left_alone() -> None:
    code = (
        "import re\n\ndef scale(values, factor):\n"
        "    text = re.sub(r'<think>.*?</think>', '', values)\n"
        '    return text.split("</think>")[-1], factor\n'
    )
    for answer in (code, f"Strip it:\n\n```python\n{code}```\nThat removes <think>...</think>.", f"Sure.\n\n{code}"):
        result = run(splice_function(MASKED, "scale", answer))["scale"]
        assert result("<think>a</think>b</think>c", 1) == ("c", 1)


HUNGRY = {
    "thoughts of two kinds": "<think>\n" * 50_000 + "</reasoning>\n" * 35_000 + BODY,
    "fences that never close": "~~~a\n" * 190_000 + BODY,
    "prose that looks like code": "from x\n" * 140_000 + BODY,
    "parts of an f-string": RETURN + "f'" + "x" * 180_000 + "{a}" * 10_000 + "'",
    "1 MB and one byte of text": "é" * (MAX_ANSWER_BYTES // 2) + "\n" + BODY,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUNGRY)
def test_no_answer_keeps_the_harness_busy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limited_calls.close_idle()
    monkeypatch.setattr(limited_calls, "DEFAULT_LIMITS", limited_calls.Limits(cpu_s=1))
    row: Any = {
        "repo_archive": pack({"goal.py": File(MASKED.encode())}),
        "goal_file": "goal.py",
        "goal_function": "scale",
    }
    started = time.process_time()
    for form in ("function", "goal_file"):
        with contextlib.suppress(MalformedAnswerError):
            rebuild(row, Prediction("toy", "m", form, HUNGRY[name]))
    assert time.process_time() - started < 3, "a child does the work"
    limited_calls.close_idle()


LOOPS = {
    "unclosed thoughts": "<think>\n",
    "thoughts in brackets": "[reasoning]\nso\n",
    "thoughts closed by another name": "<think>\n</thinking>\n",
    "import in prose": "import the data first\n",
    "from in prose": "from the paper\nwe import it\n",
    "imports": "import os\nSo the code is:\n",
    "imports, then prose": "import os\n",
    "template tokens": "<|im_end|>",
    "brackets": "from math import (\n",
}


@pytest.mark.parametrize("name", LOOPS)
def test_replies_that_loop_take_linear_time(name: str) -> None:
    """Replies of looping policies took minutes: the CPU time was quadratic in each of these."""
    reply = LOOPS[name] * (240_000 // len(LOOPS[name])) + f"\nSo:\n{BODY}"
    started = time.process_time()
    assert run(splice_function(MASKED, "scale", reply))["scale"]([1], 2) == [2]
    assert time.process_time() - started < 4


# --- any answer at all ------------------------------------------------------------------------------------------------

PIECES = """def scale(values, factor):
\tasync def scale(x):
def forward(self, x):
  class Inner:
    @property
@decorator
    def area(self): pass
        return 1
\tpass
```
```python
x = 1; y = 2
from __future__ import annotations
Some prose, isn't it?
    LIMIT = 3
if True:
x = (
\f
\x00
\u2028
\ufeff
    '''Doc
    '''
"""


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES.split("\n")), max_size=14), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_answer_is_spliced_or_refused(pieces: list[str], newline: str, trailing: bool) -> None:
    answer = newline.join(pieces) + (newline if trailing else "")
    for masked, goal in (
        (MASKED, "scale"),
        (METHOD, "Outer.forward"),
        (METHOD.replace("\n", "\r\n"), "Outer.Inner.area"),
    ):
        try:
            spliced = splice_function(masked, goal, answer)
        except MalformedAnswerError:
            continue
        target = find_function(spliced, goal)
        assert "NotImplementedError" not in ast.unparse(target.node), "the masked body is gone"
        kept = {node.name for node in ast.walk(ast.parse(masked)) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        found = {node.name for node in ast.walk(ast.parse(spliced)) if hasattr(node, "name")}
        assert kept <= found, "everything else of the file is there"
