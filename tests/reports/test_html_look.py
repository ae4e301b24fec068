"""Marks, bars and chips of the HTML report, without a browser."""

import json
import re
from pathlib import Path

from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.report import make_report
from support.runs import judgement, two_levels, write_run


def test_marks_mean_the_same_in_both_tracks_and_chips_name_models_in_one_order(tmp_path: Path) -> None:
    rows = []
    for track in ("paper", "contract"):
        for name, pairs in {"a-one": ["passed failed", "passed passed"], "a-two": ["malformed malformed"] * 2}.items():
            for sample, pair in enumerate(pairs):
                rows.append(two_levels(name, *pair.split(), track=track, sample=sample))
    rows.append(two_levels("a-one", "failed", "failed", track="contract", model="n"))
    run = write_run(tmp_path / "run", rows, run_id="x" * 90, scope={"a-one": "Alpha", "a-two": "Alpha"})
    votes = [judgement("a-one", "CC", track=track) for track in ("paper", "contract")]
    (run / "judgements.jsonl").write_text("".join(json.dumps(vote) + "\n" for vote in votes))
    html = render_html(make_report([run]))
    header = html.partition("<main")[0]
    assert f"<li>run <code>{'x' * 90}</code> of" in header
    chart = html.partition('<h2 id="categories">')[2].partition("<h2")[0]
    bars = re.findall(r'm, (paper|contract).*?<i style="width:([\d.]+)%"></i><u style="left:([\d.]+)%">', chart, re.S)
    assert bars == [("paper", "50.0", "25.0"), ("contract", "25.0", "50.0")], "the bar ranks, the line is the other"
    assert 'class="none" title="none 50%"' in html, "two malformed of four answers"
    chips = [re.findall(r"<b>(.*?)</b>", part) for part in re.findall(r'<span class="chips">.*?</summary>', html, re.S)]
    assert chips == [["m, paper", "m, contract", "n, contract"]] * 2
    assert "--part-robust:50%;--part-reproduced:100%;--part-wrong:100%" in html
    assert "Core only: reproduced, not robust." in html
