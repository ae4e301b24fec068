"""Log-probabilities of tokens from an OpenAI-compatible server: of a given text where it echoes one, else of its own.

A server offers one of three things, found out by asking: `echo` (completions with `echo` and `logprobs`: any text can
be scored), `chat` (chat completions with `logprobs`: only what the model writes itself), or `text` (no numbers).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .budget import MAX_AMOUNT, Tokens, read_usage
from .client import ChatClient, Message, Refused, RequestFailed
from .completion import get

ECHO, CHAT, TEXT = "echo", "chat", "text"


class Token(NamedTuple):
    """A token of a text."""

    text: str
    logprob: float
    """Natural logarithm of its probability after all tokens before it."""
    start: int
    """The character of the text at which it begins."""


@dataclass(frozen=True)
class Written:
    """A text that a model wrote."""

    text: str
    logprobs: tuple[float, ...] | None
    """Those of its tokens; None if the server gives none."""
    usage: Tokens | None = None
    """Tokens used; None if the server does not report them."""


class Scored(NamedTuple):
    """The log-probabilities of a text under a model."""

    tokens: list[Token]
    """All tokens of the text but the first, which has no probability."""
    usage: Tokens | None
    """Tokens used; None if the server does not report them."""


class Unsupported(Exception):
    """The server does not offer this; the message gives its answer."""


class LogprobClient(ChatClient):
    """A connection to a model that gives log-probabilities; use as an asynchronous context manager."""

    async def way(self) -> str:
        """Find out what the server offers: `echo`, `chat` or `text`.

        Raises:
            InputError, InfraError, RequestFailed, CostLimit: as `complete`.
        """
        await self._knock()
        try:
            await self.score("def add(a, b):\n    return a + b\n")
            return ECHO
        except Unsupported:
            written = await self.write([{"role": "user", "content": "Say: yes"}], 5)
            return TEXT if written.logprobs is None else CHAT

    async def score(self, text: str) -> Scored:
        """Have a text scored.

        Raises:
            Unsupported: the server does not echo, or gives no log-probabilities.
            InputError, InfraError, RequestFailed, CostLimit: as `complete`.
        """
        # One token more, which is thrown away: not every server takes 0.
        found = await self._completion(prompt=text, max_tokens=1, echo=True, logprobs=1, temperature=0)
        choice = _first(found)
        numbers = get(choice, "logprobs")
        texts, values = get(numbers, "tokens"), get(numbers, "token_logprobs")
        if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
            raise Unsupported("no log-probabilities with completions")
        starts = _starts(texts, get(numbers, "text_offset"))
        echoed = get(choice, "text")
        if not isinstance(echoed, str) or not echoed.startswith(text[: max(1, len(text) // 2)]):
            raise Unsupported("the prompt is not echoed")
        rows = zip(texts, values, starts, strict=True)
        tokens = [Token(str(word), float(value), start) for word, value, start in rows if _is_number(value)]
        return Scored([token for token in tokens if token.start < len(text)], read_usage(get(found, "usage")))

    async def go_on(self, text: str, max_tokens: int) -> Written:
        """Have the model continue a text at temperature 0.

        Raises:
            Unsupported: the server has no completions.
            InputError, InfraError, RequestFailed, CostLimit: as `complete`.
        """
        found = await self._completion(prompt=text, max_tokens=max_tokens, logprobs=1, temperature=0)
        choice = _first(found)
        values = get(get(choice, "logprobs"), "token_logprobs")
        return Written(str(get(choice, "text") or ""), _numbers(values), read_usage(get(found, "usage")))

    async def write(self, messages: Sequence[Message], max_tokens: int) -> Written:
        """Have the model answer in a chat at temperature 0.

        Raises:
            InputError, InfraError, RequestFailed, CostLimit: as `complete`.
        """
        asked: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages)}
        options: dict[str, Any] = {"max_completion_tokens": max_tokens, "temperature": 0, "logprobs": True}
        while True:
            await self._pace.turn()
            try:
                found = await self._post("/chat/completions", asked | options)
                break
            except Refused as error:
                if error.status not in (400, 422):
                    raise self._told(error) from error
                said = error.complaint
                if "max_completion_tokens" in options and "max_completion_tokens" in said:
                    options = {("max_tokens" if k == "max_completion_tokens" else k): v for k, v in options.items()}
                    continue
                refused = next((name for name in options if name in said), next(reversed(options), None))
                if refused is None:
                    raise RequestFailed(error.message, reached=True) from error
                del options[refused]
        choice = _first(found)
        content = get(get(choice, "logprobs"), "content")
        values = [get(item, "logprob") for item in content] if isinstance(content, list) else None
        text = str(get(get(choice, "message"), "content") or "")
        return Written(text, _numbers(values), read_usage(get(found, "usage")))

    async def _completion(self, **options: Any) -> Any:
        await self._pace.turn()
        try:
            found = await self._post("/completions", {"model": self.endpoint.model, **options})
        except Refused as error:
            if error.status in (401, 403, 429) or (error.status >= 500 and error.status != 501):
                raise self._told(error) from error
            raise Unsupported(error.message) from error
        if found is None:
            raise Unsupported("not a completion")
        return found


def _first(completion: Any) -> Any:
    choices = get(completion, "choices")
    return choices[0] if isinstance(choices, list) and choices else None


def _starts(texts: Sequence[Any], offsets: Any) -> list[int]:
    """Return the offsets of tokens: the server's, else computed from their lengths."""
    if isinstance(offsets, list) and len(offsets) == len(texts) and all(type(item) is int for item in offsets):
        return [item - offsets[0] for item in offsets]
    starts, place = [], 0
    for text in texts:
        starts.append(place)
        place += len(str(text))
    return starts


def _numbers(values: Any) -> tuple[float, ...] | None:
    if not isinstance(values, list):
        return None
    found = tuple(float(value) for value in values if _is_number(value))
    return found or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -MAX_AMOUNT < value <= 0
