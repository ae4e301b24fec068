"""`org/name[@revision]` over real HTTP with the real Hub client: the rows asked for, verified, or one clear line."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub.errors import HfHubHTTPError

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.loader import DATA_FILE, HubUnavailableError, load
from lmrbench_data.tasks.manifest import Benchmark
from support.hub_server import Fault, Files, Hub
from support.hub_server.store import RefusedError
from support.hub_world import DATASET as REPO
from support.hub_world import World
from support.toy import contents, stamped

CLIENT = """
import json, sys
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import LoadError
answers = {}
for spec in sys.argv[1:]:
    try:
        answers[spec] = " ".join(f"{row['benchmark_version']} {row['instruction']}" for row in load_rows(spec))
    except LoadError as error:
        answers[spec] = f"error: {error}"
print(json.dumps(answers))
"""


@pytest.fixture
def built(tmp_path: Path, toy_row: dict[str, Any]) -> Callable[..., Files]:
    """The files of a dataset with this version, as they are pushed."""

    def build(version: str, instruction: str = "first") -> Files:
        row = stamped(toy_row, benchmark_version=version, instruction=instruction)
        folder = tmp_path / f"{version}-{instruction}"
        write_dataset([row], folder, Benchmark("lmr-bench", "T", version, "c", "2026-01-31"))
        return contents(folder)

    return build


@pytest.fixture
def client(tmp_path: Path, hub: Hub) -> Callable[..., Any]:
    """Run a client program in a fresh process and return the JSON that it prints; all share one cache."""
    world = World(tmp_path, hub)

    def run(*specs: str, offline: bool = False) -> Any:
        done = world.lmrbench(*specs, program=CLIENT, HF_HUB_OFFLINE=str(int(offline)))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.slow
def test_each_revision_gives_its_own_rows(hub: Hub, built: Callable[..., Files], client: Callable[..., Any]) -> None:
    first = hub.commit(REPO, built("1.0.0"), "main", "v1.0.0")
    assert client(REPO) == {REPO: "1.0.0 first"}
    hub.commit(REPO, built("1.1.0", "second"), "main", "v1.1.0")
    hub.commit(REPO, built("1.2.0", "third"), "refs/pr/1")
    assert client(REPO, *(f"{REPO}@{name}" for name in ("main", "v1.0.0", "v1.1.0", "refs/pr/1", first))) == {
        REPO: "1.1.0 second",
        f"{REPO}@main": "1.1.0 second",
        f"{REPO}@v1.0.0": "1.0.0 first",
        f"{REPO}@v1.1.0": "1.1.0 second",
        f"{REPO}@refs/pr/1": "1.2.0 third",
        f"{REPO}@{first}": "1.0.0 first",
    }


def test_revision_is_never_read_from_a_local_folder(
    hub: Hub, built: Callable[..., Files], client: Callable[..., Any], tmp_path: Path
) -> None:
    hub.commit(REPO, built("1.0.0"), "main", "v1.0.0")
    for name, content in built("2.0.0", "local").items():
        (tmp_path / REPO / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / REPO / name).write_bytes(content)
    assert client(REPO, f"{REPO}@v1.0.0") == {REPO: "2.0.0 local", f"{REPO}@v1.0.0": "1.0.0 first"}


def test_card_tag_and_rows_that_differ_are_refused(
    hub: Hub, built: Callable[..., Files], client: Callable[..., Any]
) -> None:
    old, new = built("1.0.0"), built("1.0.0", "changed")
    hub.commit(REPO, built("1.0.1"), "v1.0.0", "main")
    hub.commit("org/old-rows", {**new, DATA_FILE: old[DATA_FILE]}, "v1.0.0")
    hub.commit("org/old-version", {**built("1.0.1"), DATA_FILE: old[DATA_FILE]}, "main")
    hub.commit("org/no-stamp", {**old, "README.md": b"# Something else\n"}, "main")
    hub.commit("org/no-rows", {"README.md": old["README.md"]}, "main")
    hub.commit("org/damaged", {**old, DATA_FILE: old[DATA_FILE][:-50]}, "main")
    expected = {
        f"{REPO}@v1.0.0": "the card says version 1.0.1; the tag was moved",
        f"{REPO}@v9.9.9": "cannot be downloaded (RevisionNotFoundError",
        f"{REPO}@branch": "cannot be downloaded (RevisionNotFoundError",
        "org/nothing": "cannot be downloaded (RepositoryNotFoundError",
        "org/old-rows@v1.0.0": "the rows do not match the card",
        "org/old-version": "rows of another version than the card's, 1.0.1",
        "org/no-stamp": "no `lmrbench` entry in its header: not an LMR-Bench dataset",
        "org/no-rows": f"no {DATA_FILE}; `lmrbench dataset build` makes a dataset folder",
        "org/damaged": f"{DATA_FILE} cannot be read",
    }
    found = client(*expected)
    for spec, message in expected.items():
        assert found[spec].startswith(f"error: {spec}: "), found[spec]
        assert message in found[spec]
        assert "\n" not in found[spec]


@pytest.mark.slow
def test_unreachable_hub_is_one_line_and_only_pinned_revisions_come_from_the_cache(
    hub: Hub, built: Callable[..., Files], client: Callable[..., Any], tmp_path: Path
) -> None:
    first = hub.commit(REPO, built("1.0.0"), "v1.0.0")
    hub.commit(REPO, built("1.1.0", "second"), "main", "v1.1.0")
    client(REPO, f"{REPO}@main", f"{REPO}@v1.0.0", f"{REPO}@{first}")
    moving = [REPO, f"{REPO}@main"]
    hub.faults = [Fault("", "drop", times=10**6)]
    assert client(REPO)[REPO].startswith(f"error: {REPO}: not a folder here, and cannot be downloaded (RemotePro")
    hub.stop()
    dead = client(*moving, f"{REPO}@{first}")
    offline = client(*moving, f"{REPO}@{first}", f"{REPO}@v1.0.0", f"{REPO}@v1.1.0", offline=True)
    assert dead[f"{REPO}@{first}"] == offline[f"{REPO}@{first}"] == offline[f"{REPO}@v1.0.0"] == "1.0.0 first"
    for answers, specs in ((dead, moving), (offline, [*moving, f"{REPO}@v1.1.0"])):
        for spec in specs:
            assert answers[spec].startswith(f"error: {spec}: not a folder here, and cannot be downloaded (")
            assert "\n" not in answers[spec]
    for spec in moving:
        assert "HF_HUB_OFFLINE" in offline[spec]
        assert offline[spec].endswith("offline, name a version or commit in the cache")
    done = World(tmp_path, hub).lmrbench("evaluate", "gold", "--dataset", REPO, "--sandbox", "local")
    assert (done.returncode, "the Hub does not answer, try again later" in done.stderr) == (3, True)


@pytest.mark.parametrize("status", [401, 403])
def test_gated_dataset_shows_the_hubs_own_sentence(
    status: int, hub: Hub, built: Callable[..., Files], client: Callable[..., Any], tmp_path: Path
) -> None:
    """Everybody may see its files' names; their content is refused, with the code that the Hub sends."""
    hub.commit(REPO, {**built("1.0.0"), "rows.jsonl": b"{}"}, "main", "v1.0.0")
    sentence = f"Access to dataset {REPO} is restricted. Visit its page to ask for access."

    def refuse() -> None:
        raise RefusedError(status, sentence, "GatedRepo")

    hub.faults = [Fault("/resolve/", refuse, times=10**6)]
    for spec, message in client(REPO, f"{REPO}@v1.0.0").items():
        assert message.startswith(f"error: {spec}: not a folder here, and cannot be downloaded (Gated")
        assert f"GatedRepoError: {sentence}" in message
        assert "access (`hf auth login`)" in message
    done = World(tmp_path, hub).lmrbench("evaluate", REPO, "--sandbox", "local")
    assert f"on the Hub: gated ({sentence}); run `hf auth login`, and ask for access on its page" in done.stderr


