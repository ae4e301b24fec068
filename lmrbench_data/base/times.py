"""The time, as all files write it."""

import datetime


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
