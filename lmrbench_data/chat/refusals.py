"""Why a server refuses a request: one table of causes, each known by the error's codes first, then by its words."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
        r"model_not|no_such_model|\b(invalid|unknown|unsupported)_model\b|api_?key|authenti|authori[sz]|permission|no_db_|"
        r"invalid_auth|\bnot_?found|forbidden",
        r"api.?key|(invalid|incorrect|wrong|unauthori[sz]ed|virtual)\b.{0,12}\b(key|token)\b|authenti|unauthori|"
        r"authori[sz]ation|secret key|^not found|method not allowed|模型.{0,6}不存在|令牌|密钥|"
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


#: Fields that repeat the request or belong to a completion.
_NO_WORDS = ("input", "choices", "usage", "id", "object", "model", "created")
#: An HTTP status in a text.
_NUMBER = r"^\W*([45]\d\d)\b(?! tokens)|\b(?:http|status|error)(?: code)?\W{1,3}([45]\d\d)\b"
#: Words of a fault that passes, and of a request that is wrong.
_PASSING = r"rate.?limit|too.?many.?requests|overload|temporar|\bbusy\b|at capacity|currently (loading|unavailable)"
_WRONG = r"\bparam|invalid.?(request|value|argument)|validation|unsupported|unrecogni[sz]ed|not (supported|permitted)"


class Refusal(NamedTuple):
    """The error of a server: its message; and in lower case its codes, which are single words, and all its texts."""

    message: str
    codes: str
    text: str
    status: int = 0
    """The HTTP status that the body states; 0 if it states none."""

    @classmethod
    def of(cls, body: Any) -> "Refusal":
        """Read the body of an error: any JSON value or text."""
        nested = get(body, "error") or get(body, "choices", 0, "error")
        error = nested if isinstance(nested, dict | list) else body
        texts = [value[:_MAX_TEXT] for _, value in _leaves(error) if isinstance(value, str)]
        codes = " ".join(text for text in texts if re.fullmatch(r"[\w.-]+", text))[:_MAX_TEXT]
        full = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(texts)[:_MAX_TEXT])
        message = get(error, "message")
        status = _stated_status([*_leaves(body), *_leaves(error)])
        return cls(str(message or full)[:_MAX_TEXT], codes.lower(), full.lower(), status)

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


def status_inside(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal that came with a status of success: stated, or as its words say; else 502."""
    if refusal.status not in (0, 500):  # many gateways state 500 for everything
        return refusal.status
    if re.search(_PASSING, refusal.text):
        return 429
    is_fault = refusal.cause() is Cause.UNKNOWN and not re.search(_WRONG, refusal.text)
    return (refusal.status or 502) if is_fault else 400


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


def get(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of names and positions in a JSON value; None if nothing does."""
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return None
    return value


def _leaves(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts of an error with their names, the outer ones first."""
    queue = [("", body)]
    for name, value in queue:  # which grows
        if isinstance(value, dict):
            queue += [(str(key).lower(), item) for key, item in value.items() if key not in _NO_WORDS]
        elif isinstance(value, list):
            queue += [(name, item) for item in value]
        else:
            yield name, value


def _stated_status(leaves: Sequence[tuple[str, Any]]) -> int:
    """Return the HTTP status that an error states in a field or, failing that, in a text; 0 without one."""
    for name, value in leaves:
        if ("code" in name or "status" in name) and (number := re.match(r"[45]\d\d(?!\d)", str(value))):
            return int(number[0])
    for _, value in leaves:
        if number := re.search(_NUMBER, str(value)[:_MAX_TEXT].lower()):
            return int(number[1] or number[2])
    return 0
