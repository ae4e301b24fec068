"""Fetch the prediction files of a dataset repository on the Hub."""

from pathlib import Path

from lmrbench_data.loader import PINNED, hub_timeout

#: Files of predictions in a repository.
ON_HUB = (".jsonl", ".jsonl.gz", ".parquet")


def hub_folder(name: str, revision: str) -> Path:
    """Return the folder of a repository's prediction files in the client's cache.

    Without the Hub, what never changes may come from there, as in `loader`; offline, whatever was asked for.
    """
    from huggingface_hub import HfApi, constants, errors, snapshot_download

    if not (constants.HF_HUB_OFFLINE or PINNED.fullmatch(revision)):
        # A download on its own would wait long for a Hub that does not answer, and then take an old commit.
        HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
    patterns = [f"*{end}" for end in ON_HUB]
    try:
        return Path(snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=patterns))
    except errors.LocalEntryNotFoundError as error:  # not in the cache, either
        raise error.__cause__ or error from None
