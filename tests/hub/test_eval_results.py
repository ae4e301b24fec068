"""Results for models' repositories: what the Hub's client reads is what the report says, only for complete runs."""

import json
from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from lmrbench_evaluate.hub.eval_results import _paths
from support.hub_world import DATASET, World

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


def test_results_of_each_model_are_those_of_the_report(world: World) -> None:
    options = ("report", "runs/models", "--eval-results", "results", "--published", DATASET)
    report = json.loads(world.ok(*options, "--json"))
    shares = {score["model_name_or_path"]: score["overall"]["reproduced"]["share"] for score in report["scores"]}
    files = {path.stem: path for path in (world.folder / "results").iterdir()}
    assert files.keys() == shares.keys() == {"good", "bad"}
    for model, path in files.items():
        [entry] = parse_eval_result_entries(yaml.safe_load(path.read_text()))
        assert (entry.dataset_id, entry.task_id) == (DATASET, "function")
        assert entry.value == pytest.approx(100 * shares[model], abs=0.01)
        assert entry.dataset_revision == world.hub.repo(DATASET).refs["tags/v0.1.0"]
        samples = "mean of 2 samples" if model == "good" else "1 sample"
        assert entry.notes.startswith(f"no tools; paper track; {samples}; harness ")


def test_incomplete_run_has_no_results(world: World) -> None:
    facts = world.folder / "runs" / "models" / "run.json"
    before = facts.read_text()
    facts.write_text(json.dumps({**json.loads(before), "complete": False}))
    done = world.lmrbench("report", "runs/models", "--eval-results", "none", "--published", DATASET)
    facts.write_text(before)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "runs/models: has no results for the Hub: it is not complete" in done.stderr
    assert not Path(world.folder, "none").exists()


def test_models_with_one_plain_name_have_a_file_each_and_a_track_is_needed(world: World) -> None:
    for name in ("results.jsonl", "predictions.jsonl"):
        text = (world.folder / "runs" / "models" / name).read_text()
        (world.folder / "runs" / "alike" / name).parent.mkdir(exist_ok=True)
        changed = text.replace('"good"', '"org/x"').replace('"bad"', '"org-x"')
        (world.folder / "runs" / "alike" / name).write_text(changed)
    facts = (world.folder / "runs" / "models" / "run.json").read_text()
    (world.folder / "runs" / "alike" / "run.json").write_text(facts)
    world.ok("report", "runs/alike", "--eval-results", "alike", "--published", DATASET)
    files = [yaml.safe_load(path.read_text()) for path in (world.folder / "alike").iterdir()]
    assert sorted(entry["value"] for [entry] in files) == [0.0, 50.0]

    for name in ("results.jsonl", "predictions.jsonl"):
        path = world.folder / "runs" / "alike" / name
        path.write_text(path.read_text().replace('"track": "paper"', '"track": "unstated"'))
    done = world.lmrbench("report", "runs/alike", "--eval-results", "none", "--published", DATASET)
    assert (done.returncode, "3 of 3 rows without a track" in done.stderr) == (1, True), done.stderr


def test_a_numbered_file_never_replaces_that_of_another_model() -> None:
    paths = _paths(["x", ".x", ".x-2"], Path("results"))
    assert {path.name for path in paths.values()} == {"x.yaml", "x-2.yaml", "x-2-2.yaml"}
