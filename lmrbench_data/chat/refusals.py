"""Why a server refuses a request: each cause is known by the error's codes or by its words."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

#: Names of the token limit, in the order in which they are tried.
LIMITS = NEW_LIMIT, OLD_LIMIT = ("max_completion_tokens", "max_tokens")
_MAX_TEXT = 2000
#: The parameters of a request; None if left out. `system`: whether the server accepts that role.
Options = Mapping[str, Any]


class Cause(Enum):
    """The fault that a server states."""

    CREDIT = "the account has none: the run ends"
    FILTER = "a content filter: the answer counts as refused"
    LENGTH = "the prompt is too long, and is cut"
    LIMIT = "an answer of `max_tokens` would not fit by itself: the run ends"
    ROLE = "the system's text begins the user's message"
    ACCESS = "the model or the key is wrong: the run ends"
    UNKNOWN = "a parameter, which is left out if it is named, or a passing fault"


#: Two lengths are compared, and one of them is that of a prompt; neither a rate nor a time.
_LENGTH = (
    r"^(?!.*(rate.?limit|per (min|second|hour|day)|timed? ?out|\btook\b|concurren|\barray\b))"
    r"(?=.*(input|prompt|message|context|request|sequence|conversation|token))"
    r"(?=.*(exceed|too (long|large|many|big)|(?<!no )longer|larger|greater|(more|less|lower) than|"
    r"fewer|at (most|least)|maximum|overflow|reduce|shorten|beyond|surpass|not fit|<=|>|range|"
    r"supports? up to|limited to|\blimit\b))"
    r"(?=.*(token|context|length|window|\bsize\b|\blong\b))"
)
_NO_MODEL = (
    r"\b(invalid|unknown|unsupported|no such|unrecogni[sz]ed)\b.{0,12}\bmodel|"
    r"\bmodel\b.{0,60}\b(invalid|unknown|unsupported|unavailable|deprecated|decommissioned|retired|"
    r"no longer|(not|never)( been| be)? "
    r"(found|exist|available|supported|loaded|allowed|valid|recogni[sz]ed|served))"
)
#: Signs of each cause in the codes of an error, each with an example; the first match counts.
CODES: Mapping[Cause, Mapping[str, str]] = {
    Cause.CREDIT: {
        r"insufficient_(quota|fund)|current_quota|budget_exceeded": "insufficient_quota",
        r"credit|balance|billing|payment|arrear": "billing_hard_limit_reached",
    },
    Cause.FILTER: {
        r"content.?(filter|policy)|responsibleai|prohibited": "content_filter",
        r"invalid_prompt|inspection|moderat|safety(?!_id)|sensitive": "data_inspection_failed",
    },
    Cause.LENGTH: {
        r"context|too_?(long|large|many_tokens)|string_above": "context_length_exceeded",
        r"token_limit|(?<!array_above_)max_(length|prompt|input)": "token_limit",
        r"(prompt|input)_(length|to)": "prompt_tokens",
    },
    Cause.ACCESS: {
        r"api_?key|authenti|authori[sz]|invalid_auth": "invalid_api_key",
        r"permission|forbidden|no_db_|\bnot_?found": "permission_denied",
        r"model_not|no_such_model|\b(invalid|unknown|unsupported)_model\b": "unknown_model",
    },
}
#: Signs of each cause in the texts of an error, where no code tells.
WORDS: Mapping[Cause, Mapping[str, str]] = {
    Cause.CREDIT: {
        r"\bcredits?\b|\bbalance\b|\bfunds\b|余额": "your credit balance is too low",
        r"billing|payment|arrear|overdue|good standing|欠费": "an invoice is overdue",
        r"recharge|\btop.?up|upgrade your|trial (has )?(ended|expired)": "your trial has ended",
        r"insufficient.{0,12}quota|exceeded your \w* ?quota": "you exceeded your current quota",
        r"spend\w* limit|budget.{0,20}exceed|exceed.{0,20}budget": "budget has been exceeded",
    },
    Cause.FILTER: {
        r"content.?filter|flagged|moderation|inappropriate|敏感": "your input was flagged",
        r"\bsafety\b|harmful|\bunsafe|content.{0,9}risk|不安全": "our safety system",
        r"\b(content|usage|use|our|violat\w+)\b.{0,30}\b(polic|guideline|terms)": "our policy",
        r"(prompt|input|content|response)\b.{0,40}\b(blocked|filtered)": "prompt blocked",
        r"prohibited.{0,9}(content|use)": "prohibited content",
    },
    Cause.LENGTH: {
        _LENGTH: "the prompt exceeds the context window",
        r"(prompt|tokens?|输入|上下文).{0,12}(超长|过长|超过|超出)": "prompt 超长",
    },
    Cause.ROLE: {
        r"system['\"` ]*(role|message|prompt|instruction)": "system role not supported",
        r"\broles?\b.{0,40}\bsystem\b|developer instruct": "unknown role: 'system'",
        r"roles must alternate|'user' or 'assistant'": "input should be 'user' or 'assistant'",
    },
    Cause.ACCESS: {
        r"api.?key|secret key|credential|authori[sz]ation|令牌|密钥": "api key not valid",
        r"authenti|unauthori|^not found|method not allowed": "not authenticated",
        r"(invalid|incorrect|wrong|virtual)\b.{0,12}\b(key|token)\b": "invalid token",
        r"\btoken\b.{0,20}\b(invalid|expired|no longer)": "the token has expired",
        r"connected db|pinned to|\bno models? |\bvalid model": "no models loaded",
        r"llm provider|模型.{0,6}不存在": "llm provider not provided",
        _NO_MODEL: "the model does not exist",
    },
}
#: The causes that an error with this status can have; other statuses say all.
_CAUSES: Mapping[int, tuple[Cause, ...]] = {
    400: tuple(Cause),
    403: (Cause.CREDIT, Cause.FILTER),
    422: tuple(Cause),
    429: (Cause.CREDIT,),
    500: (Cause.LENGTH, Cause.LIMIT, Cause.ROLE),
}
#: Words of refusals in which the reply's tokens count.
_REPLY = (
    r"max_?(completion_?|output_?|new_?)?tokens|maximum tokens|"
    r"(completion|output|generated) tokens|context"
)
#: Other words by which servers name a parameter.
_ALIASES = {"response_format": r"|json_schema|structured.?output|guided|grammar|json.?mode"}
#: Fields that repeat the request or belong to a completion.
_NO_WORDS = "input choices usage id object model created".split()
#: An HTTP status in a text.
_STATUS = r"^\W*([45]\d\d)\b(?! tokens)|\b(?:http|status|error)(?: code)?\W{1,3}([45]\d\d)\b"
#: Words of a fault that passes, and of a request that is wrong.
_PASSING = (
    r"rate.?limit|too.?many.?requests|overload|temporar|\bbusy\b|at capacity|"
    r"currently (loading|unavailable)"
)
_WRONG = (
    r"\bparam|invalid.?(request|value|argument)|validation|unsupported|unrecogni[sz]ed|"
    r"not (supported|permitted)"
)


class Refusal(NamedTuple):
    """The error of a server: its message, and in lower case its codes (single words) and texts."""

    message: str
    codes: str
    text: str
    status: int = 0
    """The HTTP status that the body states; 0 if it states none."""

    @classmethod
    def of(cls, body: Any) -> "Refusal":
        """Read the body of an error: any JSON value or text."""
        error = get(body, "error") or get(body, "choices", 0, "error")
        if not isinstance(error, dict | list):
            error = body
        leaves = list(_leaves(error))
        texts = [value[:_MAX_TEXT] for _, value in leaves if isinstance(value, str)]
        codes = [text for text in texts if re.fullmatch(r"[\w.-]+", text)]
        text = " ".join(texts)[:_MAX_TEXT]
        text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
        message = str(get(error, "message") or text)[:_MAX_TEXT]
        status = _stated_status([*_leaves(body), *leaves])
        return cls(message, " ".join(codes)[:_MAX_TEXT].lower(), text.lower(), status)

    def cause(self, limit: int | None = None) -> Cause:
        """Return the cause, for a request with this token limit."""
        cause = _first_sign(CODES, self.codes) or _first_sign(WORDS, self.text)
        if cause is Cause.LENGTH and self._exceeds(limit):
            return Cause.LIMIT
        return cause or Cause.UNKNOWN

    def first_named(self, names: Iterable[str]) -> str:
        """Return the parameter that the error names first, in its codes or texts; empty if none."""
        text = f"{self.codes} {self.text}"
        places = {}
        for name in names:
            match = re.search(rf"(?<![\w.]){name}(?!\w){_ALIASES.get(name, '')}", text)
            if match:
                places[match.start()] = name
        return places[min(places)] if places else ""

    def _exceeds(self, limit: int | None) -> bool:
        """Return whether a limit is too large by itself, not only with this prompt."""
        numbers = {int(number) for number in re.findall(r"\d+", self.text)}
        if limit is None or not (limit in numbers or re.search(_REPLY, self.text)):
            return False
        if not re.search("context|prompt|input|messages", self.text):
            return True
        stated = re.search(r"(?:context|maximum)\D{0,40}(\d+)", self.text)
        if stated:
            return limit >= int(stated[1])
        return limit >= max(numbers - {limit}, default=limit + 1)


def _first_sign(signs: Mapping[Cause, Iterable[str]], text: str) -> Cause | None:
    for cause, patterns in signs.items():
        if any(re.search(pattern, text, re.DOTALL) for pattern in patterns):
            return cause
    return None


def cause_of(status: int, refusal: Refusal, limit: int | None) -> Cause | None:
    """Return the cause of a refusal, for this token limit; None if the status says all."""
    if status == 402:
        return Cause.CREDIT
    if status == 413:
        return Cause.LENGTH
    if status == 429:  # words about a quota are also those of a passing limit
        refusal = refusal._replace(text="")
    cause = refusal.cause(limit)
    return cause if cause in _CAUSES.get(status, ()) else None


def status_inside(refusal: Refusal) -> int:
    """Return the status of a refusal that came as a success: stated, or implied by its words."""
    if refusal.status not in (0, 500):  # many gateways state 500 for everything
        return refusal.status
    if re.search(_PASSING, refusal.text):
        return 429
    if refusal.cause() is not Cause.UNKNOWN or re.search(_WRONG, refusal.text):
        return 400
    return refusal.status or 502


def without_refused(options: Options, refusal: Refusal, cause: Cause | None) -> Options | None:
    """Return options without the first one that a refusal names; None if none can go.

    The token limit gets its other name first.
    """
    if cause is Cause.ROLE and options["system"]:
        return {**options, "system": False}
    if cause not in (Cause.ACCESS, Cause.UNKNOWN):
        return None
    sent = [name for name, value in options.items() if value is not None]
    name = refusal.first_named(name for name in sent if name not in ("system", OLD_LIMIT))
    if not name:
        return None
    if name == NEW_LIMIT:
        return {**options, NEW_LIMIT: None, OLD_LIMIT: options[NEW_LIMIT]}
    return {**options, name: None}


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
    queue = deque([("", body)])
    while queue:
        name, value = queue.popleft()
        if isinstance(value, dict):
            for key, item in value.items():
                if key not in _NO_WORDS:
                    queue.append((str(key).lower(), item))
        elif isinstance(value, list):
            queue.extend((name, item) for item in value)
        else:
            yield name, value


def _stated_status(leaves: Sequence[tuple[str, Any]]) -> int:
    """Return the HTTP status that an error states in a field or in a text; else 0."""
    for name, value in leaves:
        match = re.match(r"[45]\d\d(?!\d)", str(value))
        if match and ("code" in name or "status" in name):
            return int(match[0])
    for _, value in leaves:
        match = re.search(_STATUS, str(value)[:_MAX_TEXT].lower())
        if match:
            return int(match[1] or match[2])
    return 0
