"""Build the judge's question: the messages for one answer, from the template of its configuration.

The template for methods adds a section to the system message for single functions. A version names the template and
hashes the schema and all texts that a judge is shown, so that no two wordings share a version.
"""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.chat.client import Message
from lmrbench_data.dataset.rows import DatasetRow, config_of, is_method
from lmrbench_data.loader import FUNCTION

from ..predictions.prediction import Prediction
from .material import Material, gather
from .opinion import Category

_HERE = Path(__file__).resolve().parent
#: The template for single functions.
TEMPLATE = _HERE / "prompt_v4.md"
#: The template for methods; `one_function` in it is the system message of `TEMPLATE`.
METHOD_TEMPLATE = _HERE / "method_prompt_v2.md"
#: The form of a judge's reply. OpenAI's strict mode requires every key and does not support lengths of lists.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["analysis", "algorithm", "implementation", "rationale", "category"],
    "properties": {
        "analysis": {"type": "string", "description": "the work that leads to the rest"},
        "algorithm": {"type": "string", "description": "on the algorithmic logic"},
        "implementation": {"type": "string", "description": "on the implementation"},
        "rationale": {"type": "array", "items": {"type": "string"}, "description": "two to four points"},
        "category": {"type": "string", "enum": [str(category) for category in Category]},
    },
}


class Question(NamedTuple):
    """A question to a model about an answer."""

    messages: list[Message]
    identical: bool
    """The answer's code is the reference's, so there is nothing to ask."""
    is_mostly_candidate: bool
    """The candidate wrote more than half of it, so a question that is too long is an answer that is too long."""


@functools.cache
def prompt_version(config: str = FUNCTION) -> str:
    """Return the version of a configuration's prompt for judges: `v4-` or `method-v2-`, and a hash."""
    if config != FUNCTION:
        return f"method-{version_of(METHOD_TEMPLATE, SCHEMA, TEMPLATE)}"
    return version_of(TEMPLATE, SCHEMA)


def version_of(template: Path, schema: Mapping[str, Any], *included: Path) -> str:
    """Return the version at the end of a template's name, and a hash of its text, the schema and included templates."""
    text = template.read_text(encoding="utf-8") + json.dumps(schema)
    text += "".join(path.read_text(encoding="utf-8") for path in included)
    return f"{template.stem.rpartition('_')[2]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def build_question(row: DatasetRow, prediction: Prediction) -> Question:
    """Build the question that asks for a judgement; equal input gives equal messages.

    Args:
        row: the dataset row of the prediction's instance.

    Raises:
        MalformedAnswerError: the prediction cannot be applied: there is no candidate function.
        NotJudgedError: the candidate's function is too long, or cannot be printed without remarks.
    """
    material = gather(row, prediction, prompt_version(config_of(row)))
    if is_method(row):
        return ask(METHOD_TEMPLATE, material, one_function=template_sections(TEMPLATE)["system"].render())
    return ask(TEMPLATE, material)


def ask(template: Path, material: Material, **more: str) -> Question:
    """Fill in a template with the material, and with more values if the template has them."""
    sections = template_sections(template)
    user = sections["user"].render(**material.values, **more)
    messages = [{"role": "system", "content": sections["system"].render(**more)}, {"role": "user", "content": user}]
    theirs, everything = sum(map(len, material.parts)), sum(len(message["content"]) for message in messages)
    return Question(messages, material.identical, is_mostly_candidate=2 * theirs > everything)


@functools.cache
def template_sections(template: Path) -> dict[str, Any]:
    """Read the parts of a template by name: system, user, repair.

    Args:
        template: a Markdown file with a heading of the first level for each part.
    """
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    pieces = re.split(r"^# (\w+)\n", template.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: environment.from_string(text.strip()) for name, text in zip(pieces[::2], pieces[1::2], strict=True)}
