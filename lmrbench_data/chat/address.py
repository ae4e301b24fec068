"""Where a model is asked and with which key, and the name that an address has in files: one spelling, no secrets."""

import os
from urllib.parse import urlsplit

from ..base.errors import ArgumentError, InputError

OPENAI = "https://api.openai.com/v1"


def address_and_key(base_url: str | None) -> tuple[str | None, str]:
    """Where to ask and with which key, from the option and the variables that `openai`'s users know.

    Raises:
        InputError: no key for OpenAI's own servers, or one that cannot be sent, or a malformed address.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if url:
        server_name(url)
    if not url and not key:
        raise InputError("no OPENAI_API_KEY: set it, or name another server (a local one needs no key)")
    if not (key.isascii() and key.isprintable()):
        raise InputError("OPENAI_API_KEY holds a character that no key has; set it again")
    return url, key


def server_name(base_url: str | None) -> str:
    """The address of a server in one spelling, and never with a password, a key or other parameters in it.

    Raises:
        InputError: a malformed address.
    """
    try:
        parts = urlsplit(base_url or OPENAI)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in ("http", "https") or not host:
        shown = (base_url or "").rpartition("@")[2]
        raise ArgumentError("base_url", f"{shown!r} is not an address; give one such as http://localhost:8000/v1")
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}{f':{port}' if port not in (None, default) else ''}{parts.path.rstrip('/')}"


def is_plain_and_local(base_url: str | None) -> bool:
    """Whether an address is on this machine and without TLS, as is usual for vLLM, Ollama and llama.cpp."""
    parts = urlsplit(base_url or OPENAI)
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
