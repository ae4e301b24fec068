"""The built dataset: builds are byte-identical, real `datasets` loads them, nothing tampered or stale is served."""

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import yaml
from datasets import Features

from lmrbench.checks.lint import lint_tasks
from lmrbench.checks.proved import proofs
from lmrbench.checks.record import record_tasks
from lmrbench_data.base.archive import pack
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset import build
from lmrbench_data.dataset.build import FILES, build_rows, write_dataset
from lmrbench_data.dataset.columns import schema
from lmrbench_data.dataset.load import other_config
from lmrbench_data.dataset.publish import diff_rows
from lmrbench_data.loader import (
    CONFIGS,
    DATA_FILE,
    FUNCTION,
    File,
    LoadError,
    data_file,
    dataset_sha256,
    load,
    load_rows,
    recordings_sha256,
    row_sha256,
)
from lmrbench_data.tasks.manifest import Benchmark, load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from support.command_line import python
from support.toy import contents, stamped
from support.toy_check import LMRBENCH, TASK, edit

Row = dict[str, Any]


def rows_of(folder: Path) -> list[Row]:
    return build_rows(load_tasks(benchmark=folder))


def record(folder: Path, sandbox: Sandbox, **options: bool) -> str:
    """Bring the toy's recording up to date."""
    [done] = record_tasks(load_tasks(benchmark=folder), sandbox, **options)
    return done.state


@pytest.fixture(scope="session")
def benchmark() -> Benchmark:
    return Benchmark("lmr-bench", 'A: "title" | of {{ all }}', "1.2.3", "canary 42", "2026-01-31")


@pytest.fixture
def dataset(tmp_path: Path, toy_row: Row, benchmark: Benchmark) -> Path:
    """A built dataset of two rows."""
    rows = [stamped({**toy_row, "benchmark_version": "1.2.3", "instance_id": name}) for name in ("toy-a", "toy-b")]
    write_dataset(rows, tmp_path / "lmr-bench", benchmark)
    return tmp_path / "lmr-bench"


def rewrite(folder: Path, rows: Sequence[Row]) -> None:
    """Replace the rows of a dataset folder, but not its card."""
    schema = pyarrow.parquet.read_schema(folder / DATA_FILE)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema), folder / DATA_FILE)


# --- build ----------------------------------------------------------------------------------------------------------


def test_two_builds_are_byte_identical(toy_benchmark: Path, tmp_path: Path, local_sandbox: Sandbox) -> None:
    """One in this process, one by the command line in another, from a copy elsewhere, with another umask."""
    record(toy_benchmark, local_sandbox)
    copy = shutil.copytree(toy_benchmark, tmp_path / "elsewhere" / "b")
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
    first, second = tmp_path / "1" / "lmr-bench", tmp_path / "2" / "lmr-bench"
    write_dataset(rows_of(toy_benchmark), first, load_benchmark(toy_benchmark))
    command = [LMRBENCH, "dataset", "build", "--benchmark", str(copy), "--out", str(second)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, umask=0o077)
    assert done.returncode == 0, done.stderr
    assert contents(first) == contents(second)
    assert contents(first).keys() == {*FILES} - {data_file(config) for config in CONFIGS if config != FUNCTION}
    assert dataset_sha256(load_rows(first))[:12] in done.stdout


