"""Turn a run into a submission: one Parquet file of rows, with predictions, judgements and logs beside it.

A run that `verify` would refuse is refused before it is sent.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError

from ...judge.judgement_log import FILE as JUDGEMENTS
from ...judge.judgement_log import read_judgements
from ...judge.question_log import answer_id
from ...runs.folder import FACTS, LOGS, PREDICTIONS, RunFolder
from ...runs.provenance import unofficial_reason
from ...verdict.verdict import Status
from ..layout import ALLOWED, MIB, PUBLISHED_FACTS, packed_logs, parquet_bytes
from ..submitted_rows import submission_schema, table_faults


@dataclass(frozen=True)
class Submission:
    """A run that may be submitted.

    Attributes:
        files: path in the results dataset → content.
    """

    run_id: str
    facts: dict[str, Any]
    models: list[str]
    rows: list[dict[str, Any]]
    files: dict[str, bytes]

    @property
    def sha256(self) -> str:
        """Hash of all files."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()


def make_submission(run: Path, instances: Sequence[str], submitted_by: str) -> Submission:
    """Make the files of a run for the results dataset.

    Args:
        instances: every instance of the dataset that the run was evaluated on.

    Raises:
        InputError: the run cannot be published; the message gives every reason.
    """
    folder = RunFolder(run)
    facts, rows = folder.facts, list(folder.rows())
    if faults := [*_faults(run, facts, rows, instances), *table_faults(rows)]:
        raise InputError(f"{run}: cannot be submitted: {'; '.join(faults)}")
    run_id = re.sub(r"[^A-Za-z0-9._-]", "-", facts["run_id"]).lstrip(".-")[-100:]
    judgements = read_judgements(run)
    shared = {
        "run_id": run_id,
        **{name: facts[name] for name in ("sandbox", "dataset", "dataset_sha256", "benchmark_version")},
        "config": folder.config,
        "harness_version": facts["harness_version"],
        "submitted_by": submitted_by,
        "scope_size": len(facts["scope"]),
    }
    published = []
    for row in rows:
        judgement = judgements.get(answer_id(row))
        judged = judgement if judgement is not None and judgement.category else None
        published.append(
            {
                **{name: row.get(name) for name in submission_schema().names},
                **shared,
                "judge_category": str(judged.category) if judged else None,
                "judge_model": judged.model if judged else None,
                "judge_rationale": list(judged.rationale) if judged else None,
            }
        )
    place = f"runs/{run_id}"
    shown = {**{name: facts[name] for name in PUBLISHED_FACTS if name in facts}, "run_id": run_id}
    files = {
        f"data/{run_id}.parquet": parquet_bytes(published, submission_schema()),
        f"{place}/{FACTS}": (json.dumps(shown, indent=2) + "\n").encode(),
        f"{place}/{PREDICTIONS}": (run / PREDICTIONS).read_bytes(),
    }
    if (run / JUDGEMENTS).is_file():
        files[f"{place}/{JUDGEMENTS}"] = (run / JUDGEMENTS).read_bytes()
    if logs := packed_logs(run / LOGS):
        files[f"{place}/logs.tar.gz"] = logs
    limits = {name.format(run_id=run_id): limit for name, limit in ALLOWED.items()}
    if large := [name for name, content in files.items() if len(content) > limits[name]]:
        raise InputError(f"{run}: cannot be submitted: {large[0]} is larger than {limits[large[0]] // MIB} MiB")
    models = sorted({str(row["model_name_or_path"]) for row in rows})
    return Submission(run_id, facts, models, published, files)


def _faults(
    run: Path, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], instances: Sequence[str]
) -> Iterator[str]:
    if not facts.get("complete"):
        yield "it is not complete; run the same `lmrbench evaluate` again"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield "it has infra errors; run the same `lmrbench evaluate` again"
    if reason := unofficial_reason(facts):
        yield reason
    if facts["timeout_scale"] != 1:
        yield f"its time limits were scaled by {facts['timeout_scale']}"
    if missing := set(instances) - set(facts["scope"]):
        yield f"{len(missing)} of {len(instances)} instances are not in its scope ({min(missing)})"
    if unknown := set(facts["scope"]) - set(instances):
        yield f"its scope names unknown instances ({min(unknown)})"
    if not rows:
        yield "it has no results"
    if facts.get("predictions") in ("gold", "masked"):
        yield "it evaluated the benchmark's own files, not a model"
    if not (run / PREDICTIONS).is_file():
        yield f"{PREDICTIONS} is missing"
