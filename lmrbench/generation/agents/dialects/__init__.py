"""The ways of asking a model that are relayed, and what an agent may ask in each."""

from .chat import CHAT
from .dialect import MAX_REQUEST_BYTES, Dialect, NotAllowedError, Request
from .messages import MESSAGES
from .responses import RESPONSES

#: By the path of their requests.
DIALECTS = {dialect.form.path: dialect for dialect in (CHAT, RESPONSES, MESSAGES)}

__all__ = ["CHAT", "DIALECTS", "MAX_REQUEST_BYTES", "Dialect", "NotAllowedError", "Request"]
