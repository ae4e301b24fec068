"""`lmrbench analyse tables|actions|structure`: the same numbers in all forms, figures, and one line for bad input."""

import functools
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from lmrbench.analyse.actions import analyse_actions
from lmrbench.analyse.answers import original_answers
from lmrbench.analyse.sessions import original_sessions
from lmrbench.analyse.structure import analyse_structure
from lmrbench.analyse.tables import make_tables
from lmrbench.original import facts
from lmrbench_evaluate.reports.text_table import markdown_table
from support.command_line import in_process
from support.runs import result, write_run

ROOT = Path(__file__).resolve().parents[2]
MADE = {
    "tables": functools.cache(lambda: make_tables(original_answers())),
    "actions": functools.cache(lambda: analyse_actions(original_sessions())),
    "structure": functools.cache(lambda: analyse_structure(original_answers())),
}


@pytest.mark.parametrize("name", MADE)
def test_command_prints_and_writes_the_same_numbers(name: str, tmp_path: Path) -> None:
    made = MADE[name]()
    files = [tmp_path / f"a.{form}" for form in ("md", "csv", "json")]
    done = in_process("analyse", name, "--json", *(text for file in files for text in ("--out", file)))
    assert (done.returncode, json.loads(done.stdout)) == (0, json.loads(json.dumps(made.numbers)))
    assert json.loads(files[2].read_text()) == json.loads(done.stdout)
    assert all("\n".join(markdown_table(*table)) in files[0].read_text() for _, table in made.tables)
    pd.testing.assert_frame_equal(pd.read_csv(files[1]), made.records, check_dtype=False)
    assert made.notes[0] in in_process("analyse", name).stdout


def test_tables_of_docs_are_those_of_the_commands() -> None:
    page = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    printed = ["\n".join(markdown_table(*table)) for made in MADE.values() for _, table in made().tables]
    shown = [table.strip() for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)]
    definitions = [table for table in shown if table.startswith(("| kind | action", "| measure | definition"))]
    assert len(shown) > len(definitions) == 2
    assert all(table in printed for table in shown if table not in definitions)


def test_sessions_and_repositories_belong_to_papers_with_labels() -> None:
    papers, sessions, structures = set(facts.labels()["paper"]), facts.sessions(), facts.structures()
    assert len(sessions) == 66
    assert not sessions.duplicated(["model", "paper"]).any()
    assert set(sessions["paper"]) <= papers
    assert sessions.drop(columns=["model", "paper", "passed"]).sum(axis="columns").all()
    assert len(structures) == 29
    assert papers <= set(structures["paper"])


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [result("a-one", "passed")])
    (tmp_path / "labels.csv").write_text("annotator,instance,model,category\nann,a-one,m,3\n")
    cases = {
        ("tables", tmp_path / "gone"): "no run.json",
        ("tables", "--out", "t.html"): "--out: t.html: must end in .md, .csv or .json",
        ("tables", "--labels", tmp_path / "labels.csv"): "--labels: applies to runs; name a run as well",
        ("tables", run, "--judge-model", "nobody"): "not judged by nobody",
        ("structure", run): "--dataset: ",
        ("structure", "--solved-by", "luck"): "--solved-by: 'luck' is unknown; one of: unit tests, judge, people",
    }
    for arguments, problem in cases.items():
        done = in_process("analyse", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), arguments
        assert problem in done.stderr
    done = in_process("analyse", "tables", run, "--labels", tmp_path / "labels.csv")
    assert done.returncode == 1
    assert "1 row of labels could not be read: left out." in done.stdout
