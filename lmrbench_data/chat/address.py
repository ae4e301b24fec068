"""The address and the key of a model server, and the address as files record it: in one spelling, without secrets."""

import os
from urllib.parse import urlsplit

from ..base.errors import ArgumentError, InputError

OPENAI = "https://api.openai.com/v1"


def address_and_key(base_url: str | None) -> tuple[str | None, str]:
    """Return the address and the key, from the option and from OpenAI's environment variables.

    Raises:
        InputError: OpenAI's own servers need a key, the key cannot be sent, or the address is malformed.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if url:
        server_name(url)
    if not url and not key:
        raise InputError("no OPENAI_API_KEY: set it, or name another server (a local one needs no key)")
    if not (key.isascii() and key.isprintable()):
        raise InputError("OPENAI_API_KEY contains an invalid character; set it again")
    return url, key


def server_name(base_url: str | None) -> str:
    """Return the address of a server in one spelling, without password, key or other parameters.

    Raises:
        InputError: the address is malformed.
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
    """Return whether an address is on this machine and without TLS, as is usual for vLLM, Ollama and llama.cpp."""
    parts = urlsplit(base_url or OPENAI)
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
