"""Ask a model for an answer in a form, such as a judgement; if it cannot be read, say why and ask again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from lmrbench_data.chat.budget import CostLimit
from lmrbench_data.chat.client import CUT, ChatClient, Message, RequestFailed
from lmrbench_data.chat.endpoint import Endpoint

from .parse import Unreadable, parse_reply
from .question import SCHEMA, repair_message

#: Maximum number of attempts to get a readable answer from a model.
ATTEMPTS = 3
#: The temperature of all votes, so that their agreement means something: at 0 they would repeat the first.
TEMPERATURE = 0.7
#: Characters of an unreadable answer that are shown to its author again.
_MAX_ECHO = 8000


#: The type of an answer that was read.
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Form(Generic[_Read]):
    """The form that an answer must have."""

    name: str
    schema: Mapping[str, Any]
    parse: Callable[[str], _Read]
    """Raises Unreadable."""
    repair: Callable[[str], Message]
    """Returns the message for a model whose answer could not be read, given the reason."""


JUDGEMENT = Form("judgement", SCHEMA, parse_reply, repair_message)


@dataclass(frozen=True)
class Reply(Generic[_Read]):
    """The outcome of asking: an opinion, or the reason why there is none."""

    opinion: _Read | None
    error: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Tokens of questions and of answers, all attempts together."""
    hopeless: bool = False
    """True if other questions will probably fail as well: the server does not answer, or its replies are unreadable."""
    counted: bool = True
    """False if the server did not report the tokens of an answer."""
    temperature: float | None = None
    """None if the server's own was used."""
    too_long: bool = False
    """True if the server finds the question too long."""


class JudgeClient(ChatClient, Generic[_Read]):
    """A connection to a model that answers in a form; use as an asynchronous context manager.

    Raises:
        InputError: no key, or a malformed address; raised before anything is sent.
    """

    def __init__(self, endpoint: Endpoint, form: Form[_Read], temperature: float = TEMPERATURE) -> None:
        super().__init__(endpoint, temperature=temperature, schema=form.schema, schema_name=form.name)
        self._form = form

    async def ask(self, messages: Sequence[Message]) -> Reply[_Read]:
        """Ask for the opinion of the model.

        Raises:
            CostLimit: the budget does not allow even a first attempt.
            InputError: the server does not know the key, the model or the address: no further question makes sense.
            InfraError: nothing answers at the address, or the account has no credit left.
        """
        asked = list(messages)
        reply: Reply[_Read] = Reply(None)
        reason = ""
        for attempt in range(ATTEMPTS):
            try:
                completion = await self.complete(asked)
            except CostLimit as limit:
                if not attempt:
                    raise
                return replace(reply, error=f"{reason}; {limit}")
            except RequestFailed as error:
                return replace(reply, error=str(error), hopeless=not error.reached, too_long=error.too_long)
            text, problem, used = completion.text, completion.problem, completion.tokens or (0, 0)
            reply = replace(
                reply,
                tokens=(reply.tokens[0] + used[0], reply.tokens[1] + used[1]),
                counted=reply.counted and completion.tokens is not None,
                temperature=completion.temperature,
            )
            if not problem:
                try:
                    return replace(reply, opinion=self._form.parse(text))
                except Unreadable as error:
                    problem = CUT if completion.was_cut else str(error)
            reason = problem
            echo = {"role": "assistant", "content": text[:_MAX_ECHO]}
            asked = [*messages, echo, self._form.repair(problem)] if text.strip() else list(messages)
        return replace(reply, error=f"no readable answer in {ATTEMPTS} attempts: {reason}", hopeless=True)
