"""Figures and tables for papers show the report's numbers and the models' names, whatever these are."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench_data.base.text import one_line
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.figures.charts import CHARTS
from lmrbench_evaluate.reports.figures.latex import escape
from lmrbench_evaluate.reports.figures.names import short_names, wrapped
from lmrbench_evaluate.reports.report import Report, make_report
from lmrbench_evaluate.runs.folder import RunFolder
from support.command_line import in_process
from support.runs import SCOPE, result, two_levels, write_run

#: A long name, one full of markup, and one that states no cost.
NAMES = ["meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", r"_a$b$ & 50% <#1>~^{x}\y [z]", "free"]
SAMPLES = 3
READINGS = ("stated", "published", "other")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Three models with choices, of which two state their costs; the first is right most often."""
    rows, predictions = [], []
    for place, model in enumerate(NAMES):
        for number, instance in enumerate(SCOPE):
            for sample in range(SAMPLES):
                core = "passed" if number + sample >= place * 2 else "failed"
                contract = "passed" if sample else "failed"
                metadata = {} if model == "free" else {"cost_usd": 0.01 * 30**place}
                made = Prediction(instance, model, "function", f"x = {sample}", sample, "", "paper", metadata)
                reading = READINGS[(place + number) % 3]
                kinds = {"altered": (True, False), "open": (False, True)}.values()
                choices = [
                    {"name": "n", "option": "o", "reading": reading, "options": 4, "altered": a, "open": o}
                    for a, o in kinds
                ]
                changes = {"model": model, "sample": sample, "prediction_sha256": made.sha256, "choices": choices}
                rows.append(two_levels(instance, core, contract, **changes))
                predictions.append(made)
    run = write_run(tmp_path_factory.mktemp("runs") / "run", rows)
    RunFolder(run).predictions.write(predictions)
    return make_report([run])


@pytest.fixture(scope="module")
def folder(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "new"
    files = report.save_figures(path)
    assert files.skipped == ["cost: without free: no cost stated (cost_usd in the metadata of predictions)"]
    assert sorted(file.name for file in files.written) == sorted(file.name for file in path.iterdir())
    assert Counter(file.suffix for file in files.written) == {".svg": 5, ".pdf": 5, ".tex": 3, ".csv": 3}
    return path


def squeezed(text: str) -> str:
    return "".join(text.split())


def numbers(share: dict[str, Any]) -> str:
    low, high = share["ci95"]
    return f"{100 * share['share']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


@pytest.mark.parametrize("name", CHARTS)
def test_a_figure_fits_a_column_and_names_every_model(name: str, folder: Path) -> None:
    """As text in the SVG, and in fonts that conferences take (TrueType, embedded) in the PDF."""
    shown = [model for model in NAMES if model != "free" or name != "cost"]
    names = shown if name in ("scores", "readings", "settled") else short_names(shown, 42)
    root = ElementTree.fromstring((folder / f"{name}.svg").read_bytes())
    texts = squeezed("".join(root.itertext()))
    [page] = pymupdf.open(folder / f"{name}.pdf")
    assert page.rect.width == pytest.approx(3.3 * 72)
    fonts = [(kind, ending, "+" in font) for _, ending, kind, font, *_ in page.get_fonts()]
    assert fonts
    assert set(fonts) == {("Type0", "ttf", True)}
    sizes = {round(span["size"], 1) for span in _spans(page)}
    assert sizes == {8.0}
    printed = squeezed("".join(span["text"] for span in _spans(page)))
    for model in names:
        assert squeezed(model) in texts
        assert squeezed(model) in printed
    assert all(page.rect.contains(pymupdf.Rect(span["bbox"])) for span in _spans(page)), "text is cut"


def _spans(page: Any) -> list[dict[str, Any]]:
    lines = (line for block in page.get_text("dict")["blocks"] for line in block.get("lines", ()))
    return [span for line in lines for span in line["spans"]]


def test_figures_show_the_numbers_of_the_report(report: Report, folder: Path) -> None:
    scores = report.to_dict()["scores"]
    for stem, key in (("scores", None), ("settled", "settled")):
        texts = "".join(ElementTree.fromstring((folder / f"{stem}.svg").read_bytes()).itertext())
        for score in scores:
            assert numbers(score[key] if key else score["overall"][score["headline"]]) in texts
    drawn = {name: chart(report.scores, NAMES).figure for name, chart in CHARTS.items()}
    rates = [line.get_xydata().tolist() for line in drawn["pass-at-k"].axes[0].lines]
    assert rates == [
        [[int(k), pytest.approx(100 * rate, abs=0.01)] for k, rate in score["pass_at_k"]["reproduced"].items()]
        for score in scores
    ]
    points = [line.get_xydata().tolist() for line in drawn["cost"].axes[0].lines if line.get_marker() != "None"]
    stated = [(score["spending"]["cost_usd"], score["overall"]) for score in scores if score["spending"]]
    assert points == [
        [[pytest.approx(cost["sum"] / cost["answers"]), pytest.approx(100 * overall["reproduced"]["share"], abs=0.01)]]
        for cost, overall in stated
    ]
    widths = sorted(round(bar.get_width(), 1) for bar in drawn["readings"].axes[0].patches)
    assert widths == sorted(round(100 * share["share"], 1) for score in scores for share in score["reading"].values())


def test_tables_hold_the_numbers_of_the_report(report: Report, folder: Path) -> None:
    found = report.to_dict()
    rows = list(csv.DictReader((folder / "scores.csv").open(encoding="utf-8")))
    assert [(row["model"], row["level"], row["ranks"]) for row in rows] == [
        (model, level, str(level == "reproduced")) for model in NAMES for level in ("reproduced", "robust")
    ]
    shares = [score["overall"][level] for score in found["scores"] for level in ("reproduced", "robust")]
    assert [[float(row[key]) for key in ("count", "share", "ci95_low", "ci95_high")] for row in rows] == [
        [share["count"], share["share"], *share["ci95"]] for share in shares
    ]
    pairs = list(csv.DictReader((folder / "differences.csv").open(encoding="utf-8")))
    assert [(row["first"], row["level"], float(row["p_holm"])) for row in pairs] == [
        (pair["first"], pair["level"], pair["p_holm"]) for pair in found["pairs"]
    ]
    latex = (folder / "differences.tex").read_text()
    for pair in (pair for pair in found["pairs"] if pair["level"] == "reproduced"):
        low, high = (round(100 * end) for end in pair["ci95"])
        assert f"& ${100 * pair['difference']:+.1f}$ & [${low}$, ${high}$] & " in latex
    by_category = list(csv.DictReader((folder / "categories.csv").open(encoding="utf-8")))
    for row in by_category:
        score = next(score for score in found["scores"] if score["model_name_or_path"] == row["model"])
        assert int(row["count"]) == score["categories"][row["category"]][row["level"]]["count"]
    latex = (folder / "scores.tex").read_text()
    for score in found["scores"]:
        cells = [numbers(score["overall"][level]).replace(" [", " & [") for level in ("reproduced", "robust")]
        assert f"{escape(score['model_name_or_path'])} & {' & '.join(cells)} \\\\" in latex
    for path in folder.glob("*.tex"):
        body = path.read_text().partition("\\midrule\n")[2].partition("\\bottomrule")[0]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines()}) == 1


