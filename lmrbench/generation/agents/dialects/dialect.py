"""The requests of an agent that are relayed: their parameters cost and reach nothing else.

Each dialect, a way of asking a model, has one table of what may be asked in it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.chat.answer_forms import AnswerForm

#: Bytes of a request: a full context window of text.
MAX_REQUEST_BYTES = 4 * 2**20
#: Objects and lists in a request: parsed, each takes up to a hundred times its bytes.
_MAX_CONTAINERS = 100_000
#: The question of each dialect's probe.
PROBE = {"role": "user", "content": "Say OK."}

Request = dict[str, Any]


class NotAllowedError(LMRBenchError):
    """A request that is not relayed; the message says why."""


@dataclass(frozen=True)
class Dialect:
    """One way of asking a model, and what an agent may ask in it."""

    form: AnswerForm
    """The form of its answers."""
    relayed: frozenset[str]
    """Parameters that are passed on. Any other could buy another model, a dearer tier, a search of
    the web, or several answers."""
    left_out: frozenset[str]
    """Parameters that change no answer, and are not passed on."""
    limits: Sequence[str]
    """Names of the token limit, in the order in which they are tried."""
    probe: Mapping[str, Any]
    """The smallest request, without the model."""
    check: Callable[[Request], Request]
    """Returns what to send for a request of relayed parameters, or raises NotAllowedError."""
    too_long: str = "This model's maximum context length is exceeded."
    """The words that make its clients shorten their history."""
    waits: bool = True
    """Whether the relay waits for a busy server, because its clients give up too early."""
    headers: Callable[[str], dict[str, str]] = lambda betas: {}
    """Returns the headers for the additions (`anthropic-beta`) that a request names."""
    fit: Callable[[Request, int], Request] = lambda request, limit: request
    """Makes other parameters fit a lower token limit."""

    def read(self, body: bytes, model: str) -> Request:
        """Return the request to send for a body of the agent; NotAllowedError if none may be."""
        request = _parse(body)
        if request.get("model") != model:
            raise NotAllowedError(ONE_ANSWER.format(model))
        sent = {name: value for name, value in request.items() if value is not None}
        for name in self.left_out:
            sent.pop(name, None)
        unknown = sent.keys() - self.relayed
        if unknown:
            raise NotAllowedError(f"{min(unknown)[:60]!r} is not relayed; leave it out")
        if any(type(sent.get(name, 1)) is not int for name in self.limits):
            raise NotAllowedError("the token limit must be a number")
        return self.check(sent)


ONE_ANSWER = "only one answer per request, of the model {!r}, is relayed"
FORM = "the body must be a JSON object with model and messages, valid Unicode and no NaN"


def _parse(body: bytes) -> Request:
    if len(body) > MAX_REQUEST_BYTES or body.count(b"{") + body.count(b"[") > _MAX_CONTAINERS:
        most = f"{MAX_REQUEST_BYTES >> 20} MiB and {_MAX_CONTAINERS:,} lists and objects"
        raise NotAllowedError(f"a request may have at most {most}")
    try:
        request = json.loads(body)
        # Half a surrogate pair, NaN and Infinity cannot be sent.
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise NotAllowedError(FORM) from None
    if not isinstance(request, dict):
        raise NotAllowedError(FORM)
    return request


# --- checks that dialects share -----------------------------------------------------------------

#: Kinds of content that a text replaces: if refused, they would stay in a session's history.
_REPLACED = ("image", "document", "input_image", "input_file")


def kind_of(value: Any, kinds: Sequence[str | None], what: str) -> str | None:
    """Return the type of an object; NotAllowedError unless it is one of these."""
    kind: str | None = value.get("type") if isinstance(value, dict) else value
    if isinstance(value, dict) and kind in kinds:
        return kind
    raise NotAllowedError(f"{what} of the kind {str(kind)[:60]!r} is not relayed")


def objects(value: Any) -> list[Any]:
    """Return the items of a list; none for a text or nothing. NotAllowedError for anything else."""
    if value is None or isinstance(value, str):
        return []
    if not isinstance(value, list):
        raise NotAllowedError(FORM)
    return value


def text_parts(content: Any, kinds: Sequence[str], text_kind: str) -> Any:
    """Return content with a text of this kind in place of each image or file.

    Raises:
        NotAllowedError: a part is neither text nor replaced.
    """
    if not isinstance(content, list):
        objects(content)
        return content
    parts = []
    for part in content:
        kind = kind_of(part, (*kinds, *_REPLACED), "content")
        if kind in _REPLACED:
            part = {"type": text_kind, "text": f"[{kind}: only text reaches the model]"}
        parts.append(part)
    return parts
