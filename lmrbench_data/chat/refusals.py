"""Why a server refuses a request: one table of causes, each known by the error's codes first, then by its words."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

#: Names of the token limit, in the order in which they are tried.
LIMITS = ("max_completion_tokens", "max_tokens")
_MAX_TEXT, _MAX_DEPTH = 2000, 8


class Cause(Enum):
    """What is at fault, which decides what happens next."""

    CREDIT = "The account has no credit: the run ends."
    FILTER = "A content filter: the answer counts as refused."
    LENGTH = "The prompt is too long: it is cut."
    LIMIT = "The token limit of a reply is too large: the run ends."
    ROLE = "The server does not take the role system: its text begins the user's message."
    ACCESS = "The model or the key is wrong: the run ends."
    UNKNOWN = "A parameter or a passing fault: the request is sent without what it names, or once more."


#: Cause → its codes and types, and its words; in lower case. The first one that matches counts.
_CAUSES = {
    Cause.CREDIT: (
        r"insufficient_(quota|balance|credit|fund)|current_quota|arrear|credit|balance|billing|budget_exceeded|payment",
        r"\bcredits?\b|\bbalance\b|insufficient.{0,12}(quota|funds)|billing|arrear|overdue|good standing|recharge|"
        r"\btop.?up|\bfunds\b|payment|trial (has )?(ended|expired)|upgrade your|exceeded your \w* ?quota|"
        r"budget.{0,20}exceed|exceed.{0,20}budget|spend\w* limit|欠费|余额",
    ),
    Cause.FILTER: (
        r"content.?(filter|policy)|invalid_prompt|inspection|moderat|flagged|safety(?!_id)|responsibleai|prohibited|"
        r"sensitive",
        r"content.?filter|flagged|moderation|inappropriate|\bsafety\b|harmful|\bunsafe|prohibited.{0,9}(content|use)|"
        r"\b(content|usage|use|our|violat\w+)\b.{0,30}\b(polic|guideline|terms)|content.{0,9}risk|敏感|不安全|"
        r"(prompt|input|content|response)\b.{0,40}\b(blocked|filtered)",
    ),
    Cause.LENGTH: (
        r"context|too_?(long|large|many_tokens)|max_(length|context|prompt|input)|(prompt|input)_(length|tokens|too)|"
        r"length_exceed|string_above|token_limit",
        # Something is compared, and it is the length of the input.
        r"^(?!.*(rate.?limit|per (min|second|hour|day)|timed? ?out|\btook\b|concurren))"
        r"(?=.*(input|prompt|message|context|request|sequence|conversation|token))"
        r"(?=.*(exceed|too (long|large|many|big)|longer|larger|greater|(more|less|lower) than|fewer|at (most|least)|"
        r"maximum|overflow|reduce|shorten|beyond|surpass|not fit|<=|>|range|supports? up to|limited to|\blimit\b))"
        r"(?=.*(token|context|length|window|\bsize\b|\blong\b))",
    ),
    Cause.ROLE: (
        r"(?!)",
        r"system['\"` ]*(role|message|prompt|instruction)|role[s:'\"` ]*system|developer instruct|roles must alternate",
    ),
    Cause.ACCESS: (
        r"model_not|no_such_model|\b(invalid|unknown|unsupported)_model\b|api_?key|authenti|authori[sz]|permission|no_db_",
        r"api.?key|(invalid|incorrect|wrong|unauthori[sz]ed|virtual)\b.{0,12}\b(key|token)\b|authenti|unauthori|"
        r"credential|connected db|pinned to|\bno models? |\bvalid model|llm provider|"
        r"\b(invalid|unknown|unsupported|no such|unrecogni[sz]ed)\b.{0,12}\bmodel|"
        r"\bmodel\b.{0,60}\b(invalid|unknown|unsupported|unavailable|deprecated|decommissioned|retired|no longer|"
        r"(not|never)( been| be)? (found|exist|available|supported|loaded|allowed|valid|recogni[sz]ed|served))",
    ),
}
_LIMIT = r"max_?(completion_?|output_?|new_?)?tokens|maximum tokens|(completion|output|generated) tokens"
_INPUT = r"context|prompt|input|messages"
#: Other words by which servers name a parameter.
_ALIASES = {"response_format": r"json_schema|structured.?output|guided|grammar|json.?mode"}


class Refusal(NamedTuple):
    """The error of a server."""

    message: str
    codes: str
    """All single words in it, such as code, type and parameter, in lower case."""
    text: str
    """All texts in it, in lower case."""

    @classmethod
    def of(cls, body: Any) -> "Refusal":
        """Read the body of an error: any JSON value or text."""
        error = body.get("error") or body if isinstance(body, dict) else body
        texts = list(_texts(error))
        message = error.get("message") if isinstance(error, dict) else None
        codes = [text for text in texts if re.fullmatch(r"[\w.-]+", text)]
        full = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(texts)[:_MAX_TEXT])
        return cls(str(message or full)[:_MAX_TEXT], " ".join(codes).lower(), full.lower())

    def cause(self, limit: int | None = None) -> Cause:
        """Return the cause, for a request with this token limit."""
        for place, said in enumerate((self.codes, self.text)):
            for cause, patterns in _CAUSES.items():
                if re.search(patterns[place], said, re.DOTALL):
                    return self._of_length(limit) if cause is Cause.LENGTH else cause
        return Cause.UNKNOWN

    def place_of(self, name: str) -> int | None:
        """Return where the error names a parameter, -1 for one that it marks as the culprit; None if it does not."""
        pattern = rf"(?<![\w.]){re.escape(name.lower())}(?!\w)|{_ALIASES.get(name, '(?!)')}"
        if re.search(pattern, self.codes):
            return -1
        found = re.search(pattern, self.text)
        return found.start() if found else None

    def _of_length(self, limit: int | None) -> Cause:
        """Return which length is at fault: that of the prompt, or the limit of the reply alone."""
        names_limit = re.search(_LIMIT, self.text)
        if limit is None or not (names_limit or re.search(r"\d", self.text)):
            return Cause.LENGTH
        if names_limit and not re.search(_INPUT, self.text):
            return Cause.LIMIT
        stated = re.search(r"(?:context|maximum)\D{0,40}(\d+)", self.text)
        numbers = [int(number) for number in re.findall(r"\d+", self.text) if int(number) != limit]
        most = int(stated[1]) if stated else max(numbers, default=limit) if names_limit else limit + 1
        return Cause.LIMIT if limit >= most else Cause.LENGTH


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in a JSON value, but for `input`, in which some servers repeat the request."""
    if isinstance(value, str):
        yield value[:_MAX_TEXT]
    elif depth < _MAX_DEPTH:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, item in items:
            if name != "input":
                yield from _texts(item, depth + 1)
