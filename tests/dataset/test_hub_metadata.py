"""The Hub derives viewer, features and Croissant from the card and the Parquet file: both must have what it needs."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import Features, load_dataset
from huggingface_hub import DatasetCard

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.columns import schema
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import LoadError, NoConfigError, data_file, load_rows
from lmrbench_data.tasks.manifest import load_benchmark


def test_the_card_and_the_parquet_files_have_what_the_hub_derives_metadata_from(
    tmp_path: Path, toy_row: DatasetRow, method_row: DatasetRow
) -> None:
    folder = tmp_path / "lmr-bench"
    write_dataset([toy_row, method_row], folder, load_benchmark())
    card = DatasetCard.load(folder / "README.md").data
    assert (card["license"], card["language"]) == (toy_row["license"], ["en"])
    assert card["pretty_name"]
    assert [config["config_name"] for config in card["configs"]] == ["function", "method"]
    for config, info in zip(card["configs"], card["dataset_info"], strict=True):
        [split] = config["data_files"]
        assert (config["config_name"], split["split"]) == (info["config_name"], "test")
        [file] = folder.glob(split["path"])
        # Parquet without extensions of our own: plain pyarrow reads it, and its types are those that the card declares.
        table = pq.read_table(file, partitioning=None)
        assert table.num_rows == info["splits"][0]["num_examples"] == 1
        assert not pq.read_schema(file).metadata.keys() - {b"huggingface"}
        declared, wanted = Features._from_yaml_list(info["features"]), schema(info["config_name"])
        assert declared == Features.from_arrow_schema(table.schema) == Features.from_arrow_schema(wanted)
    # What a stranger's `load_dataset` gives, without our loader.
    cache = str(tmp_path / "cache")
    assert list(load_dataset(str(folder), split="test", cache_dir=cache)) == [toy_row]
    assert list(load_dataset(str(folder), "method", split="test", cache_dir=cache)) == [method_row]


def test_a_configuration_is_loaded_and_verified_by_name(
    tmp_path: Path, toy_row: DatasetRow, method_row: DatasetRow
) -> None:
    folder = tmp_path / "lmr-bench"
    write_dataset([toy_row, method_row], folder, load_benchmark())
    assert load_rows(folder, "method") == [method_row]
    changed = tmp_path / "changed"
    write_dataset([toy_row, {**method_row, "venue": "Elsewhere"}], changed, load_benchmark())
    shutil.copy(changed / data_file("method"), folder / data_file("method"))
    for place, config, words in (
        (folder, "method", "was changed after the build"),
        (folder, "nothing", "has no configuration 'nothing'"),
        (folder, "../method", "has no configuration '../method'"),
    ):
        with pytest.raises(LoadError, match=words):
            load_rows(place, config)
    write_dataset([toy_row], folder, load_benchmark())  # a build without methods replaces one with them
    assert not (folder / data_file("method")).exists()
    with pytest.raises(NoConfigError, match="has no configuration 'method'"):
        load_rows(folder, "method")
