"""Write files so that a reader finds the old content or the new, never a part of either."""

import os
import uuid
from pathlib import Path


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file (text as UTF-8) and put it in place whole; missing folders are made.

    Raises:
        OSError: it cannot be written; whatever was at `path` is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(temporary, path)
    except OSError as error:  # about the file that the caller knows
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
