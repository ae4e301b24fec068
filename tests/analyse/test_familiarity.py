"""`lmrbench analyse familiarity`: dates and cut-offs, a model that knows the references by heart and one that does not,
servers that offer less, the canary."""

import ast
import gzip
import json
import os
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.analyse.familiarity.canary import ask_for_canary, canary_of, search_corpus
from lmrbench_data.analyse.familiarity.dates import published, read_cutoffs, split_scores
from lmrbench_data.analyse.familiarity.familiarity_tables import (
    WAYS,
    continuation,
    differences,
    probe_dict,
    probe_line,
    probe_tables,
    split_table,
)
from lmrbench_data.analyse.familiarity.probe import (
    ProbeSettings,
    ProbeSummary,
    Scores,
    build_probes,
    probe,
    verbatim_run,
)
from lmrbench_data.analyse.familiarity.texts import RENAMED, VARIANT, ProbeTexts, rename_variables
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.reports.familiarity import CutoffSide, cutoff_side, keep_familiarity, read_familiarity
from support.command_line import in_process
from support.ngram_server import NgramModel, NgramServer
from support.openai_server import Reply

IDS = ("dpo-preference-loss", "empathy-gap-delta", "simpo-loss", "simclr-info-nce-logits", "token-level-dpo-loss")


@pytest.fixture(scope="module")
def rows() -> list[DatasetRow]:
    return [row for row in load_rows("embedded") if row["instance_id"] in IDS]


@pytest.fixture(scope="module")
def probes(rows: list[DatasetRow]) -> list[ProbeTexts]:
    return build_probes(rows, load_tasks(IDS))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)


# --- dates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arxiv_id", "when"),
    {"2305.18290": "2023-05", "2305.18290v3": "2023-05", "cs/9901001": "1999-01", "math.GT/0309136": "2003-09"}.items(),
)
def test_the_arxiv_id_says_the_month(arxiv_id: str, when: str, rows: list[DatasetRow]) -> None:
    assert published({**rows[0], "arxiv_id": arxiv_id}) == when
    for other in ("", "2313.00001", "10.1145/3"):
        assert published({**rows[0], "arxiv_id": other, "year": 2021}) == "2021"


def test_the_month_of_the_cut_off_counts_as_before() -> None:
    parts = {when: cutoff_side(when, "2024-06") for when in ("2024-05", "2024-06", "2024-07", "2023", "2024", "2025")}
    before, after, unknown = CutoffSide.BEFORE, CutoffSide.AFTER, CutoffSide.UNKNOWN
    assert list(parts.values()) == [before, before, after, before, unknown, after]
    assert read_cutoffs(["2024-06", "b=2025-01"], ["a", "b"]) == {"a": "2024-06", "b": "2025-01"}
    for texts in (["2024"], ["2024-13"], ["c=2024-06"], ["a=2024-06"]):
        with pytest.raises(ArgumentError):
            read_cutoffs(texts, ["a", "b"])


def test_scores_on_both_sides_and_a_line_in_the_report(rows: list[DatasetRow], tmp_path: Path) -> None:
    from lmrbench_data.dataset.build import write_dataset
    from lmrbench_data.loader import read_archive
    from lmrbench_data.tasks.manifest import load_benchmark

    # Rebuilding suffices: a malformed answer never reaches a sandbox.
    write_dataset([dict(row) for row in rows], tmp_path / "data", load_benchmark())
    assert read_archive(rows[0]["repo_archive"])
    answers = [{"instance_id": name, "model_name_or_path": "m", "function": "no"} for name in IDS]
    run = lmr.evaluate(answers, tmp_path / "run", dataset=str(tmp_path / "data"), sandbox="local").path
    [split], dates = split_scores([run], ["2024-03"])
    assert dates["simclr-info-nce-logits"] == "2020-02"
    assert {name: tally.instances for name, tally in split.parts.items()} == {
        CutoffSide.BEFORE: 2,  # DPO 2023-05, SimCLR 2020-02
        CutoffSide.AFTER: 3,  # SimPO 2024-05, TDPO 2024-04, empathy gap 2025-03
        CutoffSide.UNKNOWN: 0,
    }
    _, table = split_table([split])
    assert [row[3:6] for row in table] == [
        ["up to the cut-off", "2", "0.0 % (0/2)"],
        ["after it", "3", "0.0 % (0/3)"],
    ]
    keep_familiarity(run, cutoffs={"m": split.cutoff}, published=dates)
    keep_familiarity(run, canaries={"m": {"known": False, "line": "Canary: no sign."}})
    (run / "familiarity.json").write_text('{"probes": {"m": 1}}')
    with pytest.raises(InputError, match="damaged"):
        read_familiarity(run)


# --- texts --------------------------------------------------------------------------------------------------------


