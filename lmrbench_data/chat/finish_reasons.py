"""Classify the reasons that servers give for the end of a reply."""

from enum import Enum, auto
from typing import Any


class Ending(Enum):
    """How a reply ended."""

    COMPLETE = auto()
    """The model ended it, or no reason is known."""
    GAVE_UP = auto()
    """The server failed; the same request may succeed."""
    CUT = auto()
    """Anything else: a limit, a filter, a loop that was stopped, or an unknown reason."""


#: Inspect and OpenRouter write `unknown` if a server states no reason.
_COMPLETE = """
stop stopped end_turn stop_sequence complete completed normal eos eos_token endoftext
tool_calls tool_call tool_use function_call unknown none null
""".split()
_GAVE_UP = """
error network_error failed timeout insufficient_system_resource
abort aborted cancel canceled cancelled
""".split()
#: Names of the token limit.
_LIMIT = "length max_tokens max_output_tokens max_completion_tokens model_length".split()


def ending(reason: Any) -> Ending:
    """Return how a reply with this reason, in any case, ended."""
    name = reason.strip().lower() if isinstance(reason, str) else ""
    if not name or name in _COMPLETE:
        return Ending.COMPLETE
    return Ending.GAVE_UP if name in _GAVE_UP else Ending.CUT


def is_token_limit(reason: Any) -> bool:
    """Return whether a reason means that the reply reached the limit on its tokens."""
    return isinstance(reason, str) and reason.strip().lower() in _LIMIT
