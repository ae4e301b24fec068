"""The board of the leaderboard Space as HTML, without a browser: who is ranked where, and what a record can do."""

import importlib
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from lmrbench_evaluate.hub.publication import _comment
from lmrbench_evaluate.hub.publication import make_record as published_record
from lmrbench_evaluate.hub.record import Record, TaskResult
from lmrbench_evaluate.hub.space import write_space
from lmrbench_evaluate.hub.submission import Submission
from lmrbench_evaluate.hub.verify import Verification
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.stats import holm, permutation
from lmrbench_evaluate.runs.folder import RunFolder
from support.runs import SCOPE, two_levels, write_run
from support.space_app import INSTANCES, make_entry, make_record

Space = Callable[[str], Any]
Board = Callable[..., tuple[Any, str]]


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """Import modules of a Space from a folder of its own, as the app does."""
    folder, before = tmp_path_factory.mktemp("space"), set(sys.modules)
    write_space(folder)
    sys.path.insert(0, str(folder))
    yield importlib.import_module
    sys.path.remove(str(folder))
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def make_board(space: Space) -> Board:
    """Rank records under filters; return the board and its HTML."""

    def make(*records: Record, **filters: str) -> tuple[Any, str]:
        read = [space("base.record").Record.model_validate_json(record.model_dump_json()) for record in records]
        snapshot = space("results_dataset").Snapshot("org/results", "5" * 40, records=tuple(read))
        board = space("board").make_board(snapshot, filters)
        return board, space("page").render(snapshot, board)

    return make


def ranking(board: Any, track: int = 0) -> list[tuple[int, str, float]]:
    return [(item.rank, item.latest.entry.model, item.latest.rate) for item in board.tracks[track].ranked]


def test_latest_runs_are_ranked_and_equal_scores_share_a_rank(make_board: Board) -> None:
    good = make_entry("model-a", ["robust", "failed", "robust"])
    tied = make_entry("model-b", ["robust", "reproduced", "timeout"])
    behind = make_entry("model-c", ["robust", "failed", "oom"])
    lucky = make_entry("model-a", ["robust"] * 3)
    copy = make_entry("model-d", [], fingerprint=tied.fingerprint)
    contract = [make_entry("model-a", ["robust", "reproduced"], track="contract")]
    contract += [make_entry("model-e", ["robust", "robust"], track="contract")]
    board, html = make_board(
        make_record("new", good, tied, behind, *contract, verified_at="2026-02-03"),
        make_record("old", lucky, verified_at="2026-02-01", submitted_by="eve"),
        make_record("copy", copy, verified_at="2026-02-04"),
    )
    assert ranking(board) == [(1, "model-a", 2 / 3), (1, "model-b", 2 / 3), (3, "model-c", 1 / 3)]
    assert ranking(board, 1) == [(1, "model-e", 2 / 3), (2, "model-a", 1 / 3)]
    first, second, _ = board.tracks[0].ranked
    assert [line.record.run_id for line in first.earlier] == ["old"]
    assert first.other_submitters == ["eve"]
    assert [line.entry.model for line in second.copies] == ["model-d"]
    assert "1 unanswered" in html


def test_filters_choose_config_version_setting_and_category(make_board: Board) -> None:
    records = [
        make_record("a", make_entry("model-a", ["robust", "failed", "failed"])),
        make_record("b", make_entry("model-b", ["failed", "failed", "robust"])),
        make_record("agent", make_entry("model-c", ["robust"], setting="agent")),
        make_record("method", make_entry("model-d", ["robust"], setting="agent"), config="method"),
        make_record("older", make_entry("model-e", ["robust"]), benchmark_version="0.9.10"),
    ]
    board, _ = make_board(*records)
    assert [name for _, name, _ in ranking(board)] == ["model-a", "model-b"]
    names = {name: item.names for name, item in board.filters.items()}
    assert (names["config"], names["version"]) == (["function", "method"], ["1.0.0", "0.9.10"])
    assert names["setting"] == ["standard", "agent"]
    board, _ = make_board(*records, category="Evaluation Metrics")
    assert ranking(board) == [(1, "model-b", 1.0), (2, "model-a", 0.0)]
    assert list(board.tasks) == ["beta-one"]
    for filters, model in (
        ({"setting": "agent"}, "model-c"),
        ({"config": "method"}, "model-d"),
        ({"version": "0.9.10"}, "model-e"),
    ):
        board, _ = make_board(*records, **filters)
        assert [name for _, name, _ in ranking(board)] == [model]
    board, _ = make_board(*records, config="none", category="none")
    assert [board.filters[name].chosen for name in ("config", "category")] == ["function", None]


def test_spread_of_a_rank_is_what_paired_tests_leave_open(make_board: Board) -> None:
    tasks = {f"task-{number}": f"category {number % 3}" for number in range(12)}
    counts = [12, 11, 10, 6, 3, 0]
    entries = [
        make_entry(f"model-{count}", ["robust"] * count + ["failed"] * (12 - count), instances=tasks)
        for count in counts
    ]
    board, _ = make_board(make_record("run", *entries, instances=tasks))
    pairs = list(combinations(range(len(counts)), 2))
    # Answers are right from the first instance on, so that one of two models is never ahead on both sides.
    p_values = holm([permutation([1] * (counts[one] - counts[other])) for one, other in pairs])
    apart = [pair for pair, p in zip(pairs, p_values, strict=True) if p < 0.05]
    assert apart
    assert [item.spread for item in board.tracks[0].ranked] == [
        (1 + sum(other == place for _, other in apart), len(counts) - sum(one == place for one, _ in apart))
        for place in range(len(counts))
    ]


