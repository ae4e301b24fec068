"""Masking removes the body of the goal function and no other byte; splicing the function back undoes it."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmrbench_data.base.source import SourceError
from lmrbench_data.tasks.masking import mask_function, remove_definition
from lmrbench_evaluate.rebuild.answer import splice_function

SECRET = "secret"  # in every line of a body, nowhere else

SIGNATURES = [
    "()",
    "(self, values: dict[str, int] | None = None, *rest: int, key=lambda item: (item, ':'), **more) -> 'out: #'",
    "(x=':', y: 'a:b' = '# not a comment:') -> lambda: 0",
    "(\n{i}        self,  # one: two\n{i}        values: list[int],\n\n{i}) -> list[int]",
    "(é=('ü:' # ä:\n{i}  'ö'), /, *, 数: int = {{1: 2}}[1]) -> \\\n{i}    int",
    '(x="""\n# def f(): \n""")',
]
DOCSTRINGS = [
    None,
    '"""One line."""',
    "'single quotes: é 数 🎉'",
    '"""Many lines.\n\n{i}Args:\n{i}    x: def f(x): return x\n# far left\n\n{i}```python\n{i}f(1)\n{i}```\n{i}"""',
    'r"""Raw \\d: \x0c form feed."""',
    '("in " "brackets"\n{i}    "on two lines")',
    '"""Ends with a\n{i}backslash \\\\"""',
]
#: What may stand between the docstring and the end of its line; it goes with the body.
AFTER_DOCSTRING = ["", "  # secret comment", "; secret = 1", " ;"]
STATEMENTS = [
    "secret = 1",
    "secret = '''\n# secret at the left margin\ndef f(secret): pass\n'''",
    "def f(secret): return secret",
    "for secret in ():\n{i}    # secret\n\n{i}    pass; secret",
    "# secret note: é",
    "\x0csecret = 2",
    "secret = [\n  1,  # secret\n]",
    "secret = 1 + \\\n 2",
    "# secret, further left than the body\n{i}secret = '数' # secret",
    "if secret: return secret",
]
BELOW_BODY = ["", "{i}# secret below the body", "\n\x0c\n{i}  # secret below blank lines"]
AFTER = [
    "",
    "{h}@f.setter\n{h}def f(self, value): self.x = value  # stays",
    "{h}# not deeper than the head: stays",
    "\n\n\n{h}# stays\n",
    "\x0c",
    "   ",
]
DECORATORS = [
    [],
    ["@staticmethod"],
    ["@wraps(lambda f: f, note='def f(): pass')  # why: é", "# between", "@other(", "{h}    1,", "{h})"],
]
TOP = [
    "",
    '"""A module: def f(): pass"""',
    "#!/usr/bin/env python\n# é: a comment",
    "from __future__ import annotations\nimport os; x = ':'\n\x0c",
    "def other():\n    def f(): return 1  # inside a function: another f\n    return f",
    "class Decoy:\n    def f(self): return '''\n# text\n'''",
]
BOTTOM = [
    "",
    "x = 1",
    "def g():\n    return 2  # é",
    "class Decoy2:\n    async def f(self):\n        return 1\n",
    "# end: 数",
]
#: (lines above, statements between which the function stands, its qualified name's prefix)
HOLDERS: list[tuple[list[str], str]] = [
    ([], ""),
    (["class Holder:"], "Holder."),
    (["class Outer(object):", "class Inner:  # é"], "Outer.Inner."),
    (["if True:"], ""),
    (["try:", "class Holder:"], "Holder."),
    (["with open('x') as x:", "if x:", "class Holder: # :"], "Holder."),
]


@dataclass(frozen=True)
class Sample:
    """A module, and what masking must make of it, computed without parsing: the generator knows each line's part."""

    golden: str
    masked: str
    name: str
    function: str
    """The function's exact source, decorators included."""
    head: str
    """Its lines above `def`."""


@st.composite
def modules(draw: st.DrawFn) -> Sample:
    holder, prefix = draw(st.sampled_from(HOLDERS))
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    h, i = unit * len(holder), unit * (len(holder) + 1)

    def pick(options: list[str]) -> str:
        return draw(st.sampled_from(options)).replace("{i}", i).replace("{h}", h)

    top = pick(TOP)
    above = [*([top] if top else []), *(unit * depth + line for depth, line in enumerate(holder))]
    head = "".join(
        f"{h if line.startswith('@') or line[0] == '#' else ''}{line.replace('{h}', h)}\n"
        for line in draw(st.sampled_from(DECORATORS))
    )
    define = draw(st.sampled_from(["def f", "async  def f", "def\tf"])) + pick(SIGNATURES)
    note = draw(st.sampled_from(["", "  # a note on the signature: stays", " "]))
    first = f"{h}{define}:{note}\n"
    docstring = draw(st.sampled_from(DOCSTRINGS))
    between = draw(st.sampled_from(["", "\n", f"{i}# secret above the docstring\n"]))
    body, masked = first + between, first
    if docstring:
        text = i + docstring.replace("{i}", i)
        body += text + draw(st.sampled_from(AFTER_DOCSTRING)) + "\n"
        masked += text + "\n"
    statements = draw(st.lists(st.sampled_from(STATEMENTS), max_size=4))
    for statement in [*statements, draw(st.sampled_from(["return secret", "secret", "pass; secret"]))]:
        margin = "" if statement.startswith(("# secret, further", "\x0c")) else i
        text = statement.replace("{i}", i)
        body += (text.replace("\x0c", "\x0c" + i) if margin == "" else i + text) + "\n"
    below = pick(BELOW_BODY)
    body += below + "\n" if below else ""
    masked += f"{i}raise NotImplementedError\n"
    after = pick(AFTER)
    bottom = pick(BOTTOM)
    if any(line.startswith("try") for line in holder):
        bottom = f"except OSError: pass\n{bottom}"
    below_text = "".join(f"{text}\n" for text in (after, bottom) if text)
    start = "".join(f"{text}\n" for text in above)
    golden, expected = start + head + body + below_text, start + head + masked + below_text
    if draw(st.booleans()):
        golden, expected = golden.removesuffix("\n"), expected.removesuffix("\n")
    # A file without a single line ending says nothing about which one it would use.
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"])) if "\n" in golden else "\n"
    bom = draw(st.sampled_from(["", "\ufeff"]))
    golden, expected, function, decorators = (
        text.replace("\n", newline) for text in (golden, expected, head + body, head)
    )
    return Sample(bom + golden, bom + expected, f"{prefix}f", function, decorators)


