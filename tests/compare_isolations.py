"""Compare the verdicts of warm containers with those of fresh ones: `compare_isolations.py LOG [CONFIG ...]`.

Every trial of every instance of the benchmark (golden, masked, variants, other options) is evaluated with both
isolations, case by case. This takes about an hour and a half on two cores; a second call with the same LOG goes on
where the first one ended. Exit status 1 if verdicts differ or are not the ones that the trials require.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lmrbench_data.cli.progress import progress_bar
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.trials import Trial, make_trials
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction

ISOLATIONS = ("shared", "container")
#: One more than cores, because fresh containers wait for the engine.
WORKERS = 3


def main(log: Path, configs: list[str]) -> int:
    """Evaluate the trials that the log lacks; return the number of those that are not as they should be."""
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {(entry["instance_id"], entry["trial"]) for entry in done}
    pairs = [pair for pair in _trials(configs) if (pair[1].instance_id, pair[1].name) not in known]
    with (
        open_sandbox("docker", isolation="shared") as warm,
        open_sandbox("docker") as fresh,
        ThreadPoolExecutor(WORKERS) as pool,
        log.open("a") as file,
    ):
        images = {tag: fresh.prepare(tag) for tag in {row["docker_image"] for row, _ in pairs}}

        def compare(pair: tuple[DatasetRow, Trial]) -> dict[str, Any]:
            row, trial = pair
            image = images[row["docker_image"]]
            verdicts = [evaluate_prediction(row, trial.prediction, sandbox, image) for sandbox in (warm, fresh)]
            cases = [{f"{case.name}/{case.seed}": case.status for case in verdict.cases} for verdict in verdicts]
            return {
                "instance_id": trial.instance_id,
                "trial": trial.name,
                "equal": cases[0] == cases[1] and verdicts[0].status is verdicts[1].status,
                "as_required": all(map(trial.must.holds, verdicts)),
                "cases": len(cases[0]),
                **{name: verdict.status for name, verdict in zip(ISOLATIONS, verdicts, strict=True)},
                "differing": sorted(dict(cases[0].items() ^ cases[1].items())),
                "cpu_s": [verdict.cpu_s for verdict in verdicts],
            }

        with progress_bar("trials") as progress:
            progress.start(len(pairs))
            for entry in pool.map(compare, pairs):
                done.append(entry)
                print(json.dumps(entry), file=file, flush=True)
                progress.step("equal" if entry["equal"] else "differs")
    bad = [entry for entry in done if not (entry["equal"] and entry["as_required"])]
    for entry in bad:
        print(json.dumps(entry))
    cases = sum(entry["cases"] for entry in done)
    print(f"{len(done) - len(bad)} of {len(done)} trials ({cases} cases) have equal verdicts, as required")
    return len(bad)


def _trials(configs: list[str]) -> Iterator[tuple[DatasetRow, Trial]]:
    for config in configs:
        tasks = load_tasks(config=config)
        rows = {row["instance_id"]: row for row in build_rows(tasks)}
        for task in tasks:
            for item in task.instances:
                for trial in make_trials(task, item):
                    yield rows[item.instance_id], trial


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]), sys.argv[2:] or list(CONFIGS))))