def test_the_same_report_gives_the_same_bytes(report: Report, folder: Path, tmp_path: Path) -> None:
    with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "path", "lines.linewidth": 9}):
        report.save_figures(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }


_MACROS = {
    **{rf"\{char}": char for char in "{}$&#_%"},
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\ldots{}": "…",
    "{[}": "[",
    "{*}": "*",
    "{}": "",
}
_TOKEN = re.compile("|".join(map(re.escape, sorted(_MACROS, key=len, reverse=True))) + r"|[^\\{}$&#_%~^<>|\[*]")


@given(st.text(st.sampled_from("\\{}$&#_%~^<>|[]*-'`,!?…a é\n") | st.characters(), max_size=20))
def test_latex_prints_any_name_as_it_is(name: str) -> None:
    escaped = escape(name)
    assert _TOKEN.sub("", escaped) == "", "something that LaTeX would read as a command"
    assert _TOKEN.sub(lambda found: _MACROS.get(found[0], found[0]), escaped) == one_line(name)
    assert not re.search("--|''|``|,,|[!?]`", escaped), "a ligature"


@given(st.lists(st.text("ab-/ _", min_size=1, max_size=90), unique=True, min_size=1), st.integers(8, 30))
def test_short_names_stay_different_and_lines_fit(names: list[str], width: int) -> None:
    assert len(set(short_names(names, 20))) == len(names)
    for name in names:
        lines = wrapped(name, width).split("\n")
        assert max(map(len, lines)) <= width
        assert squeezed("".join(lines)) == squeezed(name)


def test_tracks_and_settings_have_figures_of_their_own(tmp_path: Path) -> None:
    """A setting is anybody's text: it names files, and never leaves the folder."""
    rows = [
        result("a-one", "passed", setting=setting, track=track)
        for setting, track in (("../../agent", "paper"), ("", "paper"), ("../../agent", "contract"))
    ]
    run = write_run(tmp_path / "run", rows)
    done = in_process("report", str(run), "--figures", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert {path.stem for path in (tmp_path / "out").glob("*.svg")} == {
        "scores-paper-agent",
        "scores-paper-unstated",
        "scores-contract-agent",
    }
    assert f"written: {tmp_path / 'out' / 'scores-paper-agent'}.svg, .pdf\n" in done.stderr
    assert "skipped: pass-at-k-paper-agent: one sample per instance\n" in done.stderr
    assert "skipped: readings-paper-agent: no answer to a paper with altered choices" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run"]
    done = in_process("report", str(run), "--figures", str(tmp_path / "out" / "scores.tex"))
    assert done.returncode == 2
    assert "scores.tex' is a file" in done.stderr
