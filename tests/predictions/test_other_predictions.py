"""Predictions load from every kind of source: pipes, compressed files, saved datasets, rows in memory."""

import gzip
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
from support import warm_cli
from support.toy import TOY_ANSWER

LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
ROWS: dict[str, Any] = {"toy-scale": {}, "toy-shift": {}}
CODE = "def scale(values, factor):\n    return values\n"
#: Some answers have no sample.
THEIRS = [
    {"instance_id": "toy-scale", "function": CODE, "model_name_or_path": "m", "sample": 0, "metadata": {"cost": 0.5}},
    {
        "instance_id": "toy-scale",
        "function": "x = 1",
        "model_name_or_path": "m",
        "sample": 3,
        "metadata": {"cost": 0.1},
    },
    {"instance_id": "toy-shift", "function": "x = 2", "model_name_or_path": "m", "sample": None, "metadata": None},
]
OURS = [
    Prediction("toy-scale", "m", "function", CODE, 0, metadata={"cost": 0.5}),
    Prediction("toy-scale", "m", "function", "x = 1", 3, metadata={"cost": 0.1}),
    Prediction("toy-shift", "m", "function", "x = 2", 0),
]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in THEIRS)


def read(source: Any) -> list[Prediction | BadRow]:
    return list(read_predictions(source, ROWS))


def said(done: subprocess.CompletedProcess[Any]) -> str:
    """The one line that a command printed, apart from the usual warning about the local sandbox."""
    text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    [line] = [line for line in text.splitlines() if not line.startswith("warning: the `local` sandbox")]
    return str(line)


def _write(name: str, content: bytes) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


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
    "lines": _write("theirs.jsonl", LINES),
    "lines, gzipped": _write("theirs.jsonl.gz", gzip.compress(LINES)),
    "a list": _write("theirs.json", json.dumps(THEIRS).encode()),
    "by instance": _write("theirs.json", json.dumps({str(number): row for number, row in enumerate(THEIRS)}).encode()),
    "Parquet of pandas": _parquet,
    "saved dataset": _saved,
    "saved splits": _saved_splits,
    "rows": lambda folder: THEIRS,
    "data frame": lambda folder: pd.DataFrame(THEIRS),
    "dataset": lambda folder: datasets.Dataset.from_list(THEIRS),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_are_read_from_every_kind_of_source(kind: str, tmp_path: Path) -> None:
    assert read(SOURCES[kind](tmp_path)) == OURS


def test_rows_without_a_column_of_answers_are_an_error_that_names_their_columns(tmp_path: Path) -> None:
    """The fault of the file, not of the model: nothing is evaluated. Single rows without an answer are malformed."""
    rows = [{"instance_id": "toy-scale", "model_name_or_path": "m", "response": CODE, "n": n} for n in range(3)]
    for source in (rows, pd.DataFrame(rows), [{**rows[0], "track": "paper"}, {"instance_id": "nope", "code": "x"}]):
        with pytest.raises(InputError, match="predictions 'memory': no row has an answer; its columns are ") as error:
            read(source)
        assert "instance_id, model_name_or_path, response, " in str(error.value)
    (tmp_path / "rows.jsonl").write_text(json.dumps({**rows[0], "instance_id": "empathy-gap-delta"}))
    done = warm_cli.run([LMRBENCH, "evaluate", "rows.jsonl", "--sandbox", "local"], cwd=tmp_path)
    assert done.returncode == 1
    assert said(done).startswith("error: predictions 'rows.jsonl': no row has an answer; its columns are ")
    assert [
        bool(row.problem) for row in read([*rows, {**rows[0], "function": CODE}]) if isinstance(row, Prediction)
    ] == [True, True, True, False]


@pytest.mark.slow
def test_piped_rows_are_a_run_like_any_other(toy_dataset: Path, tmp_path: Path) -> None:
    """The same rows resume in their folder; others get another folder or take one over."""
    row = {"instance_id": "toy-scale", "function": TOY_ANSWER, "model_name_or_path": "m", "sample": 0}
    first = json.dumps(row).encode() + b"\n{\n"
    second = json.dumps(row).encode() + b"\n" + json.dumps({**row, "function": "x", "sample": 1}).encode()
    flags = ["--dataset", str(toy_dataset), "--sandbox", "local"]

    def pipe(data: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
        line = [LMRBENCH, "evaluate", "-", *flags, *more]
        return subprocess.run(line, input=data, cwd=tmp_path, capture_output=True, timeout=120)

    done = pipe(first)
    assert done.returncode == 1
    assert b"warning: bad row: stdin:2: not JSON" in done.stderr
    [run] = (tmp_path / "runs").iterdir()
    assert run.name.startswith("stdin-")
    facts = json.loads((run / "run.json").read_text())
    assert facts["predictions"] == "stdin"
    assert [json.loads(line)["status"] for line in (run / "results.jsonl").read_text().splitlines()] == ["passed"]
    again = pipe(first)
    assert b"1 of 1 predictions were evaluated before; resuming" in again.stderr
    assert len((run / "results.jsonl").read_text().splitlines()) == 1
    other = pipe(second)
    assert other.returncode == 0, other.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 2
    taken = pipe(second, "--out", str(run))
    assert b"1 of 2 predictions were evaluated before; resuming" in taken.stderr
    statuses = [json.loads(line)["status"] for line in (run / "results.jsonl").read_text().splitlines()]
    assert sorted(statuses) == ["malformed", "passed"]


@pytest.mark.slow
def test_a_pipe_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    def evaluate(data: bytes) -> str:
        line = [LMRBENCH, "evaluate", "-", "--sandbox", "local"]
        done = subprocess.run(line, input=data, cwd=tmp_path, capture_output=True, timeout=120)
        assert done.returncode == 1
        return said(done)

    assert "predictions 'stdin': no rows" in evaluate(b"")
    assert "no row can be evaluated (stdin:1: not UTF-8 (byte 1))" in evaluate(gzip.compress(LINES))
    closed = subprocess.run(f"{LMRBENCH} evaluate - <&-", shell=True, cwd=tmp_path, capture_output=True, timeout=120)
    assert "standard input is closed" in said(closed)


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
    assert lmr.evaluate(odd, **{**options, "out": None}).complete
