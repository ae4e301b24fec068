"""Fixtures shared by all tests: a toy benchmark that needs no torch, the sandboxes, and the session's own caches."""

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import hypothesis
import pytest

import lmrbench as lmr
from lmrbench_data.base.errors import InfraError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import METHOD
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.verdict import Verdict
from support.toy import IN_CI, IN_DEPTH, attempt_in, recorded_rows, write_toy_benchmark
from support.toy_method import add_toy_method

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from support.hub_server import Hub
    from support.hub_world import World
    from support.openai_server import Server

# A shell starts background jobs with interrupts ignored, and children would inherit that; tests send interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Much of what a thousand tests load lasts; looking through it for garbage less often saves 5% of their own CPU time.
gc.set_threshold(20_000, 20, 50)
# Half of hypothesis's examples except in depth, and no limit of wall time, which busy machines exceed.
hypothesis.settings.register_profile("ours", max_examples=100 if IN_DEPTH else 50, deadline=None)
hypothesis.settings.load_profile("ours")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests of third-party agents; keep only as many of a test's parameters as its `sampled` mark allows.

    Of each family of attacks, all run in Docker, two in bubblewrap, and one in sandboxes for a single answer, whose
    code is the same. All parameters run in depth, or if a test is named.
    """
    if not os.environ.get("LMRBENCH_TEST_AGENTS"):
        for item in items:
            if item.get_closest_marker("agents"):
                item.add_marker(pytest.mark.skip(reason="`make test-agents` installs the agents and runs this test"))
    items.sort(key=_turn)
    for item in items:
        if _turn(item)[0] and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))  # the first ones may have to wait for an image
    if IN_DEPTH or any("::" in argument for argument in config.args):
        return
    groups: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if _most(item):
            groups.setdefault((item.nodeid.partition("[")[0], _wall(item)), []).append(item)
    left_out: set[pytest.Item] = set()
    for group in groups.values():
        most = _most(group[0])
        kept = {round(number * (len(group) - 1) / max(1, most - 1)) for number in range(most)}
        left_out |= {item for number, item in enumerate(group) if number not in kept}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _turn(item: pytest.Item) -> tuple[bool, bool, bool, int]:
    """Return a key that sorts tests: bubblewrap first, Docker last, and of those with the same needs, long ones first.

    Tests that share a zygote or a browser stand together, so that few processes of a parallel run start one. Others run
    while an image is built for Docker, and no process starts a long test when the rest have nothing left to do.
    """
    needs = {mark.name for mark in item.iter_markers()} | {*getattr(item, "fixturenames", ())}
    shares = "browser" in needs or bool(_wall(item))
    limit = item.get_closest_marker("timeout")
    return bool(needs & {"docker", "docker_sandbox"}), "bwrap" not in needs, not shares, -limit.args[0] if limit else 0


def _wall(item: pytest.Item) -> str:
    """Return the wall that a test of several runs behind, or nothing."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return str(params.get("walled_sandbox") or params.get("child_sandbox") or "")


def _most(item: pytest.Item) -> int:
    """Return how many parameters of a test run behind its wall; 0 for all."""
    wall = _wall(item)
    if wall and wall != "docker":
        return 2 if wall == "bwrap" else 1
    mark = item.get_closest_marker("sampled")
    return int(mark.args[0]) if mark else 0


