"""A judge's opinion of an answer, and how it is read from a reply.

A reply is one JSON object with nothing around it but a fence, or thoughts before it. Nothing in it
is repaired or guessed: the model is asked again.
"""

import json
import re
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.text import cut, one_line

from ..rebuild.extract import without_tokens
from ..rebuild.thoughts import without_thoughts

#: Characters of each text that are kept.
MAX_TEXT = 4000
#: Where a judgement may begin.
_START = re.compile(r"(?:^|[>\]\u25b7\u3011]|final)\s*(?:\{|```)", re.MULTILINE)


class Category(StrEnum):
    """Correctness of a candidate, from most to least severe."""

    LI = "LI"
    LC = "LC"
    CC = "CC"

    @property
    def full_name(self) -> str:
        """The name in the benchmark's paper."""
        return _TITLES[self]


#: From completely correct to incorrect logic: the order in which categories are shown.
BEST_FIRST = tuple(reversed(Category))
_TITLES = {
    Category.LI: "Incorrect logic",
    Category.LC: "Logic correct, subtle errors",
    Category.CC: "Completely correct",
}


class UnreadableError(LMRBenchError):
    """A reply without one clear opinion; the message says what is wrong, in our words only."""


def _plain(text: str) -> str:
    return cut(one_line(text[: 2 * MAX_TEXT]), MAX_TEXT)


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("there is no text")
    return text


#: One line of printable characters, of bounded length.
PlainText = Annotated[str, AfterValidator(_plain)]
PlainLine = Annotated[PlainText, AfterValidator(_not_empty)]


class Reply(BaseModel):
    """A model's statement on an answer, as it is logged."""

    model_config = ConfigDict(frozen=True)

    @property
    def label(self) -> str:
        """Its short form."""
        raise NotImplementedError


class Opinion(Reply):
    """One judgement as the judge gave it."""

    category: Category
    algorithm: PlainText
    implementation: PlainText
    rationale: tuple[PlainLine, ...] = Field(min_length=2)

    @property
    def label(self) -> str:
        """The category."""
        return str(self.category)


Form = TypeVar("Form", bound=Reply)


def read_reply(text: str, form: type[Form]) -> Form:
    """Return the statement in a reply; UnreadableError if it is not one object of this form."""
    try:
        item = json.loads(_json_in(text), strict=False, object_pairs_hook=_object)
        return form.model_validate(item)
    except ValidationError as error:
        raise UnreadableError(_first_problem(error)) from None
    except (ValueError, RecursionError):
        raise UnreadableError("it is not one JSON object with nothing around it") from None


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    place = "".join(f"{part}: " for part in problem["loc"])
    return place + problem["msg"].removeprefix("Value error, ")


def _json_in(text: str) -> str:
    """Return a reply without thoughts, marks of a chat template, and fences."""
    answer = text.strip()
    if not answer.startswith(("{", "```")):
        answer = without_thoughts(answer, _START)
    answer = without_tokens(answer).strip()
    if answer.startswith("```"):
        answer = answer.removeprefix("```").removeprefix("json").removesuffix("```")
    return answer


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) < len(pairs):  # such as a candidate's category beside the judge's
        raise ValueError("a key is in it twice")
    return item