def test_files_of_other_systems_change_nothing(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    record(toy_benchmark, local_sandbox)
    [task] = load_tasks(benchmark=toy_benchmark)
    before = rows_of(toy_benchmark), proofs(task), lint_tasks(benchmark=toy_benchmark)
    for path in [toy_benchmark, *toy_benchmark.rglob("*")]:
        beside = [f"._{path.name}", f"{path.name}:Zone.Identifier"] if path != toy_benchmark else []
        for name in beside:
            path.with_name(name).write_bytes(b"\0\5\x16\7" + b"\xb0\xff" * 20)
        if path.is_dir():
            for name in (".DS_Store", "Thumbs.db", "Desktop.ini", "__MACOSX/._x.py", "@eaDir/x.py", "@eaDir/task.yaml"):
                (path / name).parent.mkdir(exist_ok=True)
                (path / name).write_bytes(b"\xff")
    [task] = load_tasks(benchmark=toy_benchmark)
    assert (rows_of(toy_benchmark), proofs(task), lint_tasks(benchmark=toy_benchmark)) == before
    assert record(toy_benchmark, local_sandbox) == "up to date"


def test_a_recording_belongs_to_the_task_it_was_made_from(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match=r"\.json: missing; run `lmrbench dataset record 90-toy --benchmark .*`"):
        rows_of(toy_benchmark)
    assert record(toy_benchmark, local_sandbox) == "recorded"
    built = rows_of(toy_benchmark)
    edit(toy_benchmark, "task.yaml", "same order", "same sequence")  # nothing that the reference depends on
    assert rows_of(toy_benchmark)[0]["expected"] == built[0]["expected"]
    edit(toy_benchmark, "task.yaml", "same sequence", "same order")
    assert record(toy_benchmark, local_sandbox) == "up to date"
    for name, old, new, changed in (
        ("repo/helpers.py", "0.0", "0.5", "repo/helpers.py"),
        ("unit_test/cases.py", "3.0", "4.0", "cases.py"),
        ("task.yaml", "seeds: [0, 1]", "seeds: [0, 2]", "the seeds"),
        ("task.yaml", "environment: torch-cpu", "environment: other", "the environment"),
    ):
        if new.endswith("other"):
            environments = toy_benchmark / "environments"
            shutil.copytree(environments / "torch-cpu", environments / "other")
        edit(toy_benchmark, name, old, new)
        with pytest.raises(InputError, match=rf": changed since it was recorded: {changed}; restore .*, or else run"):
            rows_of(toy_benchmark)
        edit(toy_benchmark, name, new, old)
    path = toy_benchmark / TASK / "repo/README.md"
    path.rename(path.with_name("kept.md"))
    with pytest.raises(InputError, match=r"recorded: repo/README.md \(missing\), repo/kept.md; restore"):
        rows_of(toy_benchmark)
    path.with_name("kept.md").rename(path)
    assert rows_of(toy_benchmark) == built


def test_build_refuses_a_copy_of_the_reference_of_any_name(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    (toy_benchmark / "90-toy/repo/older").mkdir()
    shutil.copy(toy_benchmark / "90-toy/repo/scale.py", toy_benchmark / "90-toy/repo/older/scale copy.txt")
    record(toy_benchmark, local_sandbox)
    out = toy_benchmark.with_name("built")
    command = [LMRBENCH, "dataset", "build", "--benchmark", str(toy_benchmark), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, out.exists(), "error: error:" in done.stderr) == (1, False, False)
    assert "error: toy-scale: repo/older/scale copy.txt: shows a line of the reference; remove it: " in done.stderr


@pytest.mark.parametrize("suffix", ["json", "frames.gz"])
def test_a_damaged_recording_is_one_clear_line(suffix: str, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    record(toy_benchmark, local_sandbox)
    built = rows_of(toy_benchmark)
    path = toy_benchmark / TASK / "recorded" / f"toy-scale.{suffix}"
    for damaged in (path.read_bytes()[:-20], b"", b"[" * 100_000):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"run `lmrbench dataset record 90-toy --benchmark .*`$"):
            rows_of(toy_benchmark)
    assert record(toy_benchmark, local_sandbox) == "recorded"
    assert rows_of(toy_benchmark) == built


def test_identity_is_that_of_the_content_not_of_a_machine(toy_row: Row) -> None:
    """Neither zlib's version nor the CPU that recorded changes it; a byte in an archive does."""
    names = "repo_archive", "tests_archive"
    squeezed = {name: gzip.compress(gzip.decompress(toy_row[name]), compresslevel=1) for name in names}
    assert squeezed["repo_archive"] != toy_row["repo_archive"]
    recording = {**toy_row["recording"], "cpu": "another", "sha256": "0" * 64}
    assert row_sha256({**toy_row, **squeezed, "expected": b"?", "recording": recording}) == toy_row["row_sha256"]
    assert row_sha256({**toy_row, "repo_archive": pack({"a": File(b"a")})}) != toy_row["row_sha256"]
    assert dataset_sha256([toy_row]) == dataset_sha256([{**toy_row, "recording": recording}])
    assert recordings_sha256([toy_row]) != recordings_sha256([{**toy_row, "recording": recording}])


FOREIGN: dict[str, list[str]] = {
    "notes": ["notes.txt"],
    "a_clone_with_git": ["README.md", DATA_FILE, ".git/config"],
    "a_dataset_of_somebody_else": ["README.md", DATA_FILE],
}


def test_a_folder_of_somebody_else_is_never_replaced(
    tmp_path: Path, dataset: Path, toy_row: Row, benchmark: Benchmark
) -> None:
    for name, files in FOREIGN.items():
        folder = tmp_path / name
        for path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("mine")
        with pytest.raises(InputError, match="use an empty folder"):
            write_dataset([toy_row], folder, benchmark)
        assert {path: (folder / path).read_text() for path in files} == dict.fromkeys(files, "mine")
    assert {path.name for path in tmp_path.iterdir()} == {*FOREIGN, dataset.name}
    write_dataset([toy_row], dataset, benchmark)  # a build replaces a build
    assert len(load_rows_of(dataset)) == 1
    (dataset / "data" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match=r"contains other files \(data/mine.txt\)"):
        write_dataset([toy_row], dataset, benchmark)
    with pytest.raises(InputError, match="is a file"):
        write_dataset([toy_row], dataset / "data/mine.txt", benchmark)


def load_rows_of(folder: Path) -> list[Row]:
    rows: list[Row] = pyarrow.parquet.ParquetFile(folder / DATA_FILE).read().to_pylist()
    return rows


@pytest.mark.parametrize("step", ["render_card", "render_eval_yaml", "replace_folder"])
def test_an_interrupted_build_leaves_the_old_one(
    step: str, dataset: Path, toy_row: Row, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    before = contents(dataset)
    monkeypatch.setattr(build, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_dataset([toy_row], dataset, benchmark)
    assert contents(dataset) == before
    assert list(dataset.parent.iterdir()) == [dataset], "nothing is left beside it"


def test_the_card_is_read_back_by_the_hub_library(dataset: Path, toy_row: Row) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(dataset / "README.md")
    assert card.data["pretty_name"] == 'A: "title" | of {{ all }}'
    assert card.data["lmrbench"]["version"] == card.data["configs"][0]["version"] == "1.2.3"
    assert card.data["lmrbench"]["sha256"] in card.data["dataset_info"][0]["description"]
    assert re.search(r"^\| `toy-b`<br>.* \| \[A Toy\]\(https://example.org/toy\) \(Nowhere 2026\) \|", card.text, re.M)
    assert "canary 42" in card.text
    assert toy_row["golden_file"] not in card.text
    registration = yaml.safe_load((dataset / "eval.yaml").read_text())
    assert registration["name"] == 'A: "title" | of {{ all }}'
    # The fields that the Hub's page on evaluation results documents.
    assert registration.keys() == {"name", "description", "evaluation_framework", "tasks"}
    assert registration["evaluation_framework"] == "harbor"
    assert all(task.keys() == {"id", "config", "split"} and task["split"] == "test" for task in registration["tasks"])
    assert [task["id"] for task in registration["tasks"]] == ["function", "function_contract"]
    assert "0 to 100" in registration["description"]


# --- load -----------------------------------------------------------------------------------------------------------

LOAD = """
    import sys
    from datasets import load_dataset
    from lmrbench_data.loader import dataset_sha256, row_sha256
    rows = load_dataset(sys.argv[1], split="test")
    assert all(row_sha256(row) == row["row_sha256"] for row in rows)
    print(dataset_sha256(rows), len(rows))
"""


@pytest.mark.slow
def test_load_dataset_gives_every_row_bit_for_bit_and_never_a_stale_one(
    dataset: Path, benchmark: Benchmark, tmp_path: Path
) -> None:
    """By name from the working directory, in fresh processes that share a cache, before and after a rebuild."""
    environment = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    options = {"cwd": dataset.parent, "env": environment}
    built = f"{dataset_sha256(load_rows_of(dataset))} 2"
    assert python(LOAD, "lmr-bench", **options) == built
    # A change that alters neither the size nor the number of rows.
    rows = [stamped({**row, "instruction": row["instruction"].swapcase()}) for row in load_rows_of(dataset)]
    write_dataset(rows, dataset, benchmark)
    rebuilt = f"{dataset_sha256(rows)} 2"
    assert rebuilt != built
    assert python(LOAD, "lmr-bench", **options) == rebuilt
    write_dataset(rows[:1], dataset, benchmark)
    assert python(LOAD, "lmr-bench", **options).endswith(" 1")


def test_rows_of_some_instances_are_those_of_all() -> None:
    """A caller that needs some rows waits only for their tasks; one that names an unknown row can list all."""
    from lmrbench_data.dataset.load import load_rows

    names = ["dpo-counterfactual-1", "hit-counterfactual-2"]
    rows = {row["instance_id"]: row for row in load_rows("embedded", "counterfactual", [*names, "dpo"])}
    assert len(rows) == sum(len(task.counterfactuals) for task in load_tasks())
    assert load_rows("embedded", "counterfactual", names) == [rows[name] for name in names]


def test_load_returns_the_built_rows_with_their_features(dataset: Path) -> None:
    rows = load(dataset)
    assert rows.features == Features.from_arrow_schema(schema())
    assert list(rows) == load_rows(dataset) == load_rows_of(dataset)


def changed(rows: Sequence[Row], **values: Any) -> list[Row]:
    return [{**rows[0], **values}, *rows[1:]]


def without_stamp(folder: Path) -> None:
    path = folder / "README.md"
    path.write_text(path.read_text().replace("lmrbench:", "other:"))


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a_column": (lambda f: rewrite(f, changed(load_rows_of(f), instruction="easy")), "row 'toy-a' was changed"),
    "the_hidden_answer": (lambda f: rewrite(f, changed(load_rows_of(f), expected=b"")), "row 'toy-a' was changed"),
    "a_row_with_its_hash": (
        lambda f: rewrite(f, [stamped(changed(load_rows_of(f), instruction="easy")[0]), load_rows_of(f)[1]]),
        "the rows do not match the card",
    ),
    "a_hash": (lambda f: rewrite(f, changed(load_rows_of(f), row_sha256="0" * 64)), "row 'toy-a' was changed"),
    "a_name_that_leads_out": (
        lambda f: rewrite(f, [stamped({**load_rows_of(f)[0], "instance_id": "../../../x"}), load_rows_of(f)[1]]),
        "instance_id '../../../x' is not a plain name",
    ),
    "no_rows": (lambda f: rewrite(f, []), "the rows do not match the card"),
    "other_columns": (
        lambda f: pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), f / DATA_FILE),
        "instance_id None is not a plain name",
    ),
    "damaged_parquet": (
        lambda f: (f / DATA_FILE).write_bytes((f / DATA_FILE).read_bytes()[:-100]),
        f"{DATA_FILE} cannot be read",
    ),
    "no_parquet": (lambda f: (f / DATA_FILE).unlink(), f"no {DATA_FILE}"),
    "no_card": (lambda f: (f / "README.md").unlink(), "no README.md, or no"),
    "no_stamp": (without_stamp, "no `lmrbench` entry"),
    "card_is_no_text": (lambda f: (f / "README.md").write_bytes(b"\xff\xfe"), "no `lmrbench` entry"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_detected(name: str, dataset: Path) -> None:
    tamper, message = TAMPERED[name]
    assert len(load_rows(dataset)) == 2
    tamper(dataset)
    for call in (load, load_rows):
        with pytest.raises(LoadError) as caught:
            call(dataset)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{dataset}: ")
        assert "\n" not in str(caught.value)


def test_folder_of_any_name_is_loaded(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("qwen3:8b", "file:x", "bench [v2]", "a::b", "org/bench@v9.9.9", "key=value/bench"):
        shutil.copytree(dataset, name)
        assert len(load_rows(name)) == len(load(name)) == 2


def test_configurations_are_read_again_after_a_rebuild(dataset: Path, benchmark: Benchmark, toy_row: Row) -> None:
    assert other_config("toy-b", dataset) == ", which belongs to the configuration function"
    assert other_config("toy-c", dataset) == ""
    write_dataset([stamped({**toy_row, "benchmark_version": "1.2.3", "instance_id": "toy-c"})], dataset, benchmark)
    assert other_config("toy-c", dataset) == ", which belongs to the configuration function"
    assert other_config("toy-b", dataset) == ""


def test_a_spec_that_names_nothing_is_one_clear_line(tmp_path: Path) -> None:
    for spec in ("", "nothing", "a/b/c", str(tmp_path / "gone"), "name@v1"):
        with pytest.raises(LoadError, match="no such folder; use a folder, org/name"):
            load_rows(spec)
    with pytest.raises(LoadError, match=r"^dataset 'x{200}': no such folder"):
        load_rows("x" * 300)


def test_loader_alone_needs_nothing_of_the_package(dataset: Path, tmp_path: Path) -> None:
    """The file that the dataset carries, in a process where `lmrbench_data` cannot be imported."""
    alone = """
        import sys
        sys.modules["lmrbench_data"] = None
        import loader
        assert loader.__file__.endswith("lmr-bench/loader.py"), loader.__file__
        rows = loader.load("lmr-bench")
        print(loader.unpack(rows[0], "work/repo"), len(rows))
        try:
            loader.load("embedded")
        except loader.LoadError as error:
            print(error)
    """
    printed = python(alone, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(dataset)})
    assert printed.splitlines() == [
        "work/repo 2",
        "dataset 'embedded': no such folder; use a folder, org/name[@revision], or with the package "
        "(pip install lmrbench) 'embedded'",
    ]
    text = (tmp_path / "work" / "repo" / "scale.py").read_text()
    assert "raise NotImplementedError" in text
    assert "value * factor" not in text


# --- diff -----------------------------------------------------------------------------------------------------------


def test_diff_names_each_change_and_nothing_else(toy_row: Row) -> None:
    new = {**toy_row, "contract": "a\nb", "year": 1, "expected": b"", "row_sha256": "", "repo_archive": b""}
    assert list(diff_rows([toy_row], [toy_row])) == []
    assert {change.column: change.summary for change in diff_rows([toy_row], [new])} == {
        "contract": "changed",
        "year": "2026 -> 1",
        "repo_archive": "changed",
        "expected": "changed",
    }
    other = {**toy_row, "instance_id": "other"}
    assert [(change.instance_id, change.summary) for change in diff_rows([toy_row], [other])] == [
        ("other", "added"),
        ("toy-scale", "removed"),
    ]
