"""Read the records of verified runs on the main branch: only maintainers write there, so these are believed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...hub import LostAnswer, hub_errors
from ...names import Owned, look_alikes
from ...text import one_line
from .claim import list_files

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def read_records(api: "HfApi", repo_id: str, revision: str) -> dict[str, dict[str, Any]]:
    """Run id → record at a commit of main; what is no record is left out.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    with hub_errors(repo_id):
        # At one commit: for a branch that cannot be asked for, the client gives what it was once, from its cache.
        sha = str(api.dataset_info(repo_id, revision=revision).sha)
        names = [name for name in list_files(api, repo_id, sha) if re.fullmatch(r"verified/[^/]+\.json", name)]
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
            raise LostAnswer(f"{repo_id}: {path.name} was not downloaded; try again") from error
        if isinstance(record, dict) and record.get("run_id") == path.stem:
            found[path.stem] = record
    return found


def name_warnings(models: list[str], submitter: str, records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each model that can be taken for one of another submitter's."""
    others = {
        Owned(str(name), str(record.get("submitted_by", "")))
        for record in records.values()
        if isinstance(record.get("models"), list)
        for name in record["models"]
    }
    own = {Owned(model, submitter) for model in models}
    found = look_alikes(own | others)
    return [
        f"{one_line(model)!r} looks like {one_line(other.name)!r} of {one_line(other.owner)} "
        f"({model!a}, {other.name!a})"
        for model in models
        for other in found.get(Owned(model, submitter), ())
    ]
