"""Task folders: a malformed file is one line that names file, key and fix; the real benchmark loads and is listed."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.tasks.environments import load_environments
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.masking import mask_function
from lmrbench_data.tasks.overview import render_page
from lmrbench_data.tasks.task_folders import load_task, load_tasks
from support.toy_choices import add_toy_choices

Data = dict[str, Any]


def put(*keys: str | int, value: Any) -> Callable[[Data], None]:
    """An edit of task.yaml: set the value at a path of keys; a function is applied to what is there."""

    def edit(data: Data) -> None:
        place: Any = data
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value

    return edit


FIRST = ("implementations", 0)
TESTS = (*FIRST, "tests")

#: edit of task.yaml → what the message must name: the key, and what is wrong or how to fix it
MALFORMED: dict[str, tuple[Callable[[Data], object], list[str]]] = {
    "unknown_key": (put("papper", value=1), ["top level", "unknown key papper", "known are", "paper"]),
    "no_paper": (lambda data: data.pop("paper"), ["top level", "missing key paper"]),
    "arxiv_id_as_number": (put("paper", "arxiv_id", value=2305.1829), ["paper.arxiv_id", "quotes"]),
    "demo_command_of_a_shell": (put("demo_command", value="sh run.sh"), ["demo_command", "python"]),
    "instance_id_with_line_ending": (put(*FIRST, "instance_id", value="toy\n"), ["implementations[0].instance_id"]),
    "unknown_category": (put(*FIRST, "category", value="Misc"), ["category", "Evaluation Metrics"]),
    "goal_file_missing": (put(*FIRST, "goal_file", value="gone.py"), ["goal_file", "no file 'gone.py' in repo/"]),
    "goal_function_missing": (put(*FIRST, "goal_function", value="gone"), ["scale.py: no function 'gone'"]),
    "context_file_missing": (put(*FIRST, "context_files", value=["x.py"]), ["context_files", "no file 'x.py'"]),
    "remove_what_is_not_there": (put(*FIRST, "remove", value=["gone"]), ["definitions of 'gone'"]),
    "remove_the_goal": (put(*FIRST, "remove", value=["scale"]), ["remove", "'scale'"]),
    "instruction_too_short": (put(*FIRST, "instruction", value="Write it."), ["instruction", "one to four sentences"]),
    "seed_too_large_for_numpy": (put(*TESTS, "seeds", value=[2**32]), ["tests.seeds[0]"]),
    "cases_missing": (put(*TESTS, "file", value="unit_test/x.py"), ["tests.file", "no file 'unit_test/x.py'"]),
    "cases_in_repo": (put(*TESTS, "file", value="repo/scale.py"), ["tests.file", "models see repo/; move the cases"]),
    "instance_id_twice": (
        put("implementations", value=lambda items: [items[0], dict(items[0])]),
        ["instance_id", "'toy-scale'", "duplicate"],
    ),
    "mapping_as_a_key": (put("paper", "title", value="{{name}}"), ["not YAML", "line 33", "unhashable key"]),
}


def refusal(call: Callable[[], object]) -> str:
    """Return the error of a call, which is one line."""
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_task_yaml_names_file_key_and_fix(name: str, toy_benchmark: Path) -> None:
    edit, expected = MALFORMED[name]
    path = toy_benchmark / "90-toy" / "task.yaml"
    data = yaml.safe_load(path.read_text())
    edit(data)
    path.write_text(yaml.safe_dump(data).replace("'{{name}}'", "{{name}}"))
    message = refusal(lambda: load_tasks(benchmark=toy_benchmark))
    assert message.startswith(f"{path}: ")
    assert len(message) < 700
    assert [part for part in expected if part not in message] == [], message


def write(name: str, content: bytes | None) -> Callable[[Path], None]:
    """An edit of the benchmark's folder: write a file, or remove it (and what is below it)."""

    def edit(folder: Path) -> None:
        path = folder / name
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    return edit


