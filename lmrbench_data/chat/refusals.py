"""Why a server refuses a request: one table of causes, each known by the error's codes first, then by its words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

#: Names of the token limit, in the order in which they are tried.
LIMITS = ("max_completion_tokens", "max_tokens")
_MAX_TEXT = 2000


class Cause(Enum):
    """The fault that a server states."""

    CREDIT = "the account has none: the run ends"
    FILTER = "a content filter: the answer counts as refused"
    LENGTH = "the prompt is too long, and is cut"
    LIMIT = "an answer of `max_tokens` would not fit by itself: the run ends"
    ROLE = "the system's text begins the user's message"
    ACCESS = "the model or the key is wrong: the run ends"
    UNKNOWN = "a parameter, which is left out if it is named, or a passing fault"


class Rule(NamedTuple):
    """One sign of a cause, in lower case: a pattern among the `codes` or in the `text`, and words that it matches."""

    cause: Cause
    where: str
    pattern: str
    example: str

    def matches(self, refusal: "Refusal") -> bool:
        """Return whether a refusal has this sign."""
        return bool(re.search(self.pattern, getattr(refusal, self.where), re.DOTALL))


#: Two lengths are compared, and one of them is that of a prompt; neither a rate nor a time.
_LENGTH = (
    r"^(?!.*(rate.?limit|per (min|second|hour|day)|timed? ?out|\btook\b|concurren))"
    r"(?=.*(input|prompt|message|context|request|sequence|conversation|token))"
    r"(?=.*(exceed|too (long|large|many|big)|longer|larger|greater|(more|less|lower) than|fewer|at (most|least)|"
    r"maximum|overflow|reduce|shorten|beyond|surpass|not fit|<=|>|range|supports? up to|limited to|\blimit\b))"
    r"(?=.*(token|context|length|window|\bsize\b|\blong\b))"
)
_NO_MODEL = (
    r"\b(invalid|unknown|unsupported|no such|unrecogni[sz]ed)\b.{0,12}\bmodel|"
    r"\bmodel\b.{0,60}\b(invalid|unknown|unsupported|unavailable|deprecated|decommissioned|retired|no longer|"
    r"(not|never)( been| be)? (found|exist|available|supported|loaded|allowed|valid|recogni[sz]ed|served))"
)
#: The first rule that matches counts.
RULES = (
    Rule(
        Cause.CREDIT,
        "codes",
        r"insufficient_(quota|fund)|current_quota|budget_exceeded",
        "insufficient_quota",
    ),
    Rule(
        Cause.CREDIT,
        "codes",
        r"credit|balance|billing|payment|arrear",
        "billing_hard_limit_reached",
    ),
    Rule(
        Cause.FILTER,
        "codes",
        r"content.?(filter|policy)|responsibleai|prohibited",
        "content_filter",
    ),
    Rule(
        Cause.FILTER,
        "codes",
        r"invalid_prompt|inspection|moderat|safety(?!_id)|sensitive",
        "data_inspection_failed",
    ),
    Rule(
        Cause.LENGTH,
        "codes",
        r"context|too_?(long|large|many_tokens)|string_above",
        "context_length_exceeded",
    ),
    Rule(
        Cause.LENGTH,
        "codes",
        r"token_limit|max_(length|prompt|input)|(prompt|input)_(length|to)",
        "prompt_tokens",
    ),
    Rule(Cause.ACCESS, "codes", r"api_?key|authenti|authori[sz]|invalid_auth", "invalid_api_key"),
    Rule(Cause.ACCESS, "codes", r"permission|forbidden|no_db_|\bnot_?found", "permission_denied"),
    Rule(
        Cause.ACCESS,
        "codes",
        r"model_not|no_such_model|\b(invalid|unknown|unsupported)_model\b",
        "unknown_model",
    ),
    Rule(
        Cause.CREDIT,
        "text",
        r"\bcredits?\b|\bbalance\b|\bfunds\b|余额",
        "your credit balance is too low",
    ),
    Rule(
        Cause.CREDIT,
        "text",
        r"billing|payment|arrear|overdue|good standing|欠费",
        "an invoice is overdue",
    ),
    Rule(
        Cause.CREDIT,
        "text",
        r"recharge|\btop.?up|upgrade your|trial (has )?(ended|expired)",
        "your trial has ended",
    ),
    Rule(
        Cause.CREDIT,
        "text",
        r"insufficient.{0,12}quota|exceeded your \w* ?quota",
        "you exceeded your current quota",
    ),
    Rule(
        Cause.CREDIT,
        "text",
        r"spend\w* limit|budget.{0,20}exceed|exceed.{0,20}budget",
        "budget has been exceeded",
    ),
    Rule(
        Cause.FILTER,
        "text",
        r"content.?filter|flagged|moderation|inappropriate|敏感",
        "your input was flagged",
    ),
    Rule(
        Cause.FILTER,
        "text",
        r"\bsafety\b|harmful|\bunsafe|content.{0,9}risk|不安全",
        "our safety system",
    ),
    Rule(
        Cause.FILTER,
        "text",
        r"\b(content|usage|use|our|violat\w+)\b.{0,30}\b(polic|guideline|terms)",
        "our policy",
    ),
    Rule(
        Cause.FILTER,
        "text",
        r"(prompt|input|content|response)\b.{0,40}\b(blocked|filtered)",
        "prompt blocked",
    ),
    Rule(Cause.FILTER, "text", r"prohibited.{0,9}(content|use)", "prohibited content"),
    Rule(Cause.LENGTH, "text", _LENGTH, "the prompt exceeds the context window"),
    Rule(
        Cause.ROLE,
        "text",
        r"system['\"` ]*(role|message|prompt|instruction)",
        "system role not supported",
    ),
    Rule(
        Cause.ROLE,
        "text",
        r"role[s:'\"` ]*system|developer instruct|roles must alternate",
        "unknown role: 'system'",
    ),
    Rule(
        Cause.ACCESS,
        "text",
        r"api.?key|secret key|credential|authori[sz]ation|令牌|密钥",
        "api key not valid",
    ),
    Rule(
        Cause.ACCESS,
        "text",
        r"authenti|unauthori|^not found|method not allowed",
        "not authenticated",
    ),
    Rule(
        Cause.ACCESS,
        "text",
        r"(invalid|incorrect|wrong|virtual)\b.{0,12}\b(key|token)\b",
        "invalid token",
    ),
    Rule(
        Cause.ACCESS,
        "text",
        r"connected db|pinned to|\bno models? |\bvalid model",
        "no models loaded",
    ),
    Rule(Cause.ACCESS, "text", r"llm provider|模型.{0,6}不存在", "llm provider not provided"),
    Rule(Cause.ACCESS, "text", _NO_MODEL, "the model does not exist"),
)
#: The causes that an error with this status can have; other statuses say all.
_CAUSES: Mapping[int, tuple[Cause, ...]] = {
    400: tuple(Cause),
    402: (Cause.CREDIT,),
    403: (Cause.CREDIT, Cause.FILTER),
    413: (Cause.LENGTH,),
    422: tuple(Cause),
    429: (Cause.CREDIT,),
    500: (Cause.LENGTH, Cause.LIMIT, Cause.ROLE),
}
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
        cause = next((rule.cause for rule in RULES if rule.matches(self)), Cause.UNKNOWN)
        return Cause.LIMIT if cause is Cause.LENGTH and self._exceeds(limit) else cause

    def place_of(self, name: str) -> int | None:
        """Return where the error names a parameter, codes first; None if it does not."""
        pattern = rf"(?<![\w.]){re.escape(name.lower())}(?!\w)|{_ALIASES.get(name, '(?!)')}"
        match = re.search(pattern, f"{self.codes} {self.text}")
        return match.start() if match else None

    def _exceeds(self, limit: int | None) -> bool:
        """Return whether a limit is too large by itself, rather than leaving too little for the prompt."""
        numbers = {int(number) for number in re.findall(r"\d+", self.text)}
        if limit is None or not (limit in numbers or re.search(_REPLY, self.text)):
            return False
        if not re.search("context|prompt|input|messages", self.text):
            return True
        stated = re.search(r"(?:context|maximum)\D{0,40}(\d+)", self.text)
        return limit >= (int(stated[1]) if stated else max(numbers - {limit}, default=limit + 1))


def cause_of(status: int, refusal: Refusal, limit: int | None = None) -> Cause | None:
    """Return the cause of a refusal, for a request with this token limit; None if the status says all."""
    if status == 429:  # words about a quota are also those of a passing limit
        refusal = refusal._replace(text="")
    causes = _CAUSES.get(status, ())
    if status in (402, 413):
        return causes[0]
    cause = refusal.cause(limit)
    return cause if cause in causes else None


def status_inside(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal that came with a status of success: stated, or as its words say; else 502."""
    if refusal.status not in (0, 500):  # many gateways state 500 for everything
        return refusal.status
    if re.search(_PASSING, refusal.text):
        return 429
    is_fault = refusal.cause() is Cause.UNKNOWN and not re.search(_WRONG, refusal.text)
    return (refusal.status or 502) if is_fault else 400