@pytest.fixture(scope="session", autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's caches; `datasets` gets a cache of its own too."""
    folder = tmp_path_factory.mktemp("caches")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMRBENCH_CACHE", str(folder / "lmrbench"))
        patch.setenv("HF_HOME", str(folder / "huggingface"))
        patch.setenv("LMRBENCH_BACKOFF_SCALE", "0.05")
        yield


@pytest.fixture(scope="module", autouse=True)
def _own_environment(_own_caches: None) -> Iterator[None]:
    """Restore the variables after each module: a library such as Ray sets some that make later commands start cold."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture
def toy_benchmark(tmp_path: Path) -> Path:
    """A fresh copy of the toy benchmark, which the test may change."""
    return write_toy_benchmark(tmp_path / "benchmark")


@pytest.fixture(scope="session")
def local_sandbox() -> Iterator[Sandbox]:
    yield from _started(LocalSandbox)


def _missing(reason: str) -> NoReturn:
    """Fail in CI, and skip elsewhere."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def _started(kind: Callable[[], Sandbox]) -> Iterator[Sandbox]:
    try:
        sandbox = kind()
    except InfraError as error:
        _missing(str(error))
    yield sandbox
    sandbox.close()


def _real(kind: str, isolation: Any = "shared") -> Iterator[Sandbox]:
    """Open a sandbox. Without what it needs, the test fails in CI and is skipped elsewhere."""
    from lmrbench_evaluate.sandbox import open_sandbox

    yield from _started(lambda: open_sandbox(kind, isolation=isolation))


@pytest.fixture(scope="session")
def docker_sandbox() -> Iterator[Sandbox]:
    """The real engine."""
    yield from _real("docker")


@pytest.fixture(scope="session")
def _image(docker_sandbox: Sandbox, toy_row: DatasetRow) -> None:
    """The environment's image, built if it is missing."""
    docker_sandbox.prepare(toy_row["docker_image"])


@pytest.fixture(autouse=True)
def _image_for_docker(request: pytest.FixtureRequest) -> None:
    """No time limit within a test includes the time to build an image."""
    if request.node.get_closest_marker("docker"):
        request.getfixturevalue("_image")


@pytest.fixture(scope="session")
def bwrap_sandbox() -> Iterator[Sandbox]:
    """Real bubblewrap."""
    yield from _real("bwrap")


@pytest.fixture(scope="session")
def docker_container_sandbox() -> Iterator[Sandbox]:
    """The real engine, with a container for each answer."""
    yield from _real("docker", "container")


@pytest.fixture(scope="session")
def bwrap_container_sandbox() -> Iterator[Sandbox]:
    """Real bubblewrap, started for each answer."""
    yield from _real("bwrap", "container")


#: Sandboxes with walls.
WALLS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bwrap", marks=pytest.mark.bwrap)]


@pytest.fixture(params=WALLS)
def wall(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A sandbox that no other test uses, of each kind in turn."""
    with type(request.getfixturevalue(f"{request.param}_sandbox"))() as sandbox:
        yield sandbox


@pytest.fixture(scope="session", params=WALLS)
def shared_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that runs many answers, in turn."""
    sandbox: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    return sandbox


#: The walls that attacks run against.
LIVES = [*WALLS, *(pytest.param(f"{param.values[0]}_container", marks=param.marks) for param in WALLS)]


@pytest.fixture(scope="session", params=LIVES)
def walled_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that promises isolation, in turn."""
    sandbox: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    return sandbox


@pytest.fixture(scope="session")
def toy_row(tmp_path_factory: pytest.TempPathFactory, local_sandbox: Sandbox) -> DatasetRow:
    """The dataset row of the toy task."""
    folder = write_toy_benchmark(tmp_path_factory.mktemp("toy") / "benchmark")
    return recorded_rows(folder, local_sandbox)[0]


@pytest.fixture(scope="session")
def method_row(tmp_path_factory: pytest.TempPathFactory, local_sandbox: Sandbox) -> DatasetRow:
    """The dataset row of the toy method."""
    folder = write_toy_benchmark(tmp_path_factory.mktemp("method") / "benchmark")
    return recorded_rows(add_toy_method(folder), local_sandbox, METHOD)[0]


@pytest.fixture(scope="session")
def toy_dataset(tmp_path_factory: pytest.TempPathFactory, toy_row: DatasetRow) -> Path:
    """A dataset of the toy task, which no test changes."""
    folder = tmp_path_factory.mktemp("dataset") / "toy"
    write_dataset([toy_row], folder, load_benchmark())
    return folder


@pytest.fixture
def evaluate(tmp_path: Path, toy_row: DatasetRow, monkeypatch: pytest.MonkeyPatch) -> Callable[..., lmr.Run]:
    """`lmr.evaluate` on the toy dataset, in local processes."""
    write_dataset([toy_row], tmp_path / "lmr-bench", load_benchmark())
    monkeypatch.chdir(tmp_path)
    return lambda rows, out=None, **options: lmr.evaluate(
        rows, out, dataset="lmr-bench", sandbox="local", **{"workers": 1, **options}
    )


@pytest.fixture
def hub() -> Iterator["Hub"]:
    """An empty loopback Hub."""
    from support.hub_server import Hub

    with Hub() as hub:
        yield hub


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator["Server"]:
    """A loopback model server, which asks for no key."""
    from support.openai_server import Server

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def published_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    """The toy benchmark on a loopback Hub, and a run of two models."""
    from support.hub_server import Hub
    from support.hub_world import DATASET, World

    with Hub() as hub:
        world = World(tmp_path_factory.mktemp("world"), hub)
        world.publish()
        world.write_predictions()
        world.ok("evaluate", "predictions.jsonl", "--dataset", f"{DATASET}@v0.1.0", "--out", "runs/models")
        yield world


@pytest.fixture
def world(published_world: "World") -> "World":
    """The published world with an empty results repository, no verification begun, and no network faults."""
    from support.hub_world import RESULTS

    hub = published_world.hub
    hub.faults, hub.requests = [], []
    hub.store.repos.pop(("datasets", RESULTS), None)
    hub.commit(RESULTS, {".gitattributes": b""}, "main")
    shutil.rmtree(published_world.folder / "lmrbench-cache" / "verify", ignore_errors=True)
    return published_world


@pytest.fixture(scope="session")
def try_in_docker(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> Callable[..., Verdict]:
    """Evaluate an answer to the toy task in a real container; see `attempt_in`."""
    return attempt_in(docker_sandbox, toy_row)


@pytest.fixture(scope="session")
def try_in_bwrap(toy_row: dict[str, Any], bwrap_sandbox: Sandbox) -> Callable[..., Verdict]:
    """Evaluate an answer to the toy task in bubblewrap; see `attempt_in`."""
    return attempt_in(bwrap_sandbox, toy_row)


@pytest.fixture(scope="session")
def try_behind_wall(toy_row: dict[str, Any], walled_sandbox: Sandbox) -> Callable[..., Verdict]:
    """Evaluate an answer to the toy task in each sandbox that promises isolation; see `attempt_in`."""
    return attempt_in(walled_sandbox, toy_row)


@pytest.fixture(scope="session")
def chromium() -> Iterator["Chrome"]:
    """Headless Chromium, which may load only pages of this machine. Required in CI."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        _missing("chromium and chromedriver are needed (Debian: chromium, chromium-driver)")
    options = ChromeOptions()
    options.binary_location = program
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "window-size=1200,900"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def browser(chromium: "Chrome") -> Iterator["Chrome"]:
    """A new window of the browser, which takes seconds to start: without the state and the logs of earlier tests."""
    old = chromium.window_handles
    chromium.switch_to.new_window("window")
    new = chromium.current_window_handle
    for handle in old:
        chromium.switch_to.window(handle)
        chromium.close()
    chromium.switch_to.window(new)
    for kind in ("browser", "performance"):
        chromium.get_log(kind)
    yield chromium
    chromium.get("about:blank")  # a page of the Space takes a tenth of a core as long as it is open