def test_choices_of_a_verified_run_stand_beside_reciting_and_are_split(make_board: Board, tmp_path: Path) -> None:
    choice = {"name": "n", "option": "o", "options": 4, "altered": False, "open": True}
    rows, predictions = [], []
    for instance, reading in {"a-one": "stated", "a-two": "published", "b-one": "other"}.items():
        predictions.append(Prediction(instance, "m", "function", "x = 1", track="paper"))
        settled = [{**choice, "reading": kind, "published": p} for kind, p in (("stated", True), (reading, False))]
        changes = {"choices": settled, "prediction_sha256": predictions[-1].sha256}
        rows.append(two_levels(instance, "passed", "passed", **changes))
    difficulties = {"a-one": "easy", "a-two": "easy", "b-one": "hard"}
    run = write_run(tmp_path / "run", rows, benchmark_version="1.0.0", difficulties=difficulties)
    RunFolder(run).predictions.write(predictions)
    paper: Any = {"category": "Alpha", "paper_title": "A", "paper_url": ""}
    submission = Submission("org/results", 1, "0" * 40, "bob", "run", "0" * 64, {})
    instances = {name: {**paper, "category": SCOPE[name], "difficulty": value} for name, value in difficulties.items()}
    verified = Verification(submission, run, instances, list(RunFolder(run).rows()), [])
    record = published_record(verified, "ann")
    assert record.harness_version == RunFolder(run).facts["harness_version"]
    _, html = make_board(record, setting="")
    assert "choices 66.7 · chance 25.0 · reciting 50.0" in html
    assert "corrected 0.33 · published 3/3 · other 1/3" in html
    board, html = make_board(record, setting="", difficulty="hard")
    assert (board.filters["difficulty"].names, board.filters["category"].names) == (["easy", "hard"], ["Beta"])
    assert list(board.tasks) == ["b-one"]
    assert "choices 50.0 · chance 25.0 · reciting 50.0" in html
    assert "published 1/1 · other 0/1" in html


def test_comment_counts_memorised_answers_that_the_record_does_not_list() -> None:
    entry = make_entry("model-a", ["robust"])
    overall = entry.overall.model_copy(update={"memorised": 2})
    entries = [entry.model_copy(update={"overall": overall, "difficulty": name}) for name in ("", "hard")]
    comment = _comment(make_record("run", *entries, memorised=["the first alone"]), "https://example.org")
    assert "2 pass on the published seeds only" in comment


def test_colours_of_several_samples_are_those_of_the_key(make_board: Board, space: Space) -> None:
    outcomes = {"alpha-one": {"robust": 2}, "alpha-two": {"reproduced": 2}, "beta-one": {"reproduced": 1, "failed": 1}}
    tasks = {name: TaskResult(outcomes=counts) for name, counts in outcomes.items()}
    kinds = {}
    for track in ("paper", "contract"):
        entry = make_entry("model-a", ["robust"], track=track, samples=2, tasks=tasks)
        board, _ = make_board(make_record("run", entry))
        ranked = next(item.ranked for item in board.tracks if item.name == track)
        rows = space("grid").make_grid(board, ranked)
        kinds[track] = [(row.cells[0].mark, row.cells[0].kind) for row in rows]
    assert kinds["paper"] == [("2/2", "robust"), ("2/2", "core"), ("1/2", "some")]
    assert kinds["contract"] == [("2/2", "robust"), ("0/2", "core"), ("0/2", "failed")]


ATTACK = "document.title='owned'"
HOSTILE = [
    f"<script>{ATTACK}</script>",
    f'"><svg onload={ATTACK}><img src=x onerror={ATTACK}>',
    f"' onmouseover='{ATTACK}' x='",
    f"</title></style><iframe srcdoc='<script>parent.{ATTACK}</script>'></iframe>",
    f"{{{{ {ATTACK} }}}} {{% raw %}}",
    "left\u202eright\u200b",
]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}


def test_text_of_submitters_is_never_markup(make_board: Board) -> None:
    entries = [
        make_entry(text, ["robust", "failed"], judges=[text], cost=1.0, instances={text: text, "plain": "Plain"})
        for text in HOSTILE
    ]
    tasks = {text: {"category": text, "paper": text, "url": f"javascript:{ATTACK}"} for text in HOSTILE}
    facts = {"submitted_by": HOSTILE[0], "verified_by": HOSTILE[1], "dataset": f"org/{HOSTILE[1]}", "tasks": tasks}
    _, html = make_board(make_record("run", *entries, **facts))
    page = _Tags()
    page.feed(html)
    assert not page.tags & {"script", "img", "iframe", "style"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert all(link.startswith(("#", "https://huggingface.co/", "http://127.0.0.1")) for link in page.links), page.links
    assert "\u202e" not in page.text
    assert "left\ufffdright\ufffd" in page.text


@pytest.mark.parametrize(
    "content",
    [b"[" * 60_000, b'{"version": 1, "run_id": "run"}', make_record("other").model_dump_json().encode()],
    ids=["deep", "older version", "another run"],
)
def test_damaged_record_is_a_reason_and_no_run(content: bytes, space: Space, tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    reason = space("results_dataset")._read_record(path)
    assert isinstance(reason, str)
    assert reason.endswith("the run is not shown")
    path.write_text(make_record("run", make_entry("model-a", ["robust"])).model_dump_json())
    assert space("results_dataset")._read_record(path).tasks.keys() == INSTANCES.keys()


@pytest.mark.parametrize("error", [OSError(), RuntimeError("of a download by Xet")], ids=["network", "xet"])
def test_a_failed_download_keeps_the_last_state(
    error: Exception, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = space("results_dataset").ResultsDataset("org/results")

    def fail() -> None:
        raise error

    monkeypatch.setattr(dataset, "_read", fail)
    assert dataset.get().problem == "the Hub does not answer"
