"""Every kind of bad prediction row gives one clear line with its place, and every good row around it is still read."""

import bz2
import gzip
import io
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lmrbench as lmr
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.predictions.prediction import Prediction, PredictionFile
from lmrbench_evaluate.predictions.reading import KEYS, read_predictions
from lmrbench_evaluate.predictions.sources import BadRow
from lmrbench_evaluate.rebuild.workspace import rebuild
from support.command_line import in_process
from support.hub_server import Hub

ROWS: dict[str, dict[str, Any]] = {"toy-scale": {}, "toy-shift": {}}
CODE = "def scale(values, factor):\n    return values\n"
GOOD = {"instance_id": "toy-scale", "model_name_or_path": "org/model", "function": CODE}


def read(path: Path) -> list[Prediction | BadRow]:
    return list(read_predictions(str(path), ROWS))


def bad(**changes: Any) -> bytes:
    """A good row with some keys changed (None drops the key)."""
    row = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    return json.dumps(row).encode()


def parquet(*rows: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


BAD_LINES: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"def scale(): pass", "not JSON"),
    "two rows on a line": (bad() + bad(), "not JSON"),
    "too large a number": (b'{"sample": ' + b"9" * 5000 + b"}", "not JSON"),
    "not UTF-8": (bad().replace(b"org", b"\xff\xfe"), r"not UTF-8 \(byte \d+"),
    "UTF-16": (bad().decode().encode("utf-16"), "not UTF-8"),
    "nested without end": (b'{"a":' * 100_000, "not JSON"),
    "a list": (b"[1, 2]", "a row must be a JSON object, not a list"),
    "null": (b"null", "a row must be a JSON object, not null"),
    "a key twice": (b'{"instance_id": "x", ' + bad()[1:], "duplicate key 'instance_id'"),
    "a key twice, deep": (bad(metadata={"a": [{"b": 1, "c": 2}]}).replace(b'"c"', b'"b"'), "duplicate key 'b'"),
    "no instance": (bad(instance_id=...), "missing key 'instance_id'"),
    "no model": (bad(model_name_or_path=...), "missing key 'model_name_or_path'"),
    **{
        f"model {model!r:.12}": (bad(model_name_or_path=model), "printable text of 1 to 150")
        for model in (" ", ["a"], "\x1b[2Jmodel", "\ud800", "m" * 201)
    },
    "unknown instance": (bad(instance_id="toy-skale"), r"unknown instance 'toy-skale' \(did you mean 'toy-scale'\?\)"),
    "instance of another type": (bad(instance_id=7), "instance_id must be"),
    **{
        f"sample {sample!r:.12}": (bad(sample=sample), "sample must be a whole number from 0 to 1000000")
        for sample in ("1", 0.5, -1, 10**30)
    },
    "setting of another type": (bad(setting=1), "setting must be printable text"),
    "track that is none": (bad(track="papers"), "track must be paper or contract, not 'papers'"),
    "setting with an escape sequence": (bad(setting="\x1b]0;x\x07"), "setting must be printable text"),
    "duplicate": (bad(function="def scale(): another answer", sample=0), r"duplicate of .*:1 \(same instance, model"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_told_with_its_place_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    line, reason = BAD_LINES[name]
    path = tmp_path / "predictions.jsonl"
    # UTF-16 holds bytes of line endings: none of them may reach the good rows.
    path.write_bytes(b"\n".join([bad(), b"", line, bad(sample=1, track="paper"), b"  ", bad(instance_id="toy-shift")]))
    first, *found = read(path)
    assert isinstance(first, Prediction)
    wrong = [item for item in found if isinstance(item, BadRow)]
    assert [item.key[:5] for item in found if isinstance(item, Prediction)] == [
        ("toy-scale", "org/model", "", "paper", 1),
        ("toy-shift", "org/model", "", "unstated", 0),
    ]
    assert wrong[0].place == f"{path}:3"
    assert re.search(reason, str(wrong[0]))
    for item in wrong:
        assert "\n" not in str(item)
        assert str(item).isprintable()
        assert len(str(item)) < 400 + len(str(path))


UNUSABLE: dict[str, tuple[bytes, str]] = {
    "two forms": (bad(model_patch="diff"), "exactly one of .*, found function and model_patch"),
    "no form": (bad(function=...), "exactly one of .*, found none"),
    "null form": (bad(function=None), "function is null"),
    "empty form": (bad(function=""), "function is empty"),
    "form of another type": (bad(function=["def f(): ..."]), "function must be text, not a list"),
    "form that is an object": (bad(function=..., model_patch={"a": 1}), "model_patch must be text, not an object"),
    "files that are no object": (
        bad(function=..., files=["def f(): ..."]),
        "files must be an object of texts, not a list",
    ),
    "files that are no pairs": (bad(function=..., files=[[["a.py"], "x"]]), "an object of texts, not a list"),
    "a file that is an object": (
        bad(function=..., files={"a.py": {"content": CODE}}),
        r"files\['a.py'\] must be text, not an object",
    ),
    "a file of lines": (bad(function=..., files={"a.py": [CODE]}), r"files\['a.py'\] must be text, not a list"),
    "half a surrogate pair": (bad(function=..., goal_file="'\ud800'"), "goal_file contains a lone surrogate"),
    "a call of a tool": (bad(function="", metadata={"problem": "the model called a tool (ls)"}), "called a tool"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_answer_that_cannot_be_used_is_an_answer_and_malformed(
    name: str, tmp_path: Path, toy_row: dict[str, Any]
) -> None:
    line, reason = UNUSABLE[name]
    path, copy = tmp_path / "predictions.jsonl", tmp_path / "copy.jsonl"
    path.write_bytes(line + b"\n" + bad(instance_id="toy-shift"))
    item, _ = read(path)
    assert isinstance(item, Prediction)
    assert re.search(reason, item.problem)
    with pytest.raises(MalformedAnswerError, match=reason):
        rebuild(toy_row, item)  # type: ignore[arg-type]
    # A run's own copy keeps the reason and the identity, and is a file of predictions like any other.
    PredictionFile(copy).write([item])
    for kept in (*PredictionFile(copy), *read(copy)):
        assert kept == item
        assert kept.sha256 == item.sha256 != Prediction("toy-scale", "org/model", "function", "").sha256


def test_good_rows_in_all_their_forms(tmp_path: Path) -> None:
    rows = [
        GOOD,
        {**GOOD, "sample": 3, "setting": "agent", "track": "contract", "metadata": {"cost": 0.5, "steps": [1, None]}},
        {**GOOD, "function": None, "goal_file": "# whole file é 数\n", "sample": 0, "setting": "file"},
        {"instance_id": "toy-shift", "model_name_or_path": "m | <b>", "model_patch": "--- a\n+++ b\n", "extra": [1]},
    ]
    path = tmp_path / "rows.jsonl"
    text = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # as Windows editors save it
    found = read(path)
    assert found == [
        Prediction("toy-scale", "org/model", "function", CODE),
        Prediction(
            "toy-scale", "org/model", "function", CODE, 3, "agent", "contract", {"cost": 0.5, "steps": [1, None]}
        ),
        Prediction("toy-scale", "org/model", "goal_file", "# whole file é 数\n", 0, "file"),
        Prediction("toy-shift", "m | <b>", "model_patch", "--- a\n+++ b\n"),
    ]


# --- files of other kinds ---------------------------------------------------------------------------------------------

SWE = {"instance_id": "toy-scale", "model_name_or_path": "swe", "model_patch": "diff --git a/x b/x\n"}


def test_files_of_swe_bench_load_as_they_are(tmp_path: Path) -> None:
    other = {**SWE, "instance_id": "toy-shift"}
    by_instance = {"toy-scale": SWE, "toy-shift": {key: other[key] for key in ("model_name_or_path", "model_patch")}}
    path = tmp_path / "preds.json"
    for content, number in (([SWE, other], 2), (by_instance, 2), (SWE, 1)):
        path.write_text(json.dumps(content, indent=2))
        found = read(path)
        assert found[0] == Prediction("toy-scale", "swe", "model_patch", SWE["model_patch"])
        assert len(found) == number
        assert all(isinstance(item, Prediction) for item in found)


def test_bad_rows_of_json_files_have_their_place(tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text(json.dumps([SWE, 7, {**SWE, "instance_id": None}, {**SWE, "sample": 0}]))
    assert [str(item) for item in read(path)[1:]] == [
        f"{path}[1]: a row must be a JSON object, not a number",
        f"{path}[2]: missing key 'instance_id'",
        f"{path}[3]: duplicate of {path}[0] (same instance, model, setting, track and sample)",
    ]
    path.write_text(json.dumps({"toy-scale": SWE, "nope": {"model_name_or_path": "m", "function": CODE}, "x": 1}))
    assert [str(item) for item in read(path)[1:]] == [
        f"{path}['nope']: unknown instance 'nope'",
        f"{path}['x']: a row must be a JSON object, not a number",
    ]


def test_row_without_sample_gets_the_next_free_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [GOOD, {**GOOD, "sample": 1}, GOOD, {**GOOD, "sample": 2}, {**GOOD, "sample": 3}]
    path.write_text("\n".join(map(json.dumps, rows)))
    duplicate = f"{path}:4: duplicate of {path}:3 (same instance, model, setting, track and sample)"
    assert [getattr(item, "sample", str(item)) for item in read(path)] == [0, 1, 2, duplicate, 3]


def test_key_that_stands_twice_costs_one_row_of_a_list(tmp_path: Path) -> None:
    path, twice = tmp_path / "rows.json", bad(sample=1).replace(b'"sample"', b'"function": "x", "sample"')
    path.write_bytes(b"[" + bad() + b"," + twice + b"]")
    assert [str(item) for item in read(path)[1:]] == [f"{path}[1]: duplicate key 'function'"]


TEXT_TYPES = {
    "view of text": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "bytes": pa.binary(),
    "dictionary of bytes": pa.dictionary(pa.int8(), pa.binary()),
    "bytes of fixed size": pa.binary(64),
}


@pytest.mark.parametrize("name", TEXT_TYPES)
def test_parquet_text_of_every_type_is_text(name: str, tmp_path: Path) -> None:
    """As Spark, DuckDB, ClickHouse and Polars write it, beside columns that nobody reads."""
    kind, path, texts = TEXT_TYPES[name], tmp_path / "rows.parquet", ["toy-scale", "m", "def f(): 'é'", "paper"]
    padded = [text.encode().ljust(64, b"\0") if kind == pa.binary(64) else text for text in texts]
    instance, model, function, track = (pa.array([text]).cast(kind) for text in padded)
    others = {
        "image": pa.array([b"\xff\xd8"]),
        "nothing": pa.nulls(1),
        "setting": pa.nulls(1),
        "metadata": pa.array([{"by": b"a", "at": 1}]).cast(pa.struct([("by", pa.binary()), ("at", pa.timestamp("s"))])),
    }
    columns = {"instance_id": instance, "model_name_or_path": model, "function": function, "track": track}
    pq.write_table(pa.table({**columns, **others}), path)
    metadata = {"by": "a", "at": "1970-01-01 00:00:01"}
    assert read(path) == [Prediction("toy-scale", "m", "function", texts[2], 0, "", "paper", metadata)]


def test_parquet_values_that_are_no_text_are_bad_rows(tmp_path: Path) -> None:
    """Never malformed: the model is not to blame for what the reader does not understand."""
    path = tmp_path / "rows.parquet"
    names = {"instance_id": ["toy-scale"] * 2, "model_name_or_path": ["m"] * 2}
    for function, kind in ((pa.array([b"good!", b"\xff"]), "bytes"), (pa.array([1, 2], pa.timestamp("s")), "datetime")):
        pq.write_table(pa.table({**names, "function": function, "sample": [0, 1]}), path)
        assert str(read(path)[1]) == f"{path} row 2: function has the type {kind} and cannot be read; write UTF-8 text"
    files = pa.array([[(b"a.py", b"x = 1")]] * 2, pa.map_(pa.binary(), pa.binary()))
    pq.write_table(pa.table({**names, "files": files}), path)
    assert read(path)[0] == Prediction("toy-scale", "m", "files", '{"a.py": "x = 1"}')


# --- the Hub ----------------------------------------------------------------------------------------------------------

CLIENT = """
import json, sys
from lmrbench_data.base.errors import InputError
from lmrbench_evaluate.predictions.reading import KEYS, read_predictions
from lmrbench_evaluate.predictions.sources import BadRow
for source in sys.argv[1:]:
    try:
        items = list(read_predictions(source, {"toy-scale": {}}))
        print(json.dumps([str(item) if isinstance(item, BadRow) else item.content for item in items]))
    except InputError as error:
        print(json.dumps(str(error)))
"""


def _read_in_a_process(specs: list[str], environment: dict[str, str]) -> list[Any]:
    """The rows of each source, or its error; another process, because the Hub's client reads its settings once."""
    done = subprocess.run([sys.executable, "-c", CLIENT, *specs], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sources = list(map(json.loads, done.stdout.splitlines()))
    is_offline, read = environment["HF_HUB_OFFLINE"] == "1", sum(isinstance(source, list) for source in sources)
    assert done.stderr.count("from the cache of the Hub, commit ") == is_offline * read
    return sources


def test_a_hub_dataset_of_predictions_is_read_at_the_revision_asked_for(tmp_path: Path) -> None:
    """Over real HTTP with the real client. Files of all kinds in it, good and bad rows with their places."""
    old = {"predictions.jsonl": bad(function="old")}
    new = {
        "README.md": b"# Predictions",
        "a/rows.jsonl": bad(function="first") + b"\n{\n" + bad(function="again", sample=0),
        "data/test.parquet": parquet({**GOOD, "sample": 1, "function": "second"}, {**GOOD, "sample": -1}),
    }
    with Hub() as hub:
        hub.commit("org/preds", old, "v1")
        sha = hub.commit("org/preds", new, "main")
        hub.commit("org/none", {"README.md": b"# Empty"}, "main")
        environment = {**os.environ, **hub.environment(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"}
        specs = ["org/preds", f"org/preds@{sha}", "org/preds@v1", "org/preds@v2", "org/none", "org/absent"]
        newest, pinned, first, *errors = _read_in_a_process(specs, environment)
        environment["HF_HUB_OFFLINE"] = "1"
        cached = _read_in_a_process([*specs[:3], "org/preds@main"], environment)
        assert cached == [newest, pinned, first, [item.replace("org/preds", "org/preds@main") for item in newest]]
        assert "HF_HUB_OFFLINE is set" in _read_in_a_process(["org/preds@v3"], environment)[0]
    environment["HF_HUB_OFFLINE"] = "0"  # the Hub is gone, and what never changes is in the cache
    assert _read_in_a_process([specs[1]], environment) == [pinned]
    assert first == ["old"]
    assert newest == [
        "first",
        "org/preds/a/rows.jsonl:2: not JSON: Expecting property name enclosed in double quotes (column 2)",
        "org/preds/a/rows.jsonl:3: duplicate of org/preds/a/rows.jsonl:1 "
        "(same instance, model, setting, track and sample)",
        "second",
        "org/preds/data/test.parquet row 2: sample must be a whole number from 0 to 1000000, not -1",
    ]
    assert pinned == [item.replace("org/preds", f"org/preds@{sha}") for item in newest]
    reasons = ["no such revision", "holds no .jsonl or .parquet file", "no such repository"]
    for error, spec, reason in zip(errors, specs[3:], reasons, strict=True):
        assert error.startswith(f"predictions '{spec}': ")
        assert reason in error
        assert "\n" not in error


# --- sources that cannot be read --------------------------------------------------------------------------------------


def test_extensions_tell_what_a_file_is(tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "sample": 1}]
    lines, whole, bom = b"\n".join(json.dumps(row).encode() for row in rows), json.dumps(rows).encode(), b"\xef\xbb\xbf"
    table = parquet(*rows)

    def source(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    for path in (
        source("rows.txt", lines),
        source("rows.parquet", table),
        source("ROWS.PARQUET", table),
        source("rows", table),
        # What jq prints with --slurp --compact-output and without; with the mark of Windows' editors.
        source("list.jsonl", whole),
        source("slurped.jsonl", bom + json.dumps(rows, indent=2).encode()),
    ):
        assert read(path) == read(source("rows.json", whole)), path
    advice, indented = "; `jq --compact-output", b"\n".join(json.dumps(row, indent=2).encode() for row in rows)
    for path, reason in {
        source("indented.jsonl", bom + indented): f"holds rows of several lines{advice}",
        source("indented.json", indented): f"not JSON: Extra data .line 6, column 1.{advice}",
        source("lines.json", lines): f"not JSON: Extra data .*{advice}",
        source("broken.json", b"[1, 2"): f"not JSON.*{advice}",
        source("deep.json", b"[" * 100_000): "not JSON",
        source("latin.json", b"\xff"): r"not UTF-8 \(byte 0\); save it as UTF-8$",
        source("o.csv", b"instance_id,function\n"): "save the rows as JSON lines",
        source("rows.jsonl.gz", gzip.compress(lines)): "is compressed with gzip; unpack it first",
        source("gzip.jsonl", gzip.compress(lines)): "is compressed with gzip; unpack it first",
        source("rows.jsonl.bz2", bz2.compress(lines)): "is compressed with bzip2; unpack it first",
        source("rows.jsonl.zst", b"\x28\xb5\x2f\xfd$"): "is compressed with zstd; unpack it first",
        source("rows.pkl", pickle.dumps(rows)): "is a pickle; save the rows as JSON lines",
        source("utf16.jsonl", lines.decode().encode("utf-16")): "is UTF-16; save it as UTF-8",
        source("utf16.json", b"\xfe\xff" + whole.decode().encode("utf-16-be")): "is UTF-16; save it as UTF-8",
        source("empty.parquet", b""): "not readable as Parquet",
        source("garbage.parquet", table[:4] + b"\xff" * 400 + table[404:]): "not readable as Parquet",
        tmp_path / "absent.jsonl": "no such file",
        "absent/absent.jsonl": "no such file",
        "-": "no such file",
        "nul\0.jsonl": "no such file",
        "x" * 300: "no such file",
        json.dumps(rows * 99): r"^predictions '\[\{.{,220}': no such file",
        tmp_path: "is a directory",
        "/dev/null": "not a regular file",
    }.items():
        with pytest.raises(InputError, match=reason) as error:
            read(path)
        assert "\n" not in str(error.value)


#: The last answer has no sample.
TABLE = [
    {**GOOD, "sample": 0, "metadata": {"cost": 0.5}},
    {**GOOD, "function": "x = 1", "sample": 3, "metadata": {"cost": 0.1}},
    {**GOOD, "instance_id": "toy-shift", "function": "x = 2", "sample": None, "metadata": None},
]


class PolarsFrame:
    """The methods of a polars DataFrame that differ from those of pandas: iterating it yields columns."""

    columns = tuple(TABLE[0])

    def __iter__(self) -> Iterator[list[Any]]:
        return iter([row.get(name) for row in TABLE] for name in self.columns)

    def to_dict(self, *, as_series: bool = True) -> Any:
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        return TABLE


def test_rows_are_read_from_every_kind_of_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pylist(TABLE)
    for name in ("rows.parquet", "qwen3:8b.parquet", "file:x.parquet"):
        with Path(name).open("wb") as file:
            pq.write_table(table, file)
    frames = [pd.DataFrame(TABLE), datasets.Dataset.from_list(TABLE), table, table.to_batches()[0], PolarsFrame()]
    files = ["rows.parquet", "qwen3:8b.parquet", "./qwen3:8b.parquet", tmp_path / "qwen3:8b.parquet", "file:x.parquet"]
    for source in (TABLE, *frames, (row for row in TABLE), *files):
        assert list(read_predictions(source, ROWS)) == [
            Prediction("toy-scale", "org/model", "function", CODE, 0, metadata={"cost": 0.5}),
            Prediction("toy-scale", "org/model", "function", "x = 1", 3, metadata={"cost": 0.1}),
            Prediction("toy-shift", "org/model", "function", "x = 2", 0),
        ]


def test_table_that_is_no_rows_says_what_to_do(tmp_path: Path) -> None:
    class LazyFrame:
        columns = ("instance_id",)

    table, path = pa.table([["toy-scale"], ["m"], ["x"], ["y"]], [*list(GOOD), "function"]), tmp_path / "rows.parquet"
    pq.write_table(table, path)
    twice = "duplicate columns function; rename or drop"
    for source, fix in (
        (pd.concat([pd.DataFrame([GOOD]), pd.Series(["x"], name="function")], axis=1), f"predictions: {twice}"),
        (table, f"predictions: {twice}"),
        (path, f"rows.parquet: {twice}"),
        (pd.DataFrame([GOOD]).set_index("instance_id"), r"instance_id is in the index of the DataFrame; call \.reset_"),
        (datasets.DatasetDict(dev=datasets.Dataset.from_list([GOOD])), r"choose a split, such as \['dev'\]"),
    ):
        with pytest.raises(InputError, match=fix):
            list(read_predictions(source, ROWS))
    for source in (LazyFrame(), {"instance_id": ["toy-scale"]}, b"rows"):
        with pytest.raises(InputError, match="make it a list of dictionaries or a pandas DataFrame"):
            list(read_predictions(source, ROWS))  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [".json", ".jsonl"])
@pytest.mark.parametrize("orient", ["columns", "split", "table", "values", "dict", "named index"])
def test_json_of_pandas_by_columns_says_how_to_save_it(orient: str, end: str, tmp_path: Path) -> None:
    frame, path = pd.DataFrame(TABLE[:2]), tmp_path / f"rows{end}"
    if orient == "dict":
        path.write_text(json.dumps(frame.to_dict("list")))
    elif orient == "named index":
        frame.iloc[:1].set_index("instance_id").to_json(path)
    else:
        frame.to_json(path, orient=orient)
    with pytest.raises(InputError, match=r'rows\.jsonl?: holds columns, not rows; save it with .*orient="records"'):
        list(read_predictions(path, ROWS))
    for options in ({"lines": True}, {}) if end == ".jsonl" else ({},):
        frame.to_json(path, orient="records", **options)
        assert len(list(read_predictions(path, ROWS))) == 2


@pytest.mark.parametrize("end", [".json", ".jsonl"])
@pytest.mark.parametrize(
    "changes",
    [{"instance_id": []}, {"model_name_or_path": {"0": "m"}}, {"data": [[1]], "columns": ["a"], "schema": {}}],
    ids=str,
)
def test_row_alone_in_a_file_is_never_taken_for_columns(changes: dict[str, Any], end: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{end}"
    path.write_text(json.dumps({**GOOD, **changes}) + "\n")
    [item] = read(path)
    assert isinstance(item, Prediction if "data" in changes else BadRow)


def test_rows_without_a_column_of_answers_are_an_error_that_names_their_columns(tmp_path: Path) -> None:
    """The fault of the file, not of the model: nothing is evaluated. Single rows without an answer are malformed."""
    rows = [{"instance_id": "toy-scale", "model_name_or_path": "m", "response": CODE, "n": n} for n in range(3)]
    for source in (rows, pd.DataFrame(rows), [{**rows[0], "track": "paper"}, {"instance_id": "nope", "code": "x"}]):
        with pytest.raises(InputError, match="predictions 'memory': no row has an answer; its columns are ") as error:
            list(read_predictions(source, ROWS))
        assert "instance_id, model_name_or_path, response, " in str(error.value)
    (tmp_path / "rows.jsonl").write_text(json.dumps({**rows[0], "instance_id": "empathy-gap-delta"}))
    done = in_process("evaluate", "rows.jsonl", "--sandbox", "local", cwd=tmp_path)
    assert done.returncode == 1
    assert "\nerror: predictions 'rows.jsonl': no row has an answer; its columns are " in f"\n{done.stderr}"
    items = read_predictions([*rows, {**rows[0], "function": CODE}], ROWS)
    assert [bool(row.problem) for row in items if isinstance(row, Prediction)] == [True, True, True, False]


def test_columns_and_keys_that_are_no_text_are_one_line_errors(toy_dataset: Path, tmp_path: Path) -> None:
    answer = {"instance_id": "toy-scale", "model_name_or_path": "m", "function": "x"}
    options: dict[str, Any] = {"out": tmp_path / "run", "dataset": str(toy_dataset), "sandbox": "local"}
    for rows in ([{1: "x"}], [{None: "x", ("a", 2): 1}], pd.DataFrame([["toy-scale", "x"]])):
        with pytest.raises(InputError, match=r"no row can be evaluated .*; its columns are .*; rename one to instance"):
            lmr.evaluate(rows, **options)
        assert not (tmp_path / "run").exists()
    for content in ({"toy-scale": [answer]}, {"toy-scale": "x"}, {"predictions": [answer]}, {}):
        (tmp_path / "rows.json").write_text(json.dumps(content))
        keys = ", ".join(content) or "none"
        with pytest.raises(InputError, match=f"its only object are {keys}; expected a row with instance_id, a list"):
            lmr.evaluate(tmp_path / "rows.json", **options)
    with pytest.raises(InputError, match=r"missing key 'instance_id'\); a prediction needs instance_id"):
        lmr.evaluate([{}], **options)
    odd = [{**answer, 3: "y", "metadata": {("a", 1): 1, 2: {3: 4}}}]
    assert lmr.evaluate(odd, **options).complete


MISSING_VALUES = [
    {**GOOD, "sample": float("nan"), "setting": float("nan"), "metadata": float("nan"), "goal_file": float("nan")},
    {**GOOD, "sample": np.int64(1), "metadata": {"cost": np.float32(0.5), "tokens": [np.int64(3)], "at": {1, 2}}},
    {**GOOD, "sample": np.array(2), "model_patch": pd.NA, "setting": pd.NaT, "metadata": "cost: 3"},
    {**GOOD, "sample": 3.0, "metadata": {"a": json.loads("[" * 200 + "]" * 200)}},
    {**GOOD, "sample": Decimal("4.00")},
]


def test_missing_values_and_metadata_cost_no_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({**MISSING_VALUES[0], "sample": n}) for n in (float("nan"), 1)))
    cut = json.loads("[" * 48 + "null" + "]" * 48)
    metadata = [None, {"cost": 0.5, "tokens": [3], "at": "{1, 2}"}, None, {"a": cut}, None]
    for source in (MISSING_VALUES, pd.DataFrame(MISSING_VALUES)):
        items = list(read_predictions(source, ROWS))
        assert items == [
            Prediction("toy-scale", "org/model", "function", CODE, n, metadata=kept) for n, kept in enumerate(metadata)
        ]
        json.dumps([item.as_row() for item in items if isinstance(item, Prediction)])
    assert read(path) == [Prediction("toy-scale", "org/model", "function", CODE, n) for n in (0, 1)]


NO_SAMPLES = [Decimal(text) for text in ("0.5", "-1", "NaN", "sNaN", "1E+999999")]


def test_numbers_in_memory_that_cannot_be_read_are_bad_rows() -> None:
    rows = [{**GOOD, "sample": 10**5000}, {**GOOD, "metadata": {"x": [-(10**5000)]}}]
    rows += [{**GOOD, "sample": number} for number in NO_SAMPLES]
    *bad_rows, last = map(str, read_predictions([*rows, GOOD], ROWS))
    long, reason = "a number has more than 4300 digits; shorten it or leave it out", "sample must be a whole number"
    assert bad_rows[:2] == [f"row 0: {long}", f"row 1: {long}"]
    assert [reason in row for row in bad_rows[2:]] == [True] * len(NO_SAMPLES)
    assert last.startswith("Prediction(")


# --- the words --------------------------------------------------------------------------------------------------------


def test_gold_and_masked_are_the_goal_files_themselves(toy_row: dict[str, Any]) -> None:
    [gold] = read_predictions("gold", {"toy-scale": toy_row})
    [masked] = read_predictions("masked", {"toy-scale": toy_row})
    assert gold == Prediction("toy-scale", "gold", "goal_file", toy_row["golden_file"])
    assert isinstance(masked, Prediction)
    assert masked.content.encode() == read_archive(toy_row["repo_archive"])["scale.py"].data
    assert "NotImplementedError" in masked.content


# --- anything at all --------------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["toy-scale", CODE]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
keys = [*KEYS]
near_rows = st.builds(
    lambda changes, dropped: {k: v for k, v in {**GOOD, **changes}.items() if k not in dropped},
    st.dictionaries(st.sampled_from(keys), anything, max_size=3),
    st.sets(st.sampled_from(keys), max_size=1),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(near_rows | anything, min_size=1, max_size=4))
def test_whatever_a_row_holds_it_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (GOOD, *rows)), encoding="utf-8")
    found = read(path)
    assert len(found) == 1 + len(rows)
    for item in found:
        if isinstance(item, BadRow):
            assert str(item).startswith(f"{path}:")
            assert "\n" not in str(item)
    good = [item for item in found if isinstance(item, Prediction)]
    stored = PredictionFile(folder / "predictions.jsonl")
    for position, item in zip(stored.write(good).values(), good, strict=True):
        assert json.dumps(stored.read(position).as_row()) == json.dumps(item.as_row())
    assert [item.sha256 for item in stored] == [item.sha256 for item in good]


ENDS = {
    **dict.fromkeys(("stop", "STOP", "end_turn", "tool_calls", None, "", 7), ""),
    **dict.fromkeys(("length", "MAX_TOKENS"), "the reply was cut at the token limit"),
    **{why: f"the reply was cut off (finish_reason {why})" for why in ("repetition", "abort", "a word of no list")},
}


@pytest.mark.parametrize("reason", ENDS)
def test_a_reply_is_cut_unless_the_model_ended_it(reason: Any) -> None:
    assert Prediction("x", "m", "function", CODE, metadata={"finish_reason": reason}).cut == ENDS[reason]
