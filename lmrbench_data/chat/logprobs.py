"""Log-probabilities of tokens from an OpenAI-compatible server: of a given text where it echoes one, else of its own.

A server offers one of three things, found out by asking: `echo` (completions with `echo` and `logprobs`: any text can
be scored), `chat` (chat completions with `logprobs`: only what the model writes itself), or `text` (no numbers).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .client import ChatClient, Message, RequestFailed

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
    """What a model wrote."""

    text: str
    logprobs: tuple[float, ...] | None
    """Of its tokens; None if the server gives none."""


class Unsupported(Exception):
    """The server does not offer this; the message says what it answered."""


class LogprobClient(ChatClient):
    """A connection to a model of which log-probabilities are wanted; use as an asynchronous context manager."""

    async def way(self) -> str:
        """What the server offers: `echo`, `chat` or `text`.

        Raises:
            InputError, InfraError, RequestFailed: as `complete`.
        """
        await self._knock()
        try:
            await self.score("def add(a, b):\n    return a + b\n")
            return ECHO
        except Unsupported:
            written = await self.write([{"role": "user", "content": "Say: yes"}], 5)
            return TEXT if written.logprobs is None else CHAT

    async def score(self, text: str) -> list[Token]:
        """The tokens of a text, the first one, which has no probability, left out.

        Raises:
            Unsupported: the server does not echo, or gives no log-probabilities.
            InputError, InfraError, RequestFailed: as `complete`.
        """
        # One token more, which is thrown away: not every server takes 0.
        found = await self._completion(prompt=text, max_tokens=1, echo=True, logprobs=1, temperature=0)
        choice = _first(found)
        numbers = getattr(choice, "logprobs", None)
        texts, values = getattr(numbers, "tokens", None), getattr(numbers, "token_logprobs", None)
        if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
            raise Unsupported("no log-probabilities with completions")
        starts = _starts(texts, getattr(numbers, "text_offset", None))
        echoed = getattr(choice, "text", None)
        if not isinstance(echoed, str) or not echoed.startswith(text[: max(1, len(text) // 2)]):
            raise Unsupported("the prompt is not echoed")
        rows = zip(texts, values, starts, strict=True)
        tokens = [Token(str(word), float(value), start) for word, value, start in rows if _is_number(value)]
        return [token for token in tokens if token.start < len(text)]

    async def go_on(self, text: str, max_tokens: int) -> Written:
        """What the model writes after a text, as likely as it can.

        Raises:
            Unsupported: the server has no completions.
            InputError, InfraError, RequestFailed: as `complete`.
        """
        found = await self._completion(prompt=text, max_tokens=max_tokens, logprobs=1, temperature=0)
        choice = _first(found)
        values = getattr(getattr(choice, "logprobs", None), "token_logprobs", None)
        return Written(str(getattr(choice, "text", "") or ""), _numbers(values))

    async def write(self, messages: Sequence[Message], max_tokens: int) -> Written:
        """What the model answers in a chat, as likely as it can.

        Raises:
            InputError, InfraError, RequestFailed: as `complete`.
        """
        import openai

        asked: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages)}
        options: dict[str, Any] = {"max_completion_tokens": max_tokens, "temperature": 0, "logprobs": True}
        while True:
            await self._pace.turn()
            try:
                found = await self._openai.chat.completions.create(**asked, **options)
                break
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                said = f"{error.param} {error.message}".lower()
                if "max_completion_tokens" in options and "max_completion_tokens" in said:
                    options = {("max_tokens" if k == "max_completion_tokens" else k): v for k, v in options.items()}
                    continue
                refused = next((name for name in options if name in said), next(reversed(options), None))
                if refused is None:
                    raise RequestFailed(self._reason(error), reached=True) from error
                del options[refused]
            except openai.APIError as error:
                raise self._told(error) from error
            except (openai.OpenAIError, ValueError, TypeError, LookupError, RecursionError) as error:
                raise RequestFailed(f"not a chat completion ({type(error).__name__})", reached=False) from error
        choice = _first(found)
        content = getattr(getattr(choice, "logprobs", None), "content", None)
        values = [getattr(item, "logprob", None) for item in content] if isinstance(content, list) else None
        return Written(str(getattr(getattr(choice, "message", None), "content", "") or ""), _numbers(values))

    async def _completion(self, **options: Any) -> Any:
        import openai

        await self._pace.turn()
        try:
            return await self._openai.completions.create(model=self.endpoint.model, **options)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise self._told(error) from error
        except openai.APIStatusError as error:
            if error.status_code == 429 or error.status_code >= 500:
                if error.status_code == 501:
                    raise Unsupported(self._reason(error)) from error
                raise self._told(error) from error
            raise Unsupported(self._reason(error)) from error
        except openai.APIError as error:
            raise self._told(error) from error
        except (openai.OpenAIError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise Unsupported(f"not a completion ({type(error).__name__})") from error


def _first(completion: Any) -> Any:
    choices = getattr(completion, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _starts(texts: Sequence[Any], offsets: Any) -> list[int]:
    """Where tokens begin: as the server says, else one behind the other."""
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
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 0
