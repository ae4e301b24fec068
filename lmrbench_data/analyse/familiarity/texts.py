"""The texts whose probabilities are compared: a reference's body under the masked prefix, and controls.

No model has seen a reference before this dataset is crawled: the repositories are our own text. A probe measures how
familiar a model is with the code of the method. A control is the same code in other words:

- `variant`: another right implementation of ours, as natural as the reference;
- `renamed`: the reference with other names of variables, so less natural to any model;
- `mutant`: the reference with a small mistake, so less plausible to a model that knows the method.
"""

import ast
import hashlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from lmrbench_evaluate.checks.static import read_variant
from lmrbench_evaluate.rebuild.answer import splice_function

from ...base.errors import LMRBenchError
from ...base.source import block_end, find_function, first_line, offset, split_lines
from ...dataset.rows import DatasetRow
from ...loader import read_archive
from ...tasks.task import Task

REFERENCE, VARIANT, RENAMED, MUTANT = "reference", "variant", "renamed", "mutant"
CONTROLS = (VARIANT, RENAMED, MUTANT)
MAX_VARIANTS, MAX_MUTANTS = 2, 3
#: Names for the variables of the renamed reference: common words with little meaning.
_WORDS = (
    *("values", "result", "item", "part", "current", "total", "data", "output", "entry", "block", "state", "chunk"),
    *("piece", "first", "second", "rest", "number", "found", "left", "right", "inner", "outer", "extra", "buffer"),
)


class Body(NamedTuple):
    """The body of a goal function, which follows the prefix."""

    kind: str
    """`reference`, or one of `CONTROLS`."""
    name: str
    text: str


class ProbeTexts(NamedTuple):
    """The prefix of an instance and the bodies that are compared after it."""

    instance_id: str
    prefix: str
    """The masked goal file up to the end of the goal function's docstring."""
    bodies: tuple[Body, ...]
    """The reference, then the controls."""

    @property
    def reference(self) -> str:
        """The reference's body."""
        return self.bodies[0].text

    def key(self, body: Body) -> str:
        """Identity of a scored text."""
        return hashlib.sha256(f"{self.prefix}\0{body.text}".encode()).hexdigest()


def probe_texts(row: DatasetRow, task: Task | None = None) -> ProbeTexts:
    """The texts of an instance.

    Args:
        task: the row's task, if available; it has the variants.
    """
    masked = read_archive(row["repo_archive"])[row["goal_file"]].data.decode("utf-8")
    golden, goal = row["golden_file"], row["goal_function"]
    prefix, _ = split_at_body(masked, goal)
    _, reference = split_at_body(golden, goal)
    found = [Body(REFERENCE, "", reference), *_variants(row, task, masked)]
    renamed = rename_variables(golden, goal)
    found.append(Body(RENAMED, "", split_at_body(renamed, goal)[1]))
    different = {body.text: body for body in reversed(found)}
    return ProbeTexts(row["instance_id"], prefix, tuple(body for body in found if different[body.text] is body))


def split_at_body(source: str, goal_function: str) -> tuple[str, str]:
    """A file up to the goal function's first statement after its docstring, and that function from there on.

    White space between the two belongs to the body: no tokeniser would cut a prompt after white space.
    """
    node = find_function(source, goal_function).node
    lines = split_lines(source)
    documented = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    # Comments between docstring and code belong to the body.
    start = (node.body[0].end_lineno or 0) if documented else first_line(node.body[0]) - 1
    above = "".join(lines[:start])
    prefix = above.rstrip()
    return prefix, above[len(prefix) :] + "".join(lines[start : block_end(lines, node)])


def rename_variables(source: str, goal_function: str) -> str:
    """Rename the goal function's own variables in the file; arguments, attributes, comments and layout stay."""
    node = find_function(source, goal_function).node
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    arguments = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    shared = {name for part in ast.walk(node) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names}
    own = list(dict.fromkeys(part.id for part in names if isinstance(part.ctx, ast.Store)))
    own = [name for name in own if name not in arguments | shared and not name.startswith("_")]
    taken = {part.id for part in names} | arguments
    more = (f"value_{number}" for number in itertools.count())
    words = (word for word in itertools.chain(_WORDS, more) if word not in taken)
    new = dict(zip(own, words, strict=False))
    lines = split_lines(source)
    inside_strings = {
        id(part) for outer in ast.walk(node) if isinstance(outer, ast.JoinedStr) for part in ast.walk(outer)
    }
    if any(id(part) in inside_strings and part.id in new for part in names):
        # Before Python 3.12 the parser does not know where names inside f-strings stand.
        new = {
            old: word for old, word in new.items() if not any(p.id == old and id(p) in inside_strings for p in names)
        }
    places = sorted(((offset(lines, p.lineno, p.col_offset), p.id) for p in names if p.id in new), reverse=True)
    for place, name in places:
        source = source[:place] + new[name] + source[place + len(name) :]
    return source


def _variants(row: DatasetRow, task: Task | None, masked: str) -> Iterator[Body]:
    item = next((one for one in task.implementations if one.instance_id == row["instance_id"]), None) if task else None
    if task is None or item is None:
        return
    for path in task.variants(item, "valid")[:MAX_VARIANTS]:
        text = read_variant(path)
        try:
            spliced = splice_function(masked, row["goal_function"], text or "")
        except LMRBenchError:
            continue
        yield Body(VARIANT, path.stem, split_at_body(spliced, row["goal_function"])[1])
