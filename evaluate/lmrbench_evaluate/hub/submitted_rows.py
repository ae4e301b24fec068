"""The rows of a submission: columns and limits for the side that writes them and the side that reads a stranger's."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.limited_reader import UnreadableError, read_parquet_rows
from lmrbench_data.base.names import clean_name
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import TRACKS

from .layout import MIB

if TYPE_CHECKING:
    import pyarrow

#: Limits of the Parquet file; the leaderboard has the same.
MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES = 50_000, 256 * MIB, 1000
MAX_ENTRIES, MAX_SAMPLES = 100, 1000
_UNREAD = ("cases", "detail", "judge_rationale")


def submission_schema() -> "pyarrow.Schema":
    """Return the columns of a submission's Parquet file."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    columns = {
        **dict.fromkeys(("run_id", "instance_id", "category", "model_name_or_path", "setting", "track"), text),
        "sample": number,
        **dict.fromkeys(("prediction_sha256", "status", "core_status", "detail"), text),
        "cases": case_type(),
        **dict.fromkeys(("judge_category", "judge_model"), text),
        "judge_rationale": pa.list_(text),
        "duration_s": pa.float64(),
        **dict.fromkeys(("sandbox", "image_id", "dataset", "config", "dataset_sha256", "benchmark_version"), text),
        **dict.fromkeys(("harness_version", "started_at", "submitted_by"), text),
        "scope_size": number,
    }
    return pa.schema(list(columns.items()))


def case_type() -> "pyarrow.DataType":
    """Return the type of the column of verdicts on cases."""
    import pyarrow as pa

    text = pa.string()
    case = [("name", text), ("seed", pa.int64()), ("core", pa.bool_()), ("status", text), ("detail", text)]
    return pa.list_(pa.struct(case))


def read_rows(path: Path, what: str) -> list[dict[str, Any]]:
    """Read the rows of a submission's Parquet file, except cases, details and rationales, which nothing here uses.

    Raises:
        InputError: it is not Parquet, lacks a column of `submission_schema`, or is too large to read.
    """
    columns = {field.name: str(field.type) for field in submission_schema() if field.name not in _UNREAD}
    try:
        return read_parquet_rows(path, columns, MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES)
    except UnreadableError as error:
        raise InputError(f"{what}: {error}") from error


def table_faults(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield why rows cannot be published: no track, misleading names, more rows than the leaderboard shows."""
    if trackless := [row for row in rows if row["track"] not in TRACKS]:
        more = f" and {len(trackless) - 1} more" if len(trackless) > 1 else ""
        yield (
            f"{len(trackless)} of {len(rows)} rows name no track ({row_name(trackless[0])}{more}); "
            f"set `track` to {' or '.join(TRACKS)} in these predictions and evaluate again"
        )
    names = {str(row["model_name_or_path"]) for row in rows} | {str(row["setting"]) for row in rows if row["setting"]}
    for name in sorted(names):
        try:
            clean = clean_name(name)
        except ValueError as error:
            yield f"the name {ascii(name)[:120]} {error}"
            continue
        if clean != name:
            yield f"the name {ascii(name)[:120]} has to be spelled {ascii(clean)[:120]}"
    samples = Counter(row_key(row)[:-1] for row in rows)
    if len(rows) > MAX_ROWS or max(samples.values(), default=0) > MAX_SAMPLES:
        yield f"it has more than {MAX_ROWS} rows or {MAX_SAMPLES} samples of an instance; submit it in parts"
    if len({key[1:] for key in samples}) > MAX_ENTRIES:
        yield f"it has more than {MAX_ENTRIES} models, settings and tracks; submit it in parts"


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key of a row within its run; the sample number comes last."""
    return row["instance_id"], row["model_name_or_path"], row["setting"] or "", row["track"], row["sample"]


def row_name(row: Mapping[str, Any] | None) -> str:
    """Return the name of a row in messages."""
    assert row is not None
    setting = f" ({shown(row['setting'])})" if row["setting"] else ""
    track = f", {row['track']} track" if row["track"] in TRACKS else ""
    return f"{shown(row['instance_id'])}, {shown(row['model_name_or_path'])}{setting}{track}, sample {row['sample']}"


def shown(text: Any) -> str:
    """Return text of a submission as one short line without invisible characters."""
    return one_line(text)[:120]
