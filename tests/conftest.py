"""Fixtures shared by all tests: a toy benchmark that needs no torch, the sandboxes, caches of the session's own."""

import difflib
import os
import shutil
import signal
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lmrbench_data.build import build_rows
from lmrbench_data.evaluate.evaluator import evaluate_prediction
from lmrbench_data.evaluate.predictions import Prediction
from lmrbench_data.evaluate.sandbox.base import Sandbox
from lmrbench_data.evaluate.sandbox.local import LocalSandbox
from lmrbench_data.evaluate.tasks.record import record_tasks
from lmrbench_data.evaluate.verdict import Verdict
from lmrbench_data.loader import read_archive
from lmrbench_data.paths import benchmark_folder
from lmrbench_data.rows import DatasetRow
from lmrbench_data.tasks import load_tasks

if TYPE_CHECKING:
    from hub_world import World
    from selenium.webdriver import Chrome

# A shell starts jobs in the background with interrupts ignored, and children would inherit that: tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CI = bool(os.environ.get("CI"))
#: `make test-all`: every parameter of every test, and each task whole.
IN_DEPTH = bool(os.environ.get("LMRBENCH_IN_DEPTH"))

TOY_TASK = """
paper: {title: A Toy, authors: Nobody, url: "https://example.org/toy", arxiv_id: null, venue: Nowhere 2026, year: 2026}
upstream_repo: https://example.org/toy.git
repo_name: toy
license: mit
environment: torch-cpu
demo_command: python scale.py
implementations:
  - instance_id: toy-scale
    category: Evaluation Metrics
    goal_file: scale.py
    goal_function: scale
    context_files: [helpers.py]
    depends_on: [helpers.py]
    instruction: |
      Implement `scale(values, factor)` in `scale.py`: the scaling of the paper.
    contract: |
      Return a new list with each value times `factor`, in the same order. An empty list gives an empty list. The input
      list stays as it is.
    tests: {file: unit_test/cases.py, seeds: [0, 1], timeout_s: 20, memory_mb: 256}
"""

TOY_REPO = {
    "helpers.py": '"""Helpers of the toy."""\n\nOFFSET = 0.0\n',
    "scale.py": '''
        """Scale numbers."""

        from helpers import OFFSET


        def scale(values: list[float], factor: float) -> list[float]:
            """Each of `values` times `factor`, in order."""
            scaled = [value * factor + OFFSET for value in values]
            return scaled


        if __name__ == "__main__":
            for factor in (1.0, 2.0, 3.0):
                print(scale([1.0, 2.0], factor))
        ''',
    "tests/test_smoke.py": '''
        """The toy runs."""

        import unittest

        from scale import scale


        class TestScale(unittest.TestCase):
            def test_one_result_for_each_value(self) -> None:
                self.assertEqual(len(scale([1.0, 2.0], 3.0)), 2)
        ''',
    "README.md": "# Toy\n\nRun `python scale.py`.\n",
}

TOY_CASES = '''
    """Labelled inputs for toy-scale."""

    import random

    from lmrbench_cases import core
    from scale import scale


    @core
    def case_random_values(seed):
        numbers = random.Random(seed)
        return scale([numbers.uniform(-1, 1) for _ in range(5)], 3.0)


    def case_empty(seed):
        return scale([], 2.0)


    def case_input_unchanged(seed):
        values = [1.0, 2.0]
        result = scale(values, 0.5)
        return {"result": result, "values": values}
'''

#: What a correct answer looks like; exploits put their code around or in place of it.
TOY_ANSWER = "def scale(values, factor):\n    return [value * factor for value in values]\n"


def write_toy_benchmark(folder: Path) -> Path:
    """A benchmark with one task and this project's own environments."""
    task = folder / "90-toy"
    files = {
        "task.yaml": TOY_TASK,
        "paper.md": "# A Toy\n\nEach number is multiplied by a factor.\n",
        "unit_test/cases.py": TOY_CASES,
        **{f"repo/{name}": text for name, text in TOY_REPO.items()},
        "variants/toy-scale/valid/loop.py": """
            def scale(values, factor):
                result = []
                for value in values:
                    result.append(factor * value)
                return result
            """,
        "variants/toy-scale/plain/first_and_rest.py": """
            def scale(values, factor):
                return [factor * values[0]] + [factor * value for value in values[1:]]
            """,
        "variants/toy-scale/plain/comprehension.py": """
            def scale(values, factor):
                return [value * factor for value in values]
            """,
        "variants/toy-scale/careless/in_place.py": """
            # Changes the input.
            def scale(values, factor):
                values[:] = [value * factor for value in values]
                return values
            """,
        "variants/toy-scale/valid/map.py": "def scale(values, factor):\n    return list(map(factor.__mul__, values))\n",
        **{
            f"variants/toy-scale/wrong/{name}.py": f"# {name}\ndef scale(values, factor):\n    return {body}\n"
            for name, body in {
                "adds": "[value + factor for value in values]",
                "reversed_order": "[value * factor for value in reversed(values)]",
                "absolute": "[abs(value * factor) for value in values]",
                "tuple_instead_of_list": "tuple(value * factor for value in values)",
                "rounded": "[round(value * factor, 2) for value in values]",
            }.items()
        },
    }
    for name, text in files.items():
        path = task / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    shutil.copytree(benchmark_folder() / "environments", folder / "environments")
    shutil.copy(benchmark_folder() / "benchmark.yaml", folder)
    return folder


