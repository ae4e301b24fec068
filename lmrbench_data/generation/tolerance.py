"""Note the extra text in an answer that evaluation ignores, so rows show whether a model kept to the form."""

import ast
from collections.abc import Mapping, Sequence

from lmrbench_evaluate.rebuild.extract import extract_code
from lmrbench_evaluate.rebuild.method_answer import defined_functions

from ..base.source import parse


def missing_functions(answer: str, goals: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the functions of a method, as `path::name`, that an answer does not define; for `call_on_answer`.

    Raises:
        SourceError: the answer cannot be used at all.
    """
    found = set(defined_functions(answer, goals))
    return [f"{path}::{name}" for path, names in goals.items() for name in names if (path, name) not in found]


def tolerated(answer: str, goal_function: str) -> list[str]:
    """Return the parts of an answer that nobody asked for: `thoughts`, `fences`, `prose`, `more than the function`.

    Read by the extractor of evaluation; for `call_on_answer`, because models may write anything.

    Raises:
        SourceError: the answer cannot be used at all.
    """
    code = extract_code(answer, goal_function)
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    wanted = {line.strip() for line in code.splitlines()}
    others = [line.strip() for line in text.splitlines() if line.strip() and line.strip() not in wanted]
    fences = [line for line in others if line.startswith(("```", "~~~"))]
    thinks = any("think>" in line.lower() or "reasoning>" in line.lower() for line in others)
    notes = ["thoughts"] if thinks else ["prose"] if len(others) > len(fences) else []
    notes += ["fences"] if fences else []
    body = parse(code).body
    alone = len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return notes if alone else [*notes, "more than the function"]
