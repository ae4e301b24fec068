"""Hide every secret of the environment in a text: error messages of libraries may quote keys and addresses."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SECRET_NAMES = re.compile(r"KEY|TOKEN(?!IZER)|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)", re.IGNORECASE)
#: A shorter value is a placeholder such as `x` or `no`, which would blot out ordinary words.
_LEAST = 4


def redact(text: str) -> str:
    """Replace keys, tokens and passwords by stars."""
    for secret in sorted(set(_secrets()), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secrets() -> Iterator[str]:
    """Yield the values of variables with telling names, passwords in addresses, and the Hub's stored token."""
    for name, value in os.environ.items():
        if _SECRET_NAMES.search(name):
            yield from _forms(value)
        if "://" in value and "@" in value:
            yield from _forms(_password(value))
    yield from _forms(_stored_token())


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it stands and as it is printed: stripped, unquoted, in one line, as Python's literal."""
    forms = (secret, secret.strip(), unquote(secret), " ".join(secret.split()), repr(secret)[1:-1])
    yield from (form for form in forms if len(form) >= _LEAST)


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:  # not an address
        return url.rpartition("@")[0]


def _stored_token() -> str:
    """Return the token that `hf auth login` stored."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        home = os.environ.get("HF_HOME") or Path(cache, "huggingface")
        return Path(os.environ.get("HF_TOKEN_PATH") or Path(home, "token")).expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError):  # RuntimeError: this user has no home directory
        return ""
