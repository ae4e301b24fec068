"""`lmrbench dataset push` with the real client over HTTP: once, tagged, read back bit for bit, faults at each step."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.manifest import load_benchmark
from support.command_line import in_process
from support.hub_server import Fault, Hub
from support.hub_world import DATASET, World, mark_as_checked
from support.toy import contents, write_toy_benchmark

Command = Callable[..., subprocess.CompletedProcess[str]]

#: Prints a hash of every cell of every row, as the real `datasets` library reads them.
LOAD_DATASET = """
import sys, hashlib, pickle
from datasets import load_dataset
rows = load_dataset(sys.argv[1], revision=sys.argv[2] if len(sys.argv) > 2 else None, split="test")
print(hashlib.sha256(pickle.dumps([sorted(row.items()) for row in rows.to_list()])).hexdigest())
"""


@pytest.fixture
def lmrbench(tmp_path: Path, hub: Hub) -> Command:
    """Run a command on the test's Hub, as `ann` unless told otherwise."""
    return World(tmp_path, hub).lmrbench


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a benchmark, its build, and the record of its check; made once."""
    folder = tmp_path_factory.mktemp("prepared")
    benchmark = write_toy_benchmark(folder / "benchmark")
    assert in_process("dataset", "record", "--benchmark", benchmark, "--sandbox", "local").returncode == 0
    build(benchmark)
    return folder


@pytest.fixture
def built(tmp_path: Path, prepared: Path) -> Path:
    """A benchmark, built into `lmr-bench` and recorded as checked in Docker (the story checks it for real)."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path / "benchmark"


def build(benchmark: Path, version: str = "0.1.0") -> None:
    path = benchmark / "benchmark.yaml"
    path.write_text(re.sub("(?m)^version: .*", f"version: {version}", path.read_text()))
    done = in_process("dataset", "build", "--benchmark", benchmark, cwd=benchmark.parent)
    assert done.returncode == 0, done.stderr
    mark_as_checked(benchmark)


def push(lmrbench: Command, benchmark: Path, *options: str, token: str = "ann") -> tuple[int, str]:
    done = lmrbench("dataset", "push", DATASET, "--benchmark", benchmark, "--yes", *options, token=token)
    assert "Traceback" not in done.stderr
    return done.returncode, (done.stdout + done.stderr).strip()


def commits(hub: Hub) -> list[str]:
    return [commit.title for commit in hub.repo(DATASET).commits.values()]


def test_push_and_load(tmp_path: Path, hub: Hub, lmrbench: Command, built: Path) -> None:
    code, said = push(lmrbench, built, "--private", token="bob")
    assert (code, "needs the `write` role" in said.splitlines()[-1]) == (1, True), said
    code, said = push(lmrbench, built, "--dry-run")
    assert code == 0
    assert "toy-scale  row: added" in said
    assert hub.store.repos == {}, "neither a token without the right nor a dry run changes anything"
    code, said = push(lmrbench, built)
    assert code == 0, said
    assert "pushed: org/lmr-bench@v0.1.0" in said
    published = {name: data for name, data in hub.files(DATASET).items() if name != ".gitattributes"}
    assert published == contents(tmp_path / "lmr-bench")
    local = lmrbench(str(tmp_path / "lmr-bench"), program=LOAD_DATASET)
    remote = lmrbench(DATASET, "v0.1.0", program=LOAD_DATASET)
    assert local.stdout == remote.stdout != ""

    code, said = push(lmrbench, built)
    assert (code, "already published" in said) == (0, True)
    assert len(commits(hub)) == 2, "pushing again changes nothing"


#: Prints the ids, and the first lines of the instructions, that the packaged builder for Harbor reads.
LOAD_HARBOR = """
import sys
from datasets import load_dataset
from huggingface_hub import snapshot_download
folder = snapshot_download(sys.argv[1], repo_type="dataset", revision="v0.1.0", allow_patterns="harbor/*")
for row in load_dataset("harbor", data_dir=folder + "/harbor", split="test"):
    print(row["name"], row["instruction"].splitlines()[0])
"""


@pytest.mark.slow
def test_tasks_for_harbor_are_pushed_beside_the_rows(hub: Hub, lmrbench: Command, built: Path) -> None:
    code, said = push(lmrbench, built, "--harbor")
    assert code == 0, said
    files = hub.files(DATASET)
    [registered] = json.loads(files["registry.json"])
    assert registered["tasks"] == [{"name": "toy-scale", "path": "harbor/toy-scale"}]
    assert "harbor/toy-scale/task.toml" in files
    assert len(lmrbench(DATASET, "v0.1.0", program=LOAD_DATASET).stdout) == 65, "the rows load as before"
    canary = load_benchmark(built).canary
    assert files["harbor/toy-scale/instruction.md"].decode().startswith(f"<!-- {canary} -->\n\nYour workspace")
    read = lmrbench(DATASET, program=LOAD_HARBOR)
    assert read.stdout == "lmr-bench/toy-scale Your workspace is `/app`.\n", read.stderr