def without_refused(
    options: Mapping[str, Any], refusal: Refusal, cause: Cause | None
) -> Mapping[str, Any] | None:
    """Return options without the first that a refusal names, None if none can go; a limit gets its other name, once."""
    if cause is Cause.ROLE and options["system"]:
        return {**options, "system": False}
    if cause not in (Cause.ACCESS, Cause.UNKNOWN):
        return None
    places: dict[int, str] = {}
    for name, value in options.items():
        place = refusal.place_of(name)
        if place is not None and value is not None and name not in ("system", LIMITS[1]):
            places[place] = name
    if not places:
        return None
    first = places[min(places)]
    fewer = {**options, first: None}
    return {**fewer, LIMITS[1]: options[first]} if first == LIMITS[0] else fewer


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
            queue += [
                (str(key).lower(), item) for key, item in value.items() if key not in _NO_WORDS
            ]
        elif isinstance(value, list):
            queue += [(name, item) for item in value]
        else:
            yield name, value


def _stated_status(leaves: Sequence[tuple[str, Any]]) -> int:
    """Return the HTTP status that an error states in a field or, failing that, in a text; 0 without one."""
    for name, value in leaves:
        if ("code" in name or "status" in name) and (
            number := re.match(r"[45]\d\d(?!\d)", str(value))
        ):
            return int(number[0])
    for _, value in leaves:
        if number := re.search(_NUMBER, str(value)[:_MAX_TEXT].lower()):
            return int(number[1] or number[2])
    return 0