def link(name: str, target: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return edit


TASK = "90-toy/task.yaml"
#: edit of the folder → the file that is named, and what else the message says
BAD_FILES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "yaml_runs_python": (write(TASK, b"paper: !!python/object/apply:os.getcwd []"), TASK, "not YAML"),
    "yaml_key_twice": (write(TASK, b"license: mit\nlicense: apache-2.0\n"), TASK, "license"),
    **{
        f"yaml_number_{text}": (
            write(TASK, f"seeds: [0, {text}]\n".encode()),
            TASK,
            f"line 1: YAML reads {text} in base 8",
        )
        for text in ("010", "-07", "00", "1:30", "12:30:45", "1:30.5")
    },
    "yaml_key_no": (write(TASK, b"a: 1\nremove: {no: [x]}\n"), TASK, "line 2: key no is not text; put it in quotes"),
    "yaml_empty": (write(TASK, b""), TASK, "mapping"),
    "task_yaml_missing": (write(TASK, None), TASK, "missing"),
    "paper_missing": (write("90-toy/paper.md", None), "90-toy/paper.md", "missing"),
    "paper_not_utf8": (write("90-toy/paper.md", b"\xff"), "90-toy/paper.md", "UTF-8"),
    "repo_missing": (write("90-toy/repo", None), TASK, "no file"),
    "goal_file_not_utf8": (write("90-toy/repo/scale.py", b"# \xff"), TASK, "UTF-8"),
    "goal_file_does_not_parse": (write("90-toy/repo/scale.py", b"def scale(:"), TASK, "syntax error in line 1"),
    "link_in_repo": (link("90-toy/repo/helpers.py", "scale.py"), "90-toy/repo/helpers.py", "a link"),
    **{
        copy: (write(f"90-toy/repo/{copy}", b""), f"90-toy/repo/{copy}", "a copy that an editor left")
        for copy in (
            ".ipynb_checkpoints/scale-checkpoint.py",
            "scale.py~",
            ".scale.py.swp",
            "#scale.py#",
            "scale.py.orig",
        )
    },
    "cases_linked_into_repo": (
        link("90-toy/unit_test/cases.py", "../repo/scale.py"),
        TASK,
        "models see repo/; move the cases",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_or_missing_file_is_named(name: str, toy_benchmark: Path) -> None:
    edit, path, expected = BAD_FILES[name]
    edit(toy_benchmark)
    message = refusal(lambda: load_task(toy_benchmark / "90-toy"))
    assert str(toy_benchmark / path) in message
    assert expected in message


def test_an_instance_id_of_two_tasks_and_an_unknown_name_are_refused(toy_benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"instance: dpo \(not in .*\); see `lmrbench tasks list --benchmark "):
        load_tasks(["dpo", "toy-scale"], toy_benchmark)
    shutil.copytree(toy_benchmark / "90-toy", toy_benchmark / "91-copy")
    with pytest.raises(InputError, match=r"91-copy/task.yaml: .*instance_id: 'toy-scale' is taken by 90-toy"):
        load_tasks(benchmark=toy_benchmark)
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="no task folders"):
            load_tasks(benchmark=folder)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name: x\ntitle: y\nversion: 1.0.0\n", "missing key canary, date"),
        (b"name: x\ntitle: y\nversion: 1.0\ncanary: z\ndate: '2026-01-31'\n", "version: 1.0 is not text"),
        (b"name: x\ntitle: y\nversion: 1.0.0\ncanary: z\ndate: today\n", "date: 'today' is not a day of the form"),
        (b"[", "not YAML"),
        (b"- name", "expected a mapping"),
        (None, "missing"),
    ],
)
def test_a_bad_benchmark_yaml_is_named(content: bytes | None, expected: str, toy_benchmark: Path) -> None:
    write("benchmark.yaml", content)(toy_benchmark)
    message = refusal(lambda: load_benchmark(toy_benchmark))
    assert message.startswith(str(toy_benchmark / "benchmark.yaml"))
    assert expected in message


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("environments/torch-cpu/Dockerfile", None, "environments/torch-cpu/Dockerfile"),
        ("environments/torch-cpu/environment.yaml", b"description: x\n", "environments/torch-cpu/environment.yaml"),
        ("environments", None, "environments"),
    ],
)
def test_a_bad_environment_is_named(name: str, content: bytes | None, named: str, toy_benchmark: Path) -> None:
    write(name, content)(toy_benchmark)
    assert refusal(lambda: load_environments(toy_benchmark)).startswith(f"{toy_benchmark / named}: ")


def test_the_image_tag_changes_with_any_byte_of_the_environment_and_with_nothing_else(toy_benchmark: Path) -> None:
    def tag() -> str:
        return load_environments(toy_benchmark)["torch-cpu"].tag

    before = tag()
    assert re.fullmatch(r"lmrbench/torch-cpu:[0-9a-f]{12}", before)
    assert before == load_environments()["torch-cpu"].tag, "a copy elsewhere has the same tag"
    path = toy_benchmark / "environments" / "torch-cpu" / "requirements.txt"
    path.write_text(path.read_text().replace("numpy==2", "numpy==3"))
    assert tag() != before


def test_the_real_benchmark_loads_and_masks_only_its_goal_functions() -> None:
    tasks = load_tasks()
    assert [task.folder for task in tasks] == sorted(path.parent for path in benchmark_folder().glob("*/task.yaml"))
    environments = load_environments()
    for task in tasks:
        assert task.environment in environments
        for item in task.implementations:
            masked = task.masked_repo(item)
            hidden = {other.goal_file for other in task.siblings if other.instance_id not in item.shown_siblings}
            assert {name for name in task.repo if masked[name] != task.repo[name]} == hidden
            text = masked[item.goal_file].data.decode()
            assert mask_function(text, item.goal_function) == text
            assert not any(
                re.search(rf"^(def|class) {name}\b|^{name}\b", text, re.MULTILINE)
                for name in item.removed[item.goal_file]
            )
    assert load_task(tasks[0].folder) == tasks[0]


def test_page_lists_choices(toy_benchmark: Path) -> None:
    assert "choices" not in render_page(load_tasks(benchmark=toy_benchmark))
    text = render_page(load_tasks(benchmark=add_toy_choices(toy_benchmark)))
    assert "weights: exponential, cauchy, linear" in text
    assert "| 9 | 2 | 1 |" in text