def declared(**comparison: Any) -> dict[str, Any]:
    """A core case named `case`, as a row declares it."""
    return {"name": "case", "core": True, "varies": True, **comparison}


def recorded_rows(folder: Path, sandbox: Sandbox) -> list[DatasetRow]:
    """The dataset rows of a benchmark whose recordings are brought up to date first."""
    tasks = load_tasks(benchmark=folder)
    list(record_tasks(tasks, sandbox))
    return build_rows(tasks)


def patch_that_writes(row: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """A unified diff against the masked repository of `row` that writes these files."""
    before = {name: file.data.decode() for name, file in read_archive(row["repo_archive"]).items()}
    lines: list[str] = []
    for name, text in files.items():
        old = before.get(name, "")
        source = f"a/{name}" if name in before else "/dev/null"
        lines += difflib.unified_diff(old.splitlines(True), text.splitlines(True), source, f"b/{name}")
    return "".join(lines)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs others' agents; keep so many of a test's parameters as `sampled` says.

    All parameters run in depth, and where a test is named.
    """
    if not os.environ.get("LMRBENCH_TEST_AGENTS"):
        for item in items:
            if item.get_closest_marker("agents"):
                item.add_marker(pytest.mark.skip(reason="`make test-agents` installs what it needs, and runs it"))
    if IN_DEPTH or any("::" in argument for argument in config.args):
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for group in groups.values():
        [most] = group[0].get_closest_marker("sampled").args  # type: ignore[union-attr]
        kept = {round(number * (len(group) - 1) / max(1, most - 1)) for number in range(most)}
        left_out |= {item for number, item in enumerate(group) if number not in kept}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's caches; `datasets` gets a cache of its own too."""
    folder = tmp_path_factory.mktemp("caches")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMRBENCH_CACHE", str(folder / "lmrbench"))
        patch.setenv("HF_HOME", str(folder / "huggingface"))
        patch.setenv("LMRBENCH_BACKOFF_SCALE", "0.05")
        yield


@pytest.fixture
def toy_benchmark(tmp_path: Path) -> Path:
    """A fresh copy of the toy benchmark, free to be changed."""
    return write_toy_benchmark(tmp_path / "benchmark")


@pytest.fixture(scope="session")
def local_sandbox() -> Iterator[Sandbox]:
    sandbox = LocalSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def docker_sandbox() -> Iterator[Sandbox]:
    """The real engine. Without one the test fails in CI and is skipped elsewhere."""
    from lmrbench_data.errors import InfraError
    from lmrbench_data.evaluate.sandbox.docker import DockerSandbox

    try:
        sandbox = DockerSandbox()
    except InfraError as error:
        if IN_CI:
            pytest.fail(f"CI needs a Docker engine: {error}")
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def toy_row(tmp_path_factory: pytest.TempPathFactory, local_sandbox: Sandbox) -> DatasetRow:
    """The dataset row of the toy task."""
    folder = write_toy_benchmark(tmp_path_factory.mktemp("toy") / "benchmark")
    return recorded_rows(folder, local_sandbox)[0]


@pytest.fixture(scope="session")
def published_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator["World"]:
    """The toy benchmark on a loopback Hub, and a run of two models."""
    from hub_server import Hub
    from hub_world import DATASET, World

    with Hub() as hub:
        world = World(tmp_path_factory.mktemp("world"), hub)
        world.publish()
        world.write_predictions()
        world.ok("evaluate", "predictions.jsonl", "--dataset", f"{DATASET}@v0.1.0", "--out", "runs/models")
        yield world


@pytest.fixture
def world(published_world: "World") -> "World":
    """With empty results and model repositories, and a network that works."""
    from hub_world import MODEL, RESULTS

    hub = published_world.hub
    hub.faults, hub.meanwhile, hub.requests = [], [], []
    for kind, name in (("datasets", RESULTS), ("models", MODEL)):
        hub.store.repos.pop((kind, name), None)
        hub.commit(name, {".gitattributes": b""}, "main", kind=kind)
    return published_world


@pytest.fixture
def try_in_docker(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> Callable[..., Verdict]:
    """Evaluate an answer to the toy task in a real container.

    Called with the content; `form` is `function`, `goal_file` (default) or `model_patch`; `tests` overrides limits.
    """

    def attempt(content: str, form: str = "goal_file", **tests: Any) -> Verdict:
        row = {**toy_row, "tests": {**toy_row["tests"], **tests}}
        image = docker_sandbox.prepare(row["docker_image"])
        return evaluate_prediction(row, Prediction("toy-scale", "test", form, content), docker_sandbox, image)

    return attempt


@pytest.fixture
def browser() -> Iterator["Chrome"]:
    """Chromium without a window, which may load nothing but pages of this machine. Must be there in CI."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        reason = "chromium and chromedriver are needed (Debian: chromium, chromium-driver)"
        if IN_CI:
            pytest.fail(reason)
        pytest.skip(reason)
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "window-size=1200,900"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()
