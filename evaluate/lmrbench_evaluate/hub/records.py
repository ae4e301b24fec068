"""Read the records of verified runs on the main branch, which are trusted: only maintainers write there."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.hub_session import LostAnswerError, hub_errors
from lmrbench_data.base.names import PLAIN

from .layout import list_files

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def read_records(api: "HfApi", repo_id: str, revision: str) -> dict[str, dict[str, Any]]:
    """Return run id → record at a commit of main; other files are left out.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    with hub_errors(repo_id):
        # At one commit: for a branch that it cannot reach, the client returns an old state from its cache.
        sha = str(api.dataset_info(repo_id, revision=revision).sha)
        plain = re.compile(rf"verified/{PLAIN.pattern}\.json")
        names = [name for name in list_files(api, repo_id, sha) if plain.fullmatch(name)]
        if not names:
            return {}
        folder = api.snapshot_download(repo_id, repo_type="dataset", revision=sha, allow_patterns=names)
    found = {}
    for path in (Path(folder, name) for name in sorted(names)):
        try:
            record = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        except FileNotFoundError as error:
            raise LostAnswerError(f"{repo_id}: {path.name} was not downloaded; try again") from error
        if isinstance(record, dict) and record.get("run_id") == path.stem:
            found[path.stem] = record
    return found
