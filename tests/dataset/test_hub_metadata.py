"""The Hub derives viewer, features and Croissant from the card and the Parquet file: both must have what it needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import Features, load_dataset
from huggingface_hub import DatasetCard

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.column_descriptions import COLUMNS
from lmrbench_data.dataset.rows import DatasetRow, schema
from lmrbench_data.tasks.manifest import load_benchmark


def column_names(fields: Any, above: str = "") -> Iterator[str]:
    for field in fields:
        kind = field.type.value_type if hasattr(field.type, "value_type") else field.type
        yield f"{above}{field.name}"
        yield from column_names([kind.field(index) for index in range(kind.num_fields)], f"{above}{field.name}.")


def test_the_card_and_the_parquet_file_have_what_the_hub_derives_metadata_from(
    tmp_path: Path, toy_row: DatasetRow
) -> None:
    folder = tmp_path / "lmr-bench"
    write_dataset([toy_row], folder, load_benchmark())
    card = DatasetCard.load(folder / "README.md").data
    assert (card["license"], card["language"]) == (toy_row["license"], ["en"])
    assert card["pretty_name"]
    [config] = card["configs"]
    [split] = config["data_files"]
    assert (config["config_name"], split["split"]) == ("function", "test")
    [file] = folder.glob(split["path"])
    # Parquet without extensions of our own: plain pyarrow reads it, and its types are those that the card declares.
    table = pq.read_table(file)
    assert table.num_rows == card["dataset_info"][0]["splits"][0]["num_examples"] == 1
    assert not pq.read_schema(file).metadata.keys() - {b"huggingface"}
    declared = Features._from_yaml_list(card["dataset_info"][0]["features"])
    assert declared == Features.from_arrow_schema(table.schema) == Features.from_arrow_schema(schema())
    # What a stranger's `load_dataset` gives, without our loader.
    [row] = load_dataset(str(folder), split="test", cache_dir=str(tmp_path / "cache"))
    assert row == toy_row


def test_every_column_is_described_nested_ones_too() -> None:
    assert list(COLUMNS) == list(column_names(schema()))
    assert all(text.endswith(".") for text in COLUMNS.values())
