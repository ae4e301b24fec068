"""Build questions about answers: the messages for one answer, from a template.

The template for methods adds a section to the system message for single functions. A version names
the template and hashes the schema and all texts that a judge is shown: no two wordings share a
version.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.chat.client import Message
from lmrbench_data.dataset.rows import DatasetRow, config_of
from lmrbench_data.loader import FUNCTION

from ..predictions.prediction import Prediction
from .material import Material, gather
from .opinion import Category, Opinion, Reply, read_reply

_HERE = Path(__file__).resolve().parent
#: The temperature of all votes: at 0 they would repeat the first, and agreement would mean nothing.
TEMPERATURE = 0.7
#: The form of a judge's reply. OpenAI's strict mode requires every key and does not support lengths
#: of lists.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["analysis", "algorithm", "implementation", "rationale", "category"],
    "properties": {
        "analysis": {"type": "string", "description": "the work that leads to the rest"},
        "algorithm": {"type": "string", "description": "on the algorithmic logic"},
        "implementation": {"type": "string", "description": "on the implementation"},
        "rationale": {
            "type": "array",
            "items": {"type": "string"},
            "description": "two to four points",
        },
        "category": {"type": "string", "enum": [str(category) for category in Category]},
    },
}


class Question(NamedTuple):
    """A question to a model about an answer."""

    messages: list[Message]
    identical: bool
    """The answer's code is the reference's, so there is nothing to ask."""
    is_mostly_candidate: bool
    """The candidate wrote more than half of it: if it is too long, the answer is."""


@dataclass(frozen=True)
class Prompt:
    """A kind of question about an answer, and how its replies are read."""

    name: str
    template: Path
    """A Markdown file with a heading of the first level for each part: system, user, and `repair`,
    the message to a model whose reply could not be read."""
    schema: Mapping[str, Any]
    parse: Callable[[str, Question], Reply]
    """Raises UnreadableError."""
    temperature: float
    identical: Reply | None = None
    """The reply about an answer with the reference's code; None if there is nothing to say."""
    included: Path | None = None
    """A template whose system message is `one_function` in the other; it has `repair` for both."""

    @property
    def version(self) -> str:
        """The version at the end of the template's name, and a hash of the schema and all texts."""
        text = self.template.read_text(encoding="utf-8") + json.dumps(self.schema)
        number = self.template.stem.rpartition("_")[2]
        if self.included:
            text += self.included.read_text(encoding="utf-8")
            number = f"method-{number}"
        return f"{number}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def repair(self, reason: str) -> str:
        """Return the message to a model whose reply could not be read."""
        return str(_sections(self.included or self.template)["repair"].render(reason=reason))

    def ask(self, material: Material, **more: str) -> Question:
        """Fill in the template with the material, and with more values if the template has them."""
        sections = _sections(self.template)
        if self.included:
            more["one_function"] = _sections(self.included)["system"].render()
        texts = {
            "system": sections["system"].render(**more),
            "user": sections["user"].render(**material.values, **more),
        }
        candidate_length = sum(map(len, material.parts))
        is_mostly_candidate = 2 * candidate_length > sum(map(len, texts.values()))
        messages = [{"role": role, "content": text} for role, text in texts.items()]
        return Question(messages, material.identical, is_mostly_candidate)


@functools.cache
def _sections(template: Path) -> dict[str, Any]:
    """Read the parts of a template by name."""
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    sections = {}
    for piece in re.split(
        r"^# (?=\w+\n)", template.read_text(encoding="utf-8"), flags=re.MULTILINE
    ):
        name, _, text = piece.partition("\n")
        sections[name] = environment.from_string(text.strip())
    return sections


ON_FUNCTION = Prompt(
    name="judgement",
    template=_HERE / "prompt_v6.md",
    schema=SCHEMA,
    parse=lambda text, _: read_reply(text, Opinion),
    temperature=TEMPERATURE,
    identical=Opinion(
        category=Category.CC,
        algorithm="The reference's.",
        implementation="The reference's.",
        rationale=(
            "Each goal file has the syntax tree of the reference's.",
            "No other file of the repository was changed.",
        ),
    ),
)
ON_METHOD = replace(
    ON_FUNCTION, template=_HERE / "method_prompt_v3.md", included=ON_FUNCTION.template
)


def prompt_of(config: str = FUNCTION) -> Prompt:
    """Return the prompt for judging the answers of a configuration."""
    return ON_FUNCTION if config == FUNCTION else ON_METHOD


def build_question(row: DatasetRow, prediction: Prediction) -> Question:
    """Build the question that asks for a judgement; equal input gives equal messages.

    Raises:
        MalformedAnswerError: the prediction cannot be applied: there is no candidate function.
        NotJudgedError: the candidate's function is too long, or cannot be printed without remarks.
    """
    prompt = prompt_of(config_of(row))
    return prompt.ask(gather(row, prediction, prompt.version))
