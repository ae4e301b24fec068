"""Why a server refuses a request: one table of causes, each known by the error's codes first, then by its words."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

#: Names of the token limit, in the order in which they are tried.
LIMITS = ("max_completion_tokens", "max_tokens")
_MAX_TEXT = 2000


class Cause(Enum):
    """The fault: its codes and types, and its words; all in lower case. The first cause that matches counts."""

    CREDIT = (  # the account has none: the run ends
        r"insufficient_(quota|fund)|current_quota|arrear|credit|balance|billing|budget_exceeded|payment",
        r"\bcredits?\b|\bbalance\b|insufficient.{0,12}quota|billing|arrear|overdue|good standing|recharge|\btop.?up|"
        r"\bfunds\b|payment|trial (has )?(ended|expired)|upgrade your|exceeded your \w* ?quota|spend\w* limit|"
        r"budget.{0,20}exceed|exceed.{0,20}budget|欠费|余额",
    )
    FILTER = (  # the answer counts as refused
        r"content.?(filter|policy)|invalid_prompt|inspection|moderat|safety(?!_id)|responsibleai|prohibited|sensitive",
        r"content.?filter|flagged|moderation|inappropriate|\bsafety\b|harmful|\bunsafe|prohibited.{0,9}(content|use)|"
        r"\b(content|usage|use|our|violat\w+)\b.{0,30}\b(polic|guideline|terms)|content.{0,9}risk|敏感|不安全|"
        r"(prompt|input|content|response)\b.{0,40}\b(blocked|filtered)",
    )
    LENGTH = (  # something is compared, and it is the length of the prompt, which is cut
        r"context|too_?(long|large|many_tokens)|max_(length|prompt|input)|(prompt|input)_(length|to)|string_above|token_limit",
        r"^(?!.*(rate.?limit|per (min|second|hour|day)|timed? ?out|\btook\b|concurren))"
        r"(?=.*(input|prompt|message|context|request|sequence|conversation|token))"
        r"(?=.*(exceed|too (long|large|many|big)|longer|larger|greater|(more|less|lower) than|fewer|at (most|least)|"
        r"maximum|overflow|reduce|shorten|beyond|surpass|not fit|<=|>|range|supports? up to|limited to|\blimit\b))"
        r"(?=.*(token|context|length|window|\bsize\b|\blong\b))",
    )
    ROLE = (  # the system's text begins the user's message
        r"(?!)",
        r"system['\"` ]*(role|message|prompt|instruction)|role[s:'\"` ]*system|developer instruct|roles must alternate",
    )
    ACCESS = (  # the model or the key is wrong: the run ends
        r"model_not|no_such_model|\b(invalid|unknown|unsupported)_model\b|api_?key|authenti|authori[sz]|permission|no_db_",
        r"api.?key|(invalid|incorrect|wrong|unauthori[sz]ed|virtual)\b.{0,12}\b(key|token)\b|authenti|unauthori|"
        r"credential|connected db|pinned to|\bno models? |\bvalid model|llm provider|"
        r"\b(invalid|unknown|unsupported|no such|unrecogni[sz]ed)\b.{0,12}\bmodel|"
        r"\bmodel\b.{0,60}\b(invalid|unknown|unsupported|unavailable|deprecated|decommissioned|retired|no longer|"
        r"(not|never)( been| be)? (found|exist|available|supported|loaded|allowed|valid|recogni[sz]ed|served))",
    )
    LIMIT = (r"(?!)", r"(?!)")  # as LENGTH, but a reply of `max_tokens` would not fit by itself: the run ends
    UNKNOWN = (r"(?!)", "")  # a parameter, which is left out if it is named, or a passing fault


#: Words of refusals in which the reply's tokens count.
_REPLY = r"max_?(completion_?|output_?|new_?)?tokens|maximum tokens|(completion|output|generated) tokens|context"
#: Other words by which servers name a parameter.
_ALIASES = {"response_format": r"json_schema|structured.?output|guided|grammar|json.?mode"}


class Refusal(NamedTuple):
    """The error of a server: its message; and in lower case its codes, which are single words, and all its texts."""

    message: str
    codes: str
    text: str

    @classmethod
    def of(cls, body: Any) -> "Refusal":
        """Read the body of an error: any JSON value or text."""
        error = body.get("error") or body if isinstance(body, dict) else body
        values, texts = [error], list[str]()
        for value in values:  # which grow
            if isinstance(value, dict):  # in `input`, some servers repeat the request
                values += [item for name, item in value.items() if name != "input"]
            elif isinstance(value, list):
                values += value
            elif isinstance(value, str):
                texts.append(value[:_MAX_TEXT])
        codes = " ".join(text for text in texts if re.fullmatch(r"[\w.-]+", text))
        full = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(texts)[:_MAX_TEXT])
        message = error.get("message") if isinstance(error, dict) else None
        return cls(str(message or full)[:_MAX_TEXT], codes.lower(), full.lower())

    def cause(self, limit: int | None = None) -> Cause:
        """Return the cause, for a request with this token limit."""
        said = (self.codes, self.text)
        found = next(cause for i in (0, 1) for cause in Cause if re.search(cause.value[i], said[i], re.DOTALL))
        return Cause.LIMIT if found is Cause.LENGTH and self._exceeds(limit) else found

    def place_of(self, name: str) -> int | None:
        """Return where the error names a parameter, codes first; None if it does not."""
        pattern = rf"(?<![\w.]){re.escape(name.lower())}(?!\w)|{_ALIASES.get(name, '(?!)')}"
        found = re.search(pattern, f"{self.codes} {self.text}")
        return found.start() if found else None

    def _exceeds(self, limit: int | None) -> bool:
        """Return whether a limit is too large by itself, rather than leaving too little for the prompt."""
        numbers = {int(number) for number in re.findall(r"\d+", self.text)}
        if limit is None or not (limit in numbers or re.search(_REPLY, self.text)):
            return False
        if not re.search("context|prompt|input|messages", self.text):
            return True
        stated = re.search(r"(?:context|maximum)\D{0,40}(\d+)", self.text)
        return limit >= (int(stated[1]) if stated else max(numbers - {limit}, default=limit + 1))


def without_refused(options: Mapping[str, Any], refusal: Refusal, cause: Cause | None) -> Mapping[str, Any] | None:
    """Return options without the first that a refusal names, None if none can go; a limit gets its other name, once."""
    if cause is Cause.ROLE and options["system"]:
        return {**options, "system": False}
    sent = [name for name, value in options.items() if value is not None and name not in ("system", LIMITS[1])]
    places = {place: name for name in sent if (place := refusal.place_of(name)) is not None}
    if not places or cause not in (Cause.ACCESS, Cause.UNKNOWN):
        return None
    first = places[min(places)]
    return {**options, first: None, **({LIMITS[1]: options[first]} if first == LIMITS[0] else {})}