@pytest.mark.slow
def test_a_new_version_shows_what_changed_and_replaces_main(hub: Hub, lmrbench: Command, built: Path) -> None:
    assert push(lmrbench, built)[0] == 0
    hub.commit(DATASET, {**hub.files(DATASET), "notes.txt": b"left behind"}, "main")
    task = built / "90-toy" / "task.yaml"
    task.write_text(task.read_text().replace("Return a new list", "Give back a new list"))
    build(built)
    code, said = push(lmrbench, built)
    assert (code, "v0.1.0 is already published with other content; raise `version`" in said) == (1, True)

    build(built, "0.2.0")
    done = lmrbench("dataset", "push", DATASET, "--benchmark", built, "--json", "--dry-run")
    plan = json.loads(done.stdout)
    assert (plan["tag"], plan["commit"], plan["removed"]) == ("v0.2.0", None, ["notes.txt"])
    assert {(item["instance_id"], item["column"]) for item in plan["changes"]} == {
        ("toy-scale", "contract"),
        ("toy-scale", "benchmark_version"),
    }
    assert push(lmrbench, built)[0] == 0
    assert "notes.txt" not in hub.files(DATASET)
    assert ".gitattributes" in hub.files(DATASET)
    assert (
        hub.repo(DATASET).resolve("v0.1.0").sha
        != hub.repo(DATASET).resolve("v0.2.0").sha
        == hub.repo(DATASET).refs["main"]
    )

    build(built, "0.1.9")
    code, said = push(lmrbench, built)
    assert (code, "v0.2.0 is newer than v0.1.9" in said) == (1, True)


#: Faults, and what a push then says.
FAULTS: dict[str, tuple[list[Fault], int, str]] = {
    "lost answer to the repository": ([Fault("POST /api/repos/create", "lose")], 3, "the Hub does not answer"),
    "lost answer to the commit": ([Fault("POST .*/commit/main", "lose")], 3, "run the command again"),
    "dropped commit": ([Fault("POST .*/commit/main", "drop")], 3, "the Hub does not answer"),
    "rate limit at the commit": ([Fault("POST .*/commit/main", 429)], 3, "too many requests; try again later"),
    "lost answer to the tag": ([Fault("POST .*/tag/", "lose")], 3, "the Hub does not answer"),
    "somebody was faster": ([Fault("POST .*/commit/main", 412)], 1, "the repository has changed in the meantime"),
    "dropped reading back": ([Fault("/resolve/", "drop", times=99)], 3, "the Hub does not answer"),
    "no answer at all": ([Fault("", "drop", times=999)], 3, "the Hub does not answer"),
    "a Hub that stays broken": ([Fault("POST .*/commit/main", 500, times=99)], 3, "the Hub failed with 500"),
}


def test_rows_need_a_proof_of_their_present_content(hub: Hub, lmrbench: Command, built: Path) -> None:
    """proved.json counts as long as nothing that was checked has changed: row, variants, recording."""
    (built / "proved.json").unlink()
    command = f"lmrbench dataset check --benchmark {built} --sandbox docker"
    refused = f"error: lmr-bench: not checked in Docker: toy-scale; run `{command}`"
    assert push(lmrbench, built) == (1, refused)
    mark_as_checked(built)
    variant = next(built.glob("90-toy/variants/*/valid/*.py"))
    variant.write_text(variant.read_text() + "# Changed.\n")
    assert push(lmrbench, built) == (1, refused)
    mark_as_checked(built)
    task = built / "90-toy" / "task.yaml"
    task.write_text(task.read_text().replace("same order", "same sequence"))
    assert push(lmrbench, built) == (1, refused)
    mark_as_checked(built)
    code, said = push(lmrbench, built)
    assert code == 0, said
    assert "tags/v0.1.0" in hub.repo(DATASET).refs


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sampled(3)
@pytest.mark.slow
def test_nothing_is_lost_or_doubled(fault: str, hub: Hub, lmrbench: Command, built: Path) -> None:
    hub.faults, expected, message = FAULTS[fault]
    code, said = push(lmrbench, built)
    assert code == expected, said
    assert message in said
    hub.faults = []
    assert push(lmrbench, built)[0] == 0
    assert [title.partition(" (")[0] for title in commits(hub)] == ["initial commit", "LMR-Bench v0.1.0"]
    assert hub.repo(DATASET).refs["tags/v0.1.0"] == hub.repo(DATASET).refs["main"]


def test_set_without_the_default_configuration_is_compared(
    tmp_path: Path, hub: Hub, lmrbench: Command, method_row: DatasetRow
) -> None:
    """As `dataset private` writes it."""
    write_dataset([method_row], tmp_path / "set", load_benchmark())
    hub.commit(DATASET, contents(tmp_path / "set"), "main")
    program = f"""
from lmrbench_data.base.hub_client import open_hub
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.publish import plan_push
from lmrbench_data.tasks.manifest import load_benchmark

print(plan_push(open_hub(), {DATASET!r}, {{"method": load_rows("set", "method")}}, load_benchmark()).changes)
"""
    done = lmrbench(program=program)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
