"""Figures and tables for papers show the report's numbers and the models' names, whatever these are."""

import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pymupdf
import pytest

from lmrbench_evaluate.reports import figures, paired
from lmrbench_evaluate.reports.figures import CHARTS, draw_figure
from lmrbench_evaluate.reports.report import Report, make_report
from lmrbench_evaluate.reports.sections import tables
from lmrbench_evaluate.verdict.levels import Level
from support.command_line import in_process
from support.runs import SCOPE, result, two_levels, write_run

#: A name longer than a line beside a plot, one full of markup, and one that LaTeX takes for an option.
NAMES = ["MAKER-1/MODEL-A-4-17B", r"_a$b$&%<#1>~^{x}\y[z]", "[free]/MODEL-C-4-70B"]
SAMPLES = 3


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Three models; the first is right most often."""
    rows = []
    for place, model in enumerate(NAMES):
        for number, instance in enumerate(SCOPE):
            for sample in range(SAMPLES):
                core = "passed" if number + sample >= place * 2 else "failed"
                contract = "passed" if sample else "failed"
                changes = {"model": model, "sample": sample, "prediction_sha256": str(sample)}
                rows.append(two_levels(instance, core, contract, **changes))
    run = write_run(tmp_path_factory.mktemp("runs") / "run", rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paired, "MIN_SHARED", 1)
        return make_report([run])


@pytest.fixture(scope="module")
def folder(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "new"
    written = report.save_figures(path)
    assert sorted(written) == sorted(path.iterdir())
    assert Counter(file.suffix for file in written) == {".svg": 2, ".pdf": 2, ".tex": 3}
    return path


@pytest.mark.parametrize("name", CHARTS)
def test_figure_fits_a_column_and_names_every_model(name: str, folder: Path) -> None:
    """As text in the SVG, and in fonts that conferences take (TrueType, embedded) in the PDF."""
    root = ElementTree.fromstring((folder / f"{name}.svg").read_bytes())
    [page] = pymupdf.open(folder / f"{name}.pdf")
    assert page.rect.width == pytest.approx(3.3 * 72)
    fonts = [(kind, ending, "+" in font) for _, ending, kind, font, *_ in page.get_fonts()]
    assert set(fonts) == {("Type0", "ttf", True)}
    blocks = page.get_text("dict", clip=pymupdf.INFINITE_RECT())["blocks"]
    lines = (line for block in blocks for line in block.get("lines", ()))
    spans: list[dict[str, Any]] = [span for line in lines for span in line["spans"]]
    assert {round(span["size"], 1) for span in spans} == {8.0}
    for text in ("".join(root.itertext()), "".join(span["text"] for span in spans)):
        assert all(squeezed(model) in squeezed(text) for model in NAMES)
    assert all(page.rect.contains(pymupdf.Rect(span["bbox"])) for span in spans), "text is cut"


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_figures_show_the_numbers_of_the_report(report: Report) -> None:
    scores = report.to_dict()["scores"]
    figures: Any = {name: draw_figure(draw, report.scores) for name, draw in CHARTS.items()}
    drawn = {name: figure.axes[0] for name, figure in figures.items()}
    shares = [score["overall"][score["headline"]] for score in scores]
    [values] = [line.get_xdata() for line in drawn["scores"].lines if line.get_marker() == "o"]
    assert list(values) == pytest.approx([100 * share["share"] for share in shares], abs=0.01)
    [bars] = drawn["scores"].containers[0].lines[2]
    ends = [tuple(segment[:, 0]) for segment in bars.get_segments()]
    for end, share in zip(ends, shares, strict=True):
        assert end == pytest.approx([100 * bound for bound in share["ci95"]], abs=0.01)
    rates = [line.get_xydata().tolist() for line in drawn["pass-at-k"].lines]
    kinds = [score[kind]["reproduced"] for score in scores for kind in ("pass_at_k", "pass_all_k")]
    expected = [[[int(k), 100 * rate] for k, rate in kind.items()] for kind in kinds]
    for points, stored in zip(rates, expected, strict=True):
        assert np.array(points) == pytest.approx(np.array(stored), abs=0.01)
    assert drawn["pass-at-k"].get_ylim() == (0, 100)
    for container, score in zip(drawn["pass-at-k"].containers[::2], scores, strict=True):
        [bars] = container.lines[2]
        ends = score["overall"]["reproduced"]["ci95"]
        assert bars.get_segments()[0][:, 1] == pytest.approx([100 * end for end in ends], abs=0.01), "of pass@1"
    labels = drawn["scores"].get_legend_handles_labels()[1]
    assert labels == ["robust", "reproduced with 95% CI"]


def test_tables_are_those_of_the_report(report: Report, folder: Path) -> None:
    shown = dict(tables(report))
    rows = [*shown["Unit-test accuracy"][1], *shown["By category"][1]]
    for level in Level:
        rows += [[str(level), *row] for row in shown[f"Paired comparison: {level}"][1]]
    text = "".join((folder / f"{name}.tex").read_text("utf-8") for name in ("scores", "categories", "differences"))
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if "&" in line]
    plain = re.compile(r"[-+A-Za-z0-9. ()/%]*")
    cells = [[cell.replace(r"\%", "%") for cell in line] for line in lines]
    written = [[cell for cell in line if plain.fullmatch(cell)] for line in cells]
    for row in rows:
        assert [cell for cell in row if plain.fullmatch(cell)] in written


def test_latex_escapes_names(folder: Path) -> None:
    escaped = r"\_a\$b\$\&\%<\#1>\textasciitilde \textasciicircum \{x\}\textbackslash y[z]"
    for name in ("scores", "differences", "categories"):
        text = (folder / f"{name}.tex").read_text()
        assert escaped in text
        body = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0].replace("\\midrule\n", "")
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines()}) == 1
    # After the end of a row, "[" would begin an optional argument.
    assert "\n{}[free]/MODEL-C-4-70B & " in (folder / "scores.tex").read_text()


def test_equal_reports_give_equal_files(
    report: Report, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "CHARTS", {"scores": CHARTS["scores"]})  # soon drawn
    with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "path", "lines.linewidth": 9}):
        report.save_figures(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


def test_each_track_and_setting_has_its_own_figures(tmp_path: Path) -> None:
    """A setting is arbitrary text: it names files, and never leaves the folder."""
    rows = [
        result("a-one", "passed", setting=setting, track=track)
        for setting, track in (("../../agent", "paper"), ("", "paper"), ("../../agent", "contract"))
    ]
    run = write_run(tmp_path / "run", rows)
    done = in_process("report", str(run), "--figures", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    stems = {"scores-paper-agent", "scores-paper-setting-1", "scores-contract-agent"}
    assert {path.stem for path in (tmp_path / "out").glob("*.svg")} == stems
    assert f"written: {tmp_path / 'out' / 'scores-paper-agent'}.svg\n" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run"]
