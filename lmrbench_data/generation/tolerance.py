"""Note the extra text in an answer that evaluation ignores, so rows show whether a model kept to the form."""

import ast

from lmrbench_evaluate.rebuild.extract import extract_code

from ..base.source import parse


def tolerated(answer: str, goal_function: str) -> list[str]:
    """Return the parts of an answer that nobody asked for: `thoughts`, `fences`, `prose`, `more than the function`.

    Read by the extractor of evaluation; for `call_on_answer`, because models write what they like.

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
