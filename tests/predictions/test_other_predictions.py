"""Predictions load from other sources than files of text: pipes, tables, saved datasets, rows in memory."""

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest

import lmrbench_data as lmr
from lmrbench_data.base.errors import InputError
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.predictions.reading import read_predictions
from lmrbench_evaluate.predictions.sources import BadRow
from support.command_line import Done, in_process
from support.toy import TOY_ANSWER

LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
ROWS: dict[str, Any] = {"toy-scale": {}, "toy-shift": {}}
CODE = "def scale(values, factor):\n    return values\n"
NAMES = {"instance_id": "toy-scale", "model_name_or_path": "m"}
#: The last answer has no sample.
THEIRS = [
    {**NAMES, "function": CODE, "sample": 0, "metadata": {"cost": 0.5}},
    {**NAMES, "function": "x = 1", "sample": 3, "metadata": {"cost": 0.1}},
    {**NAMES, "instance_id": "toy-shift", "function": "x = 2", "sample": None, "metadata": None},
]
OURS = [
    Prediction("toy-scale", "m", "function", CODE, 0, metadata={"cost": 0.5}),
    Prediction("toy-scale", "m", "function", "x = 1", 3, metadata={"cost": 0.1}),
    Prediction("toy-shift", "m", "function", "x = 2", 0),
]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in THEIRS)


def read(source: Any) -> list[Prediction | BadRow]:
    return list(read_predictions(source, ROWS))


