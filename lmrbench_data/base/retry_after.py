"""Parse the HTTP header `Retry-After`."""

import datetime
import email.utils
import math
import time


def retry_after_s(header: str) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or a date; None if it is malformed or past."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(header)
            # HTTP dates without a zone are in UTC.
            seconds = (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