class _Blind(ast.NodeTransformer):
    """Variables without names."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", node.ctx)


def test_renaming_changes_names_of_variables_alone() -> None:
    for row in load_rows("embedded"):
        renamed = rename_variables(row["golden_file"], row["goal_function"])
        before, after = ast.parse(row["golden_file"]), ast.parse(renamed)
        assert ast.dump(_Blind().visit(before)) == ast.dump(_Blind().visit(after))
        # As many different names as before: none was merged with another.
        assert len({n.id for n in ast.walk(ast.parse(renamed)) if isinstance(n, ast.Name)}) >= len(
            {n.id for n in ast.walk(ast.parse(row["golden_file"])) if isinstance(n, ast.Name)}
        )


def test_controls_go_on_after_the_same_prefix(rows: list[DatasetRow], probes: list[ProbeTexts]) -> None:
    for row, made in zip(rows, probes, strict=True):
        assert {body.kind for body in made.bodies} >= {"reference", VARIANT, RENAMED}
        for body in made.bodies:
            ast.parse(made.prefix + body.text)
        assert made.reference in row["golden_file"]
        assert made.reference.strip() not in made.prefix
    with pytest.raises(ArgumentError):
        build_probes(rows, instances=("nothing",))


# --- probes -------------------------------------------------------------------------------------------------------


def learned(probes: list[ProbeTexts], kind: str) -> NgramModel:
    """A model that has read every masked file, each with bodies of one kind."""
    return NgramModel(one.prefix + body.text for one in probes for body in one.bodies if body.kind == kind)


def run_probe(server: NgramServer, out: Path, probes: list[ProbeTexts]) -> ProbeSummary:
    settings = ProbeSettings(out=out, model="m", base_url=server.base_url, retries=1, workers=2)
    return probe(settings, lambda: probes)


@pytest.mark.slow
def test_who_knows_the_references_by_heart_is_found_out(probes: list[ProbeTexts], tmp_path: Path) -> None:
    found = {}
    for kind in ("reference", VARIANT):
        with NgramServer(learned(probes, kind), "echo") as server:
            found[kind] = run_probe(server, tmp_path / kind, probes)
            assert found[kind].complete
            asked = len(server.requests)
            again = run_probe(server, tmp_path / kind, probes)
            assert (again.asked, again.kept) == (0, found[kind].asked)
            assert len(server.requests) == asked + 1, "what does it offer?"
    knows, does_not = found["reference"], found[VARIANT]
    for measure in ("mean_logprob", "mean_probability", "min_k"):
        above, below = differences(knows, measure, VARIANT), differences(does_not, measure, VARIANT)
        assert (above.interval or (0, 0))[0] > 0, measure
        assert (below.value or 0) < 0, measure
    runs, more = continuation(knows)
    assert runs.value == pytest.approx(1, abs=0.35)
    assert (more.interval or (0, 0))[0] > 0
    assert [title for title, _ in probe_tables(knows)] == [
        "Probability per token",
        "The reference minus its controls",
        "What the model writes after the prefix",
    ]
    assert "Familiarity of m (echo): references are" in probe_line(knows)
    json.dumps(probe_dict(knows))


@pytest.mark.parametrize("way", ["chat", "text"])
def test_servers_that_offer_less_say_less(way: str, probes: list[ProbeTexts], tmp_path: Path) -> None:
    with NgramServer(learned(probes, "reference"), way) as server:
        found = run_probe(server, tmp_path, probes)
    assert (found.way, found.asked, found.complete) == (way, len(probes), True)
    assert "cannot be scored" in WAYS["chat"]
    assert differences(found, "mean_logprob", VARIANT).value is None
    [(title, (_, table))] = probe_tables(found)
    assert title == "What the model writes after the prefix"
    assert any("its own words" in row[0] for row in table) == (way == "chat")
    assert continuation(found)[0].value == pytest.approx(1, abs=0.35)


def test_a_stopped_probe_goes_on(probes: list[ProbeTexts], tmp_path: Path) -> None:
    with NgramServer(learned(probes, "reference"), "text") as server:
        broken = Reply(500, {"error": {"message": "boom"}})
        assert run_probe(server, tmp_path, probes[:1]).asked == 1
        with (tmp_path / "probes.jsonl").open("ab") as file:
            file.write(b'{"what": "sc')  # killed while it wrote
        server.script = [Reply(404, {}), Reply(400, {"error": {"message": "logprobs"}})]
        server.script += [Reply(body={"choices": [{"message": {"content": "yes"}}]}), *[broken] * 10]
        stopped = run_probe(server, tmp_path, probes)
        assert not stopped.complete
        assert (stopped.errors, "HTTP 500: boom" in stopped.first_error) == (len(probes) - 1, True)
        server.script = []
        done = run_probe(server, tmp_path, probes)
        assert (done.complete, done.kept, len(done.rows)) == (True, len(stopped.rows), len(probes))
    with pytest.raises(InfraError, match="no server answers"):
        run_probe(server, tmp_path, probes)


def test_scores_of_a_text() -> None:
    found = Scores.of([-0.1] * 8 + [-3.0, -5.0])
    assert (found.tokens, found.min_k) == (10, -4.0)
    assert found.mean_logprob == pytest.approx(-0.88)
    assert Scores.of([]).mean_logprob is None
    assert verbatim_run("x = a + b  # so", "y = a+b") == pytest.approx(4 / 5)
    assert verbatim_run("", "y") == verbatim_run("y", "") == 0


# --- the canary ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["echo", "chat", "text"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_model_that_was_trained_on_the_canary_gives_it_away(way: str, is_known: bool, rows: list[DatasetRow]) -> None:
    words, guid = canary_of(rows)
    question = f"Complete this text with what stands behind it, and write nothing else: {words}{guid}"
    with NgramServer(NgramModel([words + guid, question] if is_known else ["some other text"]), way) as server:
        found = ask_for_canary(Endpoint(model="m", base_url=server.base_url, retries=0), rows)
    assert found.is_known is is_known
    assert (found.digits == found.of == 24) is is_known
    assert (found.rank == 1) is (is_known and way == "echo")
    assert ("no sign" in found.line) is not is_known


@pytest.fixture
def crawl(tmp_path: Path, rows: list[DatasetRow]) -> Path:
    _, guid = canary_of(rows)
    folder = tmp_path / "crawl"
    (folder / "deep").mkdir(parents=True)
    (folder / "clean.txt").write_text("6f1d7c52 and nothing else")
    (folder / "plain.jsonl").write_bytes(b"x" * (2**20 - 10) + guid.upper().encode() + b"y" * 100)  # across two blocks
    (folder / "deep" / "packed.gz").write_bytes(gzip.compress(f"... {guid} ...".encode()))
    (folder / "damaged.gz").write_bytes(gzip.compress(b"x" * 1000)[:-20])
    return folder


def test_a_corpus_is_searched_for_the_canary(crawl: Path, rows: list[DatasetRow]) -> None:
    found = search_corpus(crawl, rows)
    assert found.files == 4
    assert [Path(path).name for path in found.hits] == ["packed.gz", "plain.jsonl"]
    assert [Path(path).name for path in found.unreadable] == ["damaged.gz"]
    with pytest.raises(ArgumentError, match="no such folder"):
        search_corpus(crawl / "nowhere", rows)


# --- the commands -------------------------------------------------------------------------------------------------


def familiarity(*arguments: str) -> tuple[int, str, str]:
    done = in_process("analyse", "familiarity", *arguments)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_the_commands_say_what_they_found_and_where(
    probes: list[ProbeTexts], rows: list[DatasetRow], crawl: Path, tmp_path: Path
) -> None:
    run = lmr.evaluate(
        [{"instance_id": IDS[0], "model_name_or_path": "m", "function": "no"}], tmp_path / "run", sandbox="local"
    ).path
    status, out, _ = familiarity("cutoff", str(run), "--cutoff", "2024-06")
    assert (status, "0.0 % (0/19)" in out) == (0, True), out
    with NgramServer(learned(probes, "reference"), "chat") as server:
        place = ("-m", "m", "--base-url", server.base_url, "--run", str(run))
        status, out, err = familiarity("probe", *place, "--out", str(tmp_path / "probe"), "-i", IDS[0])
        assert (status, err) == (0, "")
        assert "references cannot be scored" in out
        status, out, err = familiarity("canary", *place, "--corpus", str(crawl), "--json")
        found = json.loads(out)
        assert (status, len(found["corpus"]["hits"]), found["model"]["known"]) == (0, 2, False)
        assert "damaged.gz: cannot be read" in err
    said = (run / "report.md").read_text()
    for line in ("knowledge cut-off 2024-06: up to the cut-off", "Familiarity of m (chat)", "Canary: m completes"):
        assert line in said
    for arguments in (
        ("canary",),
        ("cutoff", str(run), "--cutoff", "June"),
        ("probe", *place, "--out", str(tmp_path / "x")),
    ):
        status, _, err = familiarity(*arguments)
        assert (status in (1, 3), err.count("\n")) == (True, 1), err


def test_a_probe_keeps_to_its_limit_of_costs(probes: list[ProbeTexts], tmp_path: Path) -> None:
    """Each request costs 0.002 US dollars here, including the one that finds out what the server offers."""
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input_per_mtok: 1000.0, output_per_mtok: 1000.0}\n")
    with NgramServer(learned(probes, "reference"), "echo") as server:
        settings = ProbeSettings(out=tmp_path, model="m", base_url=server.base_url, prices=prices, max_cost=0.005)
        stopped = probe(settings, lambda: probes)
        assert (stopped.asked, stopped.complete) == (2, False)
        assert (stopped.stopped, stopped.hint) == (
            "cost limit reached: $0.0060 of $0.005",
            "raise the cost limit to resume",
        )
        assert [row["cost_usd"] for row in stopped.rows] == [0.002, 0.002]
        assert probe(settings, lambda: probes).asked == 0
