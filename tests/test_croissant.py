"""croissant.json describes the Parquet file beside it: each column, its size and hash; readers of Croissant agree."""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lmrbench_data.build import write_dataset
from lmrbench_data.croissant import render_croissant
from lmrbench_data.loader import DATA_FILE, load_rows
from lmrbench_data.manifest import load_benchmark
from lmrbench_data.rows import DatasetRow, schema

Column = tuple[tuple[str, ...], bool, str]
"""Where a column or a part of one is, whether it is a list, and its type if nothing is nested in it."""


@pytest.fixture
def folder(tmp_path: Path, toy_row: DatasetRow) -> Path:
    write_dataset([toy_row], tmp_path / "lmr-bench", load_benchmark())
    return tmp_path / "lmr-bench"


def columns(fields: Iterable[Any], above: tuple[str, ...] = ()) -> Iterator[Column]:
    """What an Arrow schema has."""
    names = {
        "string": "sc:Text",
        "binary": "sc:Text",
        "int64": "sc:Integer",
        "double": "sc:Float",
        "bool": "sc:Boolean",
    }
    for field in fields:
        path, listed = (*above, field.name), pa.types.is_list(field.type)
        kind = field.type.value_type if listed else field.type
        nested = pa.types.is_struct(kind)
        yield path, listed, "" if nested else names[str(kind)]
        yield from columns(kind if nested else (), path)


def described(fields: Iterable[dict[str, Any]], above: tuple[str, ...] = ()) -> Iterator[Column]:
    """What a Croissant document says."""
    for field in fields:
        path = (*above, field["name"].rpartition("/")[2])
        assert field["@id"] == "/".join(("test", *path))
        assert field["description"].endswith(".")
        yield path, field.get("repeated", False), field.get("dataType", "")
        if source := field.get("source"):
            steps = [step["jsonPath"] for step in source.get("transform", ())]
            assert (source["fileObject"]["@id"], source["extract"]["column"], *steps) == (DATA_FILE, *path)
        yield from described(field.get("subField", ()), path)


def test_every_column_is_described_nested_ones_too(folder: Path) -> None:
    [records] = json.loads((folder / "croissant.json").read_text())["recordSet"]
    found = list(described(records["field"]))
    assert found == list(columns(schema()))
    assert (("tests", "cases", "rtol"), False, "sc:Float") in found


def test_a_column_that_nobody_described_stops_the_build() -> None:
    grown = schema().append(pa.field("mood", pa.string()))
    with pytest.raises(KeyError, match="mood"):
        render_croissant(load_benchmark(), grown, parquet_sha256="0" * 64, parquet_bytes=1, license="mit")


def test_size_hash_version_and_licence_are_those_of_the_build(folder: Path) -> None:
    document = json.loads((folder / "croissant.json").read_text())
    data = (folder / DATA_FILE).read_bytes()
    [file] = document["distribution"]
    assert (file["contentUrl"], file["contentSize"]) == (DATA_FILE, f"{len(data)} B")
    assert file["sha256"] == hashlib.sha256(data).hexdigest()
    assert document["version"] == load_benchmark().version
    assert document["license"] == "https://choosealicense.com/licenses/mit/"


def test_a_reader_of_croissant_finds_the_rows(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Validated, then read, by the reference implementation; nothing but a date may be missing."""
    reader = pytest.importorskip("mlcroissant")
    with caplog.at_level(logging.WARNING):
        dataset = reader.Dataset(str(folder / "croissant.json"))
    faults = [line for line in caplog.text.splitlines() if line.startswith("  -") and "datePublished" not in line]
    assert faults == []
    [row] = load_rows(folder)
    [record] = dataset.records("test")
    for name in ("instance_id", "instruction", "goal_function"):
        assert record[f"test/{name}"].decode() == row[name]  # type: ignore[literal-required]
    assert record["test/repo_archive"] == row["repo_archive"]
    assert record["test/recording"]["test/recording/sha256"].decode() == row["recording"]["sha256"]
    assert list(record["test/tests"]["test/tests/seeds"]) == row["tests"]["seeds"]
    cases = [
        (case["test/tests/cases/name"].decode(), case["test/tests/cases/rtol"]) for case in record["test/tests/cases"]
    ]
    assert cases == [(case["name"], case["rtol"]) for case in row["tests"]["cases"]]