def evaluate(data: bytes, folder: Path, *arguments: str) -> Done:
    """Run `lmrbench evaluate` with this standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return in_process("evaluate", *arguments, "--sandbox", "local", cwd=folder)


def said(text: str) -> str:
    """Return the one line that a command printed, apart from the usual warning about the local sandbox."""
    [line] = [line for line in text.splitlines() if not line.startswith("warning: the `local` sandbox")]
    return line


def _parquet(folder: Path) -> Path:
    pd.DataFrame(THEIRS).to_parquet(folder / "theirs.parquet")
    return folder / "theirs.parquet"


def _saved(folder: Path) -> Path:
    datasets.Dataset.from_list(THEIRS).save_to_disk(folder / "theirs", num_shards=2)
    return folder / "theirs"


def _saved_splits(folder: Path) -> Path:
    whole = datasets.Dataset.from_list(THEIRS)
    splits = datasets.DatasetDict(train=whole.select([0]), test=whole.select([1, 2]))
    splits.save_to_disk(folder / "theirs")
    return folder / "theirs"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "Parquet of pandas": _parquet,
    "saved dataset": _saved,
    "saved splits": _saved_splits,
    "rows": lambda folder: THEIRS,
    "data frame": lambda folder: pd.DataFrame(THEIRS),
    "dataset": lambda folder: datasets.Dataset.from_list(THEIRS),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_are_read_from_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    assert read(SOURCES[kind](tmp_path)) == OURS


def test_rows_without_a_column_of_answers_are_an_error_that_names_their_columns(tmp_path: Path) -> None:
    """The fault of the file, not of the model: nothing is evaluated. Single rows without an answer are malformed."""
    rows = [{"instance_id": "toy-scale", "model_name_or_path": "m", "response": CODE, "n": n} for n in range(3)]
    for source in (rows, pd.DataFrame(rows), [{**rows[0], "track": "paper"}, {"instance_id": "nope", "code": "x"}]):
        with pytest.raises(InputError, match="predictions 'memory': no row has an answer; its columns are ") as error:
            read(source)
        assert "instance_id, model_name_or_path, response, " in str(error.value)
    (tmp_path / "rows.jsonl").write_text(json.dumps({**rows[0], "instance_id": "empathy-gap-delta"}))
    done = evaluate(b"", tmp_path, "rows.jsonl")
    assert done.returncode == 1
    assert said(done.stderr).startswith("error: predictions 'rows.jsonl': no row has an answer; its columns are ")
    assert [
        bool(row.problem) for row in read([*rows, {**rows[0], "function": CODE}]) if isinstance(row, Prediction)
    ] == [True, True, True, False]


@pytest.mark.slow
def test_piped_rows_are_a_run_like_any_other(toy_dataset: Path, tmp_path: Path) -> None:
    """The same rows resume in their folder; others get another folder or take one over."""
    row = {"instance_id": "toy-scale", "function": TOY_ANSWER, "model_name_or_path": "m", "sample": 0}
    first = json.dumps(row).encode() + b"\n{\n"
    second = json.dumps(row).encode() + b"\n" + json.dumps({**row, "function": "x", "sample": 1}).encode()

    def pipe(data: bytes, *more: str) -> Done:
        return evaluate(data, tmp_path, "-", "--dataset", str(toy_dataset), *more)

    done = pipe(first)
    assert done.returncode == 1
    assert "warning: bad row: stdin:2: not JSON" in done.stderr
    [run] = (tmp_path / "runs").iterdir()
    assert run.name.startswith("stdin-")
    facts = json.loads((run / "run.json").read_text())
    assert facts["predictions"] == "stdin"
    assert [json.loads(line)["status"] for line in (run / "results.jsonl").read_text().splitlines()] == ["passed"]
    again = pipe(first)
    assert "1 of 1 predictions were evaluated before; resuming" in again.stderr
    assert len((run / "results.jsonl").read_text().splitlines()) == 1
    other = pipe(second)
    assert other.returncode == 0, other.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 2
    taken = pipe(second, "--out", str(run))
    assert "1 of 2 predictions were evaluated before; resuming" in taken.stderr
    statuses = [json.loads(line)["status"] for line in (run / "results.jsonl").read_text().splitlines()]
    assert sorted(statuses) == ["malformed", "passed"]


def test_a_pipe_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    for data, problem in (
        (b"", "predictions 'stdin': no rows"),
        (gzip.compress(LINES), "no row can be evaluated (stdin:1: not UTF-8 (byte 1))"),
    ):
        done = evaluate(data, tmp_path, "-")
        assert done.returncode == 1
        assert problem in said(done.stderr)
    command = f"{LMRBENCH} evaluate - --sandbox local <&-"
    closed = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "standard input is closed" in said(closed.stderr)


# --- saved datasets ---------------------------------------------------------------------------------------------------


def test_rows_of_saved_datasets_have_their_place(tmp_path: Path) -> None:
    row = {"instance_id": "toy-scale", "model_name_or_path": "m", "function": CODE}
    rows = [{**row, "sample": sample} for sample in (0, 1, -1)]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "one", num_shards=3)
    assert str(read(tmp_path / "one")[2]).startswith(f"{tmp_path / 'one'} row 3: sample must be")
    whole = datasets.Dataset.from_list(rows)
    datasets.DatasetDict(train=whole.select([0, 1]), test=whole.select([1])).save_to_disk(tmp_path / "many")
    told = str(read(tmp_path / "many")[2])
    assert told.startswith(f"{tmp_path / 'many' / 'test'} row 1: duplicate of {tmp_path / 'many' / 'train'} row 2")


@pytest.mark.parametrize("state", [b"{", b"[]", b'{"_data_files": [{"filename": "data-1.arrow"}]}'])
def test_damaged_saved_dataset_is_one_line(state: bytes, tmp_path: Path) -> None:
    folder = _saved(tmp_path)
    (folder / "state.json").write_bytes(state)
    with pytest.raises(InputError, match=f"{folder}: damaged .*; save the dataset again") as error:
        read(folder)
    assert "\n" not in str(error.value)


def test_columns_and_keys_that_are_no_text_are_one_line_errors(toy_dataset: Path, tmp_path: Path) -> None:
    answer = {"instance_id": "toy-scale", "model_name_or_path": "m", "function": "x"}
    options: dict[str, Any] = {"out": tmp_path / "run", "dataset": str(toy_dataset), "sandbox": "local"}
    for rows in ([{1: "x"}], [{None: "x", ("a", 2): 1}], pd.DataFrame([["toy-scale", "x"]])):
        with pytest.raises(InputError, match=r"no row can be evaluated .*; its columns are .*; rename one to instance"):
            lmr.evaluate(rows, **options)
        assert not (tmp_path / "run").exists()
    odd = [{**answer, 3: "y", "metadata": {("a", 1): 1, 2: {3: 4}}}]
    assert lmr.evaluate(odd, **options).complete
