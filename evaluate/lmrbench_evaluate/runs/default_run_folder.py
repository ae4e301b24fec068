"""The default run folder: equal for equal predictions and instances, so that a repeated command resumes."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from lmrbench_data.loader import FUNCTION

from ..predictions.sources import WORDS, Source
from ..predictions.standard_input import Piped

#: The folder of runs without a name.
RUNS = "runs"


def default_run_folder(predictions: Source, config: str, instances: Sequence[str], categories: Sequence[str]) -> Path:
    """Return the run folder for these predictions, this configuration and this selection of instances."""
    name = _folder_name(predictions) + (f"-{config}" if config != FUNCTION else "")
    if instances or categories:
        chosen = json.dumps([sorted(set(instances)), sorted(set(categories))]).encode()
        name += f"-{hashlib.sha256(chosen).hexdigest()[:8]}"
    return Path(RUNS) / name


def _folder_name(predictions: Source) -> str:
    if isinstance(predictions, Piped):
        return f"stdin-{predictions.sha256[:12]}"
    if isinstance(predictions, str | Path):
        source = Path(predictions)
        if str(source) in WORDS:
            return str(source)
        # Files of one name in different places have different folders.
        place = str(source.resolve()) if source.exists() else str(predictions)
        name = re.sub(r"[^\w.-]", "-", re.sub(r"(\.(jsonl|json|parquet))?(\.gz)?$", "", source.name))
        return f"{name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"
    content = json.dumps(predictions, sort_keys=True, default=str).encode()
    return f"memory-{hashlib.sha256(content).hexdigest()[:12]}"