BROKEN = [
    RuntimeError("Data processing error: CAS service error: ReqwestMiddleware Error: Request failed"),
    OSError("Consistency check failed: file should be of size 90 but has size 50 (test.parquet)."),
    ConnectionResetError(104, "Connection reset by peer"),
]


@pytest.mark.parametrize("error", BROKEN, ids=["Xet", "cut short", "reset"])
def test_download_that_breaks_off_is_a_failure_of_the_hub(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: SimpleNamespace(sha="a" * 40))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(HubUnavailableError, match="the Hub does not answer") as refused:
        load(REPO)
    assert type(error).__name__ in str(refused.value)
    assert refused.value.exit_code == 3
    with pytest.raises(InfraError, match="the Hub does not answer"), hub_errors(REPO):
        fail()


def test_broken_upload_is_a_failure_of_the_hub_and_a_refused_one_is_not() -> None:
    """The client wraps both into RuntimeError."""
    refusal = HfHubHTTPError("no", response=SimpleNamespace(status_code=403, headers={}, request=None))  # type: ignore[arg-type]
    for cause, kind, words in (
        (ConnectionResetError("reset"), InfraError, "the Hub does not answer"),
        (refusal, InputError, "not allowed"),
    ):
        with pytest.raises(kind, match=words), hub_errors(REPO):
            raise RuntimeError("Error while uploading 'test.parquet' to the Hub.") from cause
