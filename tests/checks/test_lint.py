"""`tasks lint`: the benchmark is clean, and each omission is named with its place."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lmrbench.checks.lint import instruction_problems, lint_tasks
from lmrbench_data.base.errors import InputError
from support.new_task_world import TASK, example_benchmark, lmrbench

REFERENCE = "mass_before = probabilities.cumsum(dim=-1) - probabilities"
WRONG = "variants/nucleus-filter/wrong"


def test_all_tasks_of_the_benchmark_are_clean() -> None:
    assert lint_tasks() == (23, [])


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return example_benchmark(tmp_path)


#: (file, text or "" for its end, replacement), or a change → (place, part of the message) of its only problem
FORGOTTEN: dict[str, tuple[tuple[str, str, str] | Callable[[Path], object], str, str]] = {
    "todo_in_yaml": (("task.yaml", "paper:\n", "paper: # TODO: check\n"), "task.yaml:1", "TODO: check"),
    "todo_in_cases": (("unit_test/cases.py", "", "# TODO more\n"), "unit_test/cases.py:", "TODO: more"),
    "instance_renamed": (
        lambda task: shutil.copytree(task / WRONG.rpartition("/")[0], task / "variants" / "old"),
        "variants/old",
        "belongs to no instance; rename it to one of: nucleus-filter",
    ),
    "recording_of_another_name": (
        lambda task: (task / "recorded").mkdir() or ((task / "recorded" / "old.json").write_text("{}") and None),
        "recorded/old.json",
        "belongs to no instance; delete it",
    ),
    "one_seed": (("task.yaml", "seeds: [0, 1, 2]", "seeds: [0]"), "tests.seeds", "use two or more"),
    "no_licence": (("task.yaml", "license: mit", "license: unknown"), "task.yaml", "is not the SPDX identifier"),
    "another_arxiv_id": (("task.yaml", '"1904.09751"', '"1904.09752"'), "paper.arxiv_id", "but paper.url names"),
    "no_environment": (("task.yaml", "torch-cpu", "tpu"), "task.yaml", "no folder environments/tpu"),
    "formula": (("task.yaml", "for a batch", "with p' >= p, for a batch"), "instruction", "contains a formula (=)"),
    "long_instruction": (("task.yaml", "Drawing", "so " * 90 + "Drawing"), "instruction", "words, at most 100"),
    "file_not_named": (("task.yaml", "in `decoding.py`: r", "there: r"), "instruction", "add `decoding.py`"),
    "long_contract": (("task.yaml", "in full.", "in full." + " so" * 400), "contract", "at most 400"),
    "short_paper": (
        lambda task: (task / "paper.md").write_text("# Short\n"),
        "paper.md",
        "2 words; write one to two pages",
    ),
    "leak_in_instruction": (
        ("task.yaml", "for a batch", f"(`{REFERENCE}`) for a batch"),
        "instruction",
        "shows a line of the reference",
    ),
    "leak_in_another_file": (
        ("repo/generate.py", "", f"\n\ndef twin(probabilities):\n\t{REFERENCE}\n"),
        "repo/generate.py",
        f"shows a line of the reference; remove it: {REFERENCE}",
    ),
    "leak_in_paper": (("paper.md", "", f"\n{REFERENCE}\n"), "paper.md", "shows a line of the reference"),
    "code_in_paper": (("paper.md", "", "\n```python\nx = 1\n```\n"), "paper.md", "shows Python"),
    "repository_in_paper": (("paper.md", "", "\nSee decoding.py.\n"), "paper.md", "names decoding.py"),
    "no_readme_command": (("repo/README.md", "python generate.py", "it"), "repo/README.md", "python generate.py"),
    "not_python": (("repo/draft.py", "", "def (:\n"), "repo/draft.py", "cannot be parsed: syntax error in line 1"),
    "goal_file_in_context": (
        ("task.yaml", "    context_files: [", "    context_files: [decoding.py, "),
        "context_files",
        "names the goal file, which is shown anyway; remove decoding.py",
    ),
    "large_repository": (("repo/data.txt", "", "#" * 1_000_001), "repo", "1.0 MB"),
    "no_core_case": (("unit_test/cases.py", "@core\n", ""), "unit_test/cases.py", "no case is marked @core"),
    "two_of_a_name": (
        ("unit_test/cases.py", "", "\n\ndef case_empty_batch(seed):\n    return seed\n"),
        "unit_test/cases.py",
        "2 functions are called case_empty_batch",
    ),
    "a_verdict": (
        ("unit_test/cases.py", "", "\n\ndef case_x(seed):\n    return torch.allclose(A, B)\n"),
        "unit_test/cases.py:",
        "return the outputs",
    ),
    "a_case_without_outputs": (
        ("unit_test/cases.py", "", "\n\ndef case_x(seed):\n    assert (A > seed).any()\n"),
        "unit_test/cases.py:",
        "case_x returns nothing; return the outputs",
    ),
    "another_repository": (
        lambda task: (task / "repo/.git").mkdir() or ((task / "repo/.git/HEAD").write_text("") and None),
        "repo/.git",
        "makes its folder another repository, whose files a clone will lack; remove it",
    ),
    "a_kind_misspelt": (
        lambda task: shutil.copytree(task / WRONG, task / "variants/nucleus-filter/wrnog"),
        "variants/nucleus-filter/wrnog",
        "is no kind of variant; move it to one of: valid, plain, careless, wrong",
    ),
    "a_variant_outside_of_a_kind": (
        lambda task: shutil.copy(task / WRONG / "not_rescaled.py", task / "variants/nucleus-filter/x.py"),
        "variants/nucleus-filter/x.py",
        "is no kind of variant",
    ),
    "a_variant_with_another_ending": (
        lambda task: shutil.copy(task / WRONG / "not_rescaled.py", task / WRONG / "other.PY"),
        f"{WRONG}/other.PY",
        "is not read as a variant; name it NAME.py",
    ),
    "a_variant_in_a_folder": (
        lambda task: shutil.copytree(task / WRONG, task / WRONG / "sub"),
        f"{WRONG}/sub",
        "is not read as a variant; name it NAME.py",
    ),
    "few_wrong": (
        lambda task: [path.unlink() for path in sorted((task / WRONG).iterdir())[:3]],
        "wrong",
        "at least 5 needed",
    ),
    "no_reason": ((f"{WRONG}/not_rescaled.py", "# Cuts", "Cuts = 1 #"), "wrong/not_rescaled.py", "first line"),
    "a_copy": (
        lambda task: shutil.copy(task / WRONG / "not_rescaled.py", task / WRONG / "other.py"),
        f"{WRONG}/other.py",
        "same code as wrong/not_rescaled.py; delete one",
    ),
    "ignored_by_git": (
        lambda task: [
            subprocess.run(["git", "init", "--quiet"], cwd=task.parent, check=True),
            (task / "repo/.gitignore").write_text("*.json\n"),
            [(task / f"repo/{name}.json").write_text("{}") for name in ("kept", "lost")],
            subprocess.run(["git", "add", "--force", f"{TASK}/repo/kept.json"], cwd=task.parent, check=True),
        ],
        "",
        "git ignores repo/lost.json, which a clone will lack; keep such files with `git add --force`",
    ),
    **{
        f"module_{name}": (
            lambda task, name=name: (
                (task / "repo" / name).parent.mkdir(exist_ok=True)  # type: ignore[misc]
                or ((task / "repo" / name).write_text("X = 1\n") and None)
            ),
            f"repo/{name.partition('/')[0]}",
            "has the name of a module of Python, a library or the runner; rename it",
        )
        for name in ("tokenize.py", "email/__init__.py", "torch.py", "sklearn.py", "dateutil.py", "lmrbench_cases.py")
    },
    "helper_of_cases": (
        lambda task: [
            make(task, ("unit_test/cases.py", "import torch\n", "import torch\nfrom tools import draw\n")),
            [(task / f"unit_test/{name}").write_text("") for name in ("tools.py", "__init__.py", "README.md")],
        ],
        "unit_test/tools.py",
        "is not there when the cases run, which are one file; move it into the cases",
    ),
    "syntax": ((f"{WRONG}/x.py", "", "# Wrong.\ndef nucleus_filter(x:\n"), f"{WRONG}/x.py", "syntax error in line 2"),
}


def make(task: Path, change: tuple[str, str, str] | Callable[[Path], object]) -> None:
    if callable(change):
        change(task)
    else:
        path, old, new = task / change[0], *change[1:]
        text = path.read_text() if path.exists() else ""
        assert old in text
        path.write_text(text.replace(old, new) if old else text + new)


@pytest.mark.parametrize("name", FORGOTTEN)
def test_omission_is_reported_with_its_place(name: str, benchmark: Path) -> None:
    change, place, message = FORGOTTEN[name]
    make(benchmark / TASK, change)
    _, problems = lint_tasks(benchmark=benchmark)
    [problem] = problems
    assert problem.subject == TASK
    assert problem.where == place or (place.endswith(":") and problem.where.startswith(place)), problem
    assert message in problem.message
    assert "\n" not in problem.message


def test_modules_of_a_repository_may_be_named_like_files_of_the_runner(benchmark: Path) -> None:
    for name in ("encoding.py", "runner.py"):
        (benchmark / TASK / "repo" / name).write_text("X = 1\n")
    assert lint_tasks(benchmark=benchmark)[1] == []


def test_a_byte_order_mark_hides_no_reason(benchmark: Path) -> None:
    path = benchmark / TASK / WRONG / "not_rescaled.py"
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert lint_tasks(benchmark=benchmark)[1] == []


def test_date_of_a_benchmark_is_a_day(benchmark: Path) -> None:
    path = benchmark / "benchmark.yaml"
    path.write_text(re.sub(r"date: .*", 'date: "2026-02-30"', path.read_text()))
    [problem] = lint_tasks(benchmark=benchmark)[1]
    assert problem.message.endswith("date: '2026-02-30' is not a day of the form 2026-01-31; put it in quotes")


def test_folder_without_a_number_is_reported(benchmark: Path) -> None:
    (benchmark / TASK).rename(benchmark / "nucleus")
    [problem] = lint_tasks(benchmark=benchmark)[1]
    assert str(problem) == "error: nucleus: the folder's name is not of the form NN-slug; rename it"


def test_canary_of_lmr_bench_is_refused(benchmark: Path) -> None:
    from lmrbench_data.tasks.manifest import load_benchmark

    path = benchmark / "benchmark.yaml"
    path.write_text(re.sub(r"canary: .*", f"canary: {json.dumps(load_benchmark().canary)}", path.read_text()))
    [problem] = lint_tasks(benchmark=benchmark)[1]
    assert (problem.subject, problem.where) == ("", "benchmark.yaml")
    assert "GUID of your own" in problem.message


def test_broken_task_does_not_hide_another(benchmark: Path) -> None:
    shutil.copytree(benchmark / TASK, benchmark / "02-copy")
    make(benchmark / TASK, ("task.yaml", "", "nonsense: 1\n"))
    problems = lint_tasks(benchmark=benchmark)[1]
    assert [problem.subject for problem in problems] == [TASK]
    assert "unknown key nonsense" in problems[0].message
    assert "; fix this to lint the rest" in problems[0].message
    with pytest.raises(InputError, match=r"unknown task or instance: gone \(not in .*/tasks\); see .* --benchmark "):
        lint_tasks(["gone"], benchmark)
    count, problems = lint_tasks(["nucleus-filter"], benchmark)
    assert count == 2, "the broken task is known by the id that its file states"


def test_command_prints_problems(benchmark: Path) -> None:
    clean = lmrbench(benchmark, "tasks", "lint", TASK, "--benchmark", ".")
    assert (clean.returncode, clean.stdout) == (0, "1 task, no problems\n")
    shutil.rmtree(benchmark / TASK / WRONG)
    message = "0 variants, at least 5 needed; add some to variants/nucleus-filter/wrong"
    done = lmrbench(benchmark, "tasks", "lint", "--benchmark", ".", "--json")
    where = {"subject": TASK, "where": "wrong"}
    assert json.loads(done.stdout) == [{**where, "message": message, "severity": "error"}]
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("Implement `f` in `a.py`: the loss of Section 3 (Eq. 4), e.g. as in Fig. 2, by Rafailov et al. (2023).", 0),
        ("Implement `C.f` in `a.py` with `x = y + z` for single words (n = 1).", 0),
        ("Implement `f` in `a.py`: $x$.", 1),
        ("Implement it.", 2),
    ],
)
def test_instruction_names_its_goal_and_has_no_formula(text: str, problems: int) -> None:
    assert len([*instruction_problems(text, "a.py", "C.f")]) == problems