@settings(max_examples=250, deadline=None)
@given(modules())
def test_masking_replaces_the_body_and_no_other_byte(sample: Sample) -> None:
    ast.parse(sample.golden.removeprefix("\ufeff"))  # the generator makes Python
    masked = mask_function(sample.golden, sample.name)
    assert masked == sample.masked
    ast.parse(masked.removeprefix("\ufeff"))
    assert SECRET not in masked
    assert mask_function(masked, sample.name) == masked, "masking again changes nothing"


@settings(max_examples=250, deadline=None)
@given(modules(), st.booleans())
def test_splicing_the_function_back_gives_the_golden_file(sample: Sample, with_decorators: bool) -> None:
    function = sample.function if with_decorators else sample.function.removeprefix(sample.head)
    masked = {"goal.py": mask_function(sample.golden, sample.name)}
    assert splice_function(masked, sample.name, function).files == {"goal.py": sample.golden}


ONE_LINERS = [
    " return secret",
    "secret = 1; return secret  # secret",
    " '''doc secret''' + secret",
    " [\nsecret\n]",
    " \\\n  return secret",
]
REFUSED = [
    *((f"def f():{body}\n", "f", "put it on lines of its own") for body in ONE_LINERS),
    ("def f(): pass\ndef f(): pass\n", "f", "2 definitions of 'f' (lines 1, 2)"),
    ("class A:\n  @property\n  def f(self): pass\n  @g.setter\n  def f(self, x): pass\n", "A.f", "2 definitions"),
    ("def g():\n  def f(): pass\n", "f", "no function 'f'"),
    ("class A:\n  def f(self): pass\n", "f", "no function 'f'"),
    ("def f(:\n", "f", "syntax error in line 1"),
    ("def f(): return " + "-" * 100_000 + "1", "f", "cannot be parsed"),
]
REFUSED_REMOVALS = [
    ("x = 1\n", "helper", "0 top-level definitions"),
    ("def f():\n    def helper(): pass\n", "helper", "0 top-level definitions"),
    ("helper = 1\nhelper = 2\n", "helper", "2 top-level definitions"),
    ("class A:\n    x = 1\n", "A.helper", "0 definitions of 'A.helper'"),
    ("x = 1\n", "A.helper", "0 top-level classes 'A'"),
    ("class A:\n    helper = 1\n", "A.helper", "is the only member of its class; remove the class"),
    ("helper = other = 1\n", "helper", "shares its statement"),
    ("helper = 1; other = 2\n", "helper", "shares its statement or line"),
    ("other = '''\n'''; helper = '''\n'''\n", "helper", "shares its statement or line"),
]


@pytest.mark.parametrize(
    ("call", "source", "name", "message"),
    [(mask_function, *case) for case in REFUSED] + [(remove_definition, *case) for case in REFUSED_REMOVALS],
)
def test_change_that_would_take_something_else_is_refused_in_one_line(
    call: Callable[[str, str], str], source: str, name: str, message: str
) -> None:
    with pytest.raises(SourceError) as caught:
        call(source, name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


REMOVALS = {
    "function": ("import a\n\n\n{}# kept\nx = 1\n", "# why\n@d(\n  1)\ndef helper(): return 1\n    # deeper\n\n\n"),
    "class": ("{}def g(): pass\n", "class helper(A):\n    x = 1\n\n    def f(self): pass\n\n\n"),
    "constant": ("a = 1\n{}b = 2\n", "helper: dict[str, int] = {{\n    'a': 1,  # é\n}}\n"),
    "at_the_end": ("a = 1\n\n\n{}", "async def helper():\n    return 1"),
    "after_a_string_with_comments": ("text = '''\n# inside\n# '''\n{}b = 2\n", "helper = 1\n"),
    "all_there_is": ("\ufeff{}", "# c\nhelper = 1\n"),
    "windows": ("a = 1\r\n{}b = 2\r\n", "# why\r\nhelper = 1\r\n\r\n"),
}


@pytest.mark.parametrize("case", REMOVALS)
def test_removing_a_definition_takes_its_lines_and_no_others(case: str) -> None:
    frame, definition = REMOVALS[case]
    left = remove_definition(frame.format(definition.format()), "helper")
    assert left == frame.format("")
    ast.parse(left.removeprefix("\ufeff"))
