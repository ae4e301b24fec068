"""Ask a model for an answer in a form, such as a judgement; one that cannot be read is asked for again, saying why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ...chat.client import CUT, NO_COMPLETION, ChatClient, Endpoint, Message, RequestFailed
from .parse import Unreadable, parse_reply
from .prompt import SCHEMA, repair_message

if TYPE_CHECKING:
    from types import TracebackType

#: How often a model is asked until its answer can be read.
ATTEMPTS = 3
#: Of all votes, so that how far they agree means something: at 0 they would repeat the first.
TEMPERATURE = 0.7
#: Of an answer that could not be read, what is shown to its author.
_MAX_ECHO = 8000


#: What an answer is read as.
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Form(Generic[_Read]):
    """What an answer has to look like."""

    name: str
    schema: Mapping[str, Any]
    parse: Callable[[str], _Read]
    """Raises Unreadable."""
    repair: Callable[[str], Message]
    """What is said to a model whose answer could not be read, from the reason."""


JUDGEMENT = Form("judgement", SCHEMA, parse_reply, repair_message)


@dataclass(frozen=True)
class Reply(Generic[_Read]):
    """What came of asking: an opinion, or the reason why there is none."""

    opinion: _Read | None
    error: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Of questions and of answers, all attempts together."""
    reached: bool = True
    """False if the server gave no answer at all, so that others will hardly fare better."""
    counted: bool = True
    """False if the server did not say how many tokens an answer took."""
    temperature: float | None = None
    """None if the server's own was used."""
    too_long: bool = False
    """The server says that it cannot take so long a question."""


class JudgeClient(Generic[_Read]):
    """A connection to a model that answers in a form; use as an asynchronous context manager.

    Raises:
        InputError: no key, or a malformed address, said before anything is sent.
    """

    def __init__(self, endpoint: Endpoint, form: Form[_Read], temperature: float = TEMPERATURE) -> None:
        self._form = form
        self._chat = ChatClient(endpoint, temperature=temperature, schema=form.schema, schema_name=form.name)
        self.server = self._chat.server

    async def __aenter__(self) -> Self:
        await self._chat.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        await self._chat.__aexit__(kind, error, trace)

    @property
    def refused(self) -> str:
        """What the server turned out to refuse, for the user; empty if nothing."""
        return self._chat.refused

    async def ask(self, messages: Sequence[Message]) -> Reply[_Read]:
        """The opinion of the model; of several independent answers, each is asked for in the same way.

        Raises:
            InputError: the server knows neither key nor model nor address: no further question makes sense.
            InfraError: nothing answers at the address, or the account has no credit left.
        """
        asked = list(messages)
        reply: Reply[_Read] = Reply(None, reached=False)
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                completion = await self._chat.complete(asked)
            except RequestFailed as error:
                return replace(reply, error=str(error), reached=error.reached, too_long=error.too_long)
            text, problem, used = completion.text, completion.problem, completion.tokens or (0, 0)
            reply = replace(
                reply,
                tokens=(reply.tokens[0] + used[0], reply.tokens[1] + used[1]),
                counted=reply.counted and (completion.tokens is not None or problem == NO_COMPLETION),
                reached=reply.reached or problem != NO_COMPLETION,
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
        return replace(reply, error=f"no readable answer in {ATTEMPTS} attempts: {reason}")
