"""Fetch the prediction files of a dataset repository on the Hub."""

import contextlib
import logging
from pathlib import Path
from typing import Any

from lmrbench_data.loader import PINNED, hub_timeout

#: Files of predictions in a repository.
ON_HUB = (".jsonl", ".jsonl.gz", ".parquet")
_log = logging.getLogger(__name__)


def hub_folder(name: str, revision: str) -> Path:
    """Return the folder of a repository's prediction files in the client's cache.

    Without the Hub, what never changes may come from there, as in `loader`; offline, whatever was asked for.
    """
    from huggingface_hub import HfApi, constants, errors, snapshot_download

    # A dropped connection raises the HTTP library's own error.
    http_error: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
    options: Any = {
        "repo_type": "dataset",
        "revision": revision or None,
        "allow_patterns": [f"*{end}" for end in ON_HUB],
    }
    try:
        # On its own, a download would wait long for a Hub that does not answer.
        HfApi().dataset_info(name, revision=options["revision"], timeout=hub_timeout())
        return Path(snapshot_download(name, **options))
    except (http_error, OSError):
        if constants.HF_HUB_OFFLINE or PINNED.fullmatch(revision):
            with contextlib.suppress(errors.LocalEntryNotFoundError):
                folder = Path(snapshot_download(name, local_files_only=True, **options))
                _log.warning("predictions '%s': from the cache of the Hub, commit %s", name, folder.name)
                return folder
        raise
