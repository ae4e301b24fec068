"""`tasks new`: the page's own commands lead from a PDF and a repository to an evaluated dataset; drafts are honest."""

import json
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lmrbench_data.base.definitions import CodeIndex
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.draft.benchmark import new_benchmark
from lmrbench_data.draft.calls import calls_of
from lmrbench_data.draft.new_task import new_task
from lmrbench_data.draft.paper_facts import read_facts
from lmrbench_data.draft.source_repository import read_repository
from lmrbench_data.loader import File
from lmrbench_evaluate.checks.lint import lint_tasks
from support.new_task_world import EXAMPLE, FRONT, TASK, commands_of, lmrbench, write_pdf
from support.openai_server import Reply, Server
from support.toy import IN_DEPTH

GOOD = (
    "Implement `nucleus_filter` in `decoding.py`: the truncation of Section 3.1 (Eq. 2). Drawing is left to `sample`."
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a benchmark `tasks`, the PDF, and the example's repository as a git checkout with weights."""
    new_benchmark(tmp_path / "tasks", title="My Bench", name="my-bench")
    return _materials(tmp_path)


def _materials(folder: Path) -> Path:
    write_pdf(folder / "paper.pdf")
    shutil.copytree(EXAMPLE / "nucleus", folder / "nucleus")
    (folder / "nucleus" / ".git").mkdir()
    remote = "https://me:ghp_secret@github.com/example/nucleus.git"
    (folder / "nucleus" / ".git" / "config").write_text(
        f'[core]\n[remote "origin"]\n\turl = {remote}\n[branch "main"]\n'
    )
    (folder / "nucleus" / "weights.pt").write_bytes(bytes(1000))
    (folder / "nucleus" / ".env").write_text("OPENAI_API_KEY=ghp_secret\n")
    (folder / "nucleus" / "table.csv").write_bytes(b"1,2\n" * 100_000)
    return folder


def follow_the_page(folder: Path, sandbox: str, verbs: set[str]) -> None:
    """Run the commands of docs/adding-a-task.md in order, and fill in the draft where the page does."""
    _materials(folder)
    linted = 0
    for words in commands_of("adding-a-task.md"):
        if words[0] == "dataset" and words[1] not in verbs:
            continue
        if "--sandbox" in words:
            words[words.index("--sandbox") + 1] = sandbox
        elif words[0] == "evaluate":
            words += ["--sandbox", sandbox]
        done = lmrbench(folder, *words)
        if words[:2] != ["tasks", "lint"]:
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            continue
        linted += 1
        if linted == 1:
            assert done.returncode == 1
            assert f"{TASK}: unit_test/cases.py:" in done.stdout
            shutil.copytree(EXAMPLE / "filled", folder / "tasks" / TASK, dirs_exist_ok=True)
        else:
            assert (done.returncode, done.stdout) == (0, "1 task, no problems\n")
    assert linted == 2
    [row] = [json.loads(line) for line in (folder / "runs" / "gold" / "results.jsonl").read_text().splitlines()]
    assert (row["instance_id"], row["status"], row["core_status"]) == ("nucleus-filter", "passed", "passed")
    card = (folder / "my-bench" / "README.md").read_text()
    assert "# My Bench 0.1.0" in card
    assert "results on it cannot be compared with LMR-Bench's" in card


@pytest.mark.slow
def test_the_page_leads_from_a_pdf_to_an_evaluated_dataset(tmp_path: Path) -> None:
    follow_the_page(tmp_path, "local", {"init", "record", "build"})


@pytest.mark.docker
@pytest.mark.skipif(not IN_DEPTH, reason="several minutes; `make test-all` runs it")
@pytest.mark.timeout(900)
def test_the_page_leads_to_a_task_that_is_proved_in_docker(tmp_path: Path) -> None:
    follow_the_page(tmp_path, "docker", {"init", "record", "check", "build"})


def test_a_draft_says_what_was_read_and_no_more(place: Path) -> None:
    done = lmrbench(
        place,
        *("tasks", "new", "--paper", "paper.pdf", "--repo", "nucleus", "--goal", "decoding.py::nucleus_filter"),
        *("--benchmark", "tasks"),
    )
    assert done.returncode == 0, done.stderr
    assert "left out: .env (may hold a secret), table.csv (400 kB), weights.pt (weights or data)\n" in done.stdout
    folder = place / "tasks" / TASK
    task = yaml.safe_load((folder / "task.yaml").read_text())
    assert task["paper"] == {
        "title": "The Curious Case of Neural Text Degeneration",
        "authors": "Ari Holtzman et al.",
        "url": "https://arxiv.org/abs/1904.09751",
        "arxiv_id": "1904.09751",
        "venue": "ICLR 2020",
        "year": 2020,
    }
    assert task["upstream_repo"] == "https://github.com/example/nucleus"
    assert (task["license"], task["demo_command"]) == ("mit", "python generate.py")
    assert task["implementations"][0]["context_files"] == ["generate.py"]
    assert "3.1 Nucleus Sampling" in (folder / "paper.md").read_text()
    cases = (folder / "unit_test" / "cases.py").read_text()
    assert "from decoding import nucleus_filter  # TODO" in cases
    assert cases.count("raise NotImplementedError  # TODO") == 2, (
        "nothing is made up: each kind of case is left to write"
    )
    copied = {path.relative_to(folder / "repo").as_posix() for path in (folder / "repo").rglob("*") if path.is_file()}
    original = {path.relative_to(EXAMPLE / "nucleus").as_posix() for path in (EXAMPLE / "nucleus").rglob("*.*")}
    assert {name for name in original if "__pycache__" not in name} <= copied
    assert not any(name.startswith(".git/") or name in (".env", "weights.pt", "table.csv") for name in copied)
    assert not any(b"ghp_secret" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    # A second draft stands beside the first one, and touches nothing of it.
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = new_task(
        paper=place / "paper.pdf", repo=place / "nucleus", goal="decoding.py::sample", benchmark=place / "tasks"
    )
    assert again.folder.name == "02-nucleus"
    assert again.instance_id == "nucleus-sample"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in (place / "tasks").iterdir()) == [
        *(TASK, "02-nucleus", "benchmark.yaml", "environments")
    ]


def test_what_a_pdf_does_not_say_stays_open(tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "report.pdf", (("A Report", 20, True), ("Group 7, 2021", 10, False)), stamp="")
    facts = read_facts(pdf)
    assert (facts.title, facts.authors, facts.arxiv_id, facts.venue, facts.year) == ("A Report", "", "", "", None)
    preprint = write_pdf(tmp_path / "p.pdf", FRONT[1:])
    assert (read_facts(preprint).venue, read_facts(preprint).year) == ("arXiv 2019", 2019)
    # References name other papers: only the front counts.
    body = write_pdf(tmp_path / "2101.00001v3.pdf", FRONT[1:], stamp="")
    assert read_facts(body).arxiv_id == "2101.00001"


def test_names_that_yaml_would_take_for_something_else_are_text(place: Path) -> None:
    """The title is spelled as in the metadata where the letters agree, without invisible characters."""
    write_pdf(place / "odd.pdf", title='The Curious Case of "Neural": Text\x7f Degeneration # \u202e')
    (place / "nucleus").rename(place / "1e5")
    drafted = new_task(
        paper=place / "odd.pdf", repo=place / "1e5", goal="decoding.py::sample", benchmark=place / "tasks"
    )
    task = yaml.safe_load((drafted.folder / "task.yaml").read_text())
    assert task["repo_name"] == "1e5"
    assert task["paper"]["title"].startswith('The Curious Case of "Neural": Text')
    assert task["paper"]["title"].isprintable()


REPO = {
    "src/losses/focal.py": """
        import torch
        from torch import Tensor, nn


        class FocalLoss(nn.Module):
            def __init__(self, gamma: float) -> None:
                super().__init__()
                self.gamma = gamma

            def forward(self, logits: Tensor, labels: Tensor, scale: float = 1.0) -> Tensor:
                '''The loss.'''
                return self.forward(logits, labels) if scale < 0 else weight(logits) * scale


        def weight(logits: Tensor) -> Tensor:
            return logits
        """,
    "src/train.py": """
        from losses.focal import FocalLoss

        width, loss = 3, FocalLoss(gamma)
        print(loss(model(x), y))
        """,
    "tests/test_smoke.py": "from losses.focal import FocalLoss\nFocalLoss(2.0).forward(logits, labels, scale=0.5)\n",
    "broken.py": "def (:\n",
}


def test_calls_of_a_classs_objects_count() -> None:
    files = {name: File(textwrap.dedent(text).lstrip("\n").encode()) for name, text in REPO.items()}
    calls = calls_of(CodeIndex(files), "src/losses/focal.py", "FocalLoss.forward")
    assert calls == [("src/train.py", 4), ("tests/test_smoke.py", 2)], "its recursion does not count; tests are last"
    assert [call.is_in_tests for call in calls] == [False, True]
    assert calls_of(CodeIndex(files), "src/losses/focal.py", "weight") == [("src/losses/focal.py", 12)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server() as running:
        yield running


def draft_with(server: Server, place: Path) -> tuple[str, list[str]]:
    drafted = new_task(
        paper=place / "paper.pdf",
        repo=place / "nucleus",
        goal="decoding.py::nucleus_filter",
        benchmark=place / "tasks",
        model="writer",
        base_url=server.base_url,
    )
    task = yaml.safe_load((drafted.folder / "task.yaml").read_text())
    return task["implementations"][0]["instruction"], list(drafted.notes)


def test_a_model_drafts_the_instruction_and_mends_its_form(server: Server, place: Path) -> None:
    answers = iter(["Implement `nucleus_filter` in `decoding.py`: keep $V^{(p)}$.", GOOD])
    server.judge = lambda request: next(answers)
    instruction, notes = draft_with(server, place)
    assert " ".join(instruction.split()).endswith(GOOD)
    assert instruction.startswith("TODO: writer wrote this; read it against the paper")
    assert "instruction: drafted by writer" in notes
    first, second = (request.body["messages"] for request in server.requests if "messages" in request.body)
    assert "raise NotImplementedError" in first[0]["content"]
    assert "mass_before" not in first[0]["content"], "the reference is not shown"
    assert "3.1 Nucleus Sampling" in first[0]["content"]
    assert "contains a formula" in second[-1]["content"]


def test_a_model_that_does_not_answer_leaves_the_template(server: Server, place: Path) -> None:
    server.judge = lambda request: Reply(400, {"error": {"message": "no such thing"}})
    instruction, notes = draft_with(server, place)
    assert instruction.startswith("TODO: one to four sentences")
    assert any("writer gave none" in note for note in notes)


def test_a_wrong_argument_is_one_line_and_writes_nothing(place: Path) -> None:
    (place / "bad.pdf").write_bytes(b"%PDF-1.7 no")
    (place / "empty").mkdir()
    good = {
        "paper": place / "paper.pdf",
        "repo": place / "nucleus",
        "goal": "decoding.py::nucleus_filter",
        "benchmark": place / "tasks",
    }
    before = sorted((place / "tasks").rglob("*"))
    for change, message in (
        ({"goal": "decoding.py"}, "goal: 'decoding.py' is not of the form FILE::FUNCTION"),
        ({"goal": "gone.py::f"}, "goal: no file 'gone.py'"),
        ({"goal": "decoding.py::gone"}, "goal: decoding.py: no function 'gone'"),
        ({"repo": place / "empty"}, "has no Python files"),
        ({"repo": place / "paper.pdf"}, "is not a directory"),
        ({"benchmark": place / "empty"}, "has no benchmark.yaml; `lmrbench dataset init"),
        ({"paper": place / "bad.pdf"}, f"paper: {place / 'bad.pdf'}: "),
    ):
        with pytest.raises(InputError) as caught:
            new_task(**{**good, **change})  # type: ignore[arg-type]
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert sorted((place / "tasks").rglob("*")) == before
    with pytest.raises(InputError, match="tasks: is already a benchmark"):
        new_benchmark(place / "tasks", title="Again")
    with pytest.raises(ArgumentError, match="choose one of your own"):
        new_benchmark(place / "other", title="X", name="lmr-bench")


def test_a_repository_that_is_somebodys_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmrbench_data.draft.source_repository.MAX_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.py").write_text("")
    with pytest.raises(ArgumentError, match="more than 3 files"):
        read_repository(tmp_path)


def test_a_draft_lints_with_todos_alone(place: Path) -> None:
    new_task(
        paper=place / "paper.pdf", repo=place / "nucleus", goal="decoding.py::nucleus_filter", benchmark=place / "tasks"
    )
    count, problems = lint_tasks(benchmark=place / "tasks")
    assert count == 1
    others = [problem for problem in problems if not problem.message.startswith("TODO")]
    assert "category: 'TODO' is not one of: Data Augmentation" in others[0].message
    # Only what nobody has written yet: the repository is in order.
    left = {"task.yaml", "valid", "plain", "careless", "wrong"}
    assert {problem.where for problem in others} == left


def test_imports_that_the_environment_lacks_are_told_at_once(place: Path) -> None:
    with (place / "nucleus" / "generate.py").open("a") as file:
        file.write("import yaml\n")
    drafted = new_task(
        paper=place / "paper.pdf", repo=place / "nucleus", goal="decoding.py::nucleus_filter", benchmark=place / "tasks"
    )
    [note] = [note for note in drafted.notes if note.startswith("cannot be imported: yaml (generate.py, line ")]
    assert note.endswith("; the environment torch-cpu has numpy, pandas, scikit-learn, scipy, torch")
    _, problems = lint_tasks(benchmark=place / "tasks")
    assert any(problem.message.startswith("imports yaml, ") for problem in problems)
