"""Compare the verdicts of sandboxes: `compare_isolations.py LOG SANDBOX[,SANDBOX...] [CONFIG ...]`.

Every trial of every instance of the benchmark (golden, masked, variants, other options) is evaluated in each sandbox:
`docker`, `bwrap`, `docker-container` or `bwrap-container`. A second call with the same LOG resumes where the first one
ended. Exit status 1 if verdicts in the log differ in any case, or are not the ones that the trials require.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from lmrbench.checks.trials import Trial, make_trials
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction

#: One more than cores, because fresh containers wait for the engine.
WORKERS = 3


def main(log: Path, sandboxes: list[str], configs: list[str]) -> bool:
    """Evaluate what the log lacks and print the trials that are not as they should be; return whether there are any."""
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = {(entry["instance_id"], entry["trial"], entry["sandbox"]) for entry in entries}
    trials = [pair for config in configs for pair in trials_of(config)]
    trials.sort(key=lambda pair: pair[1].name not in ("golden", "masked"))  # first, those of all instances
    for name in sandboxes:
        kind, _, isolation = name.partition("-")
        with (
            open_sandbox(kind, isolation=isolation or "shared") as sandbox,
            ThreadPoolExecutor(WORKERS) as pool,
            log.open("a") as file,
        ):
            left = [(row, trial) for row, trial in trials if (trial.instance_id, trial.name, name) not in done]
            jobs = [pool.submit(run, name, sandbox, row, trial) for row, trial in left]
            for future in as_completed(jobs):
                entries.append(future.result())
                print(json.dumps(entries[-1]), file=file, flush=True)
    cases: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        cases.setdefault((entry["instance_id"], entry["trial"]), set()).add(str(entry["cases"]))
    wrong = {trial for trial, different in cases.items() if len(different) > 1}
    wrong |= {(entry["instance_id"], entry["trial"]) for entry in entries if not entry["as_required"]}
    print(f"{len(entries)} verdicts; {len(wrong)} trials differ or are not as required", *sorted(wrong), sep="\n")
    return bool(wrong)


def run(name: str, sandbox: Sandbox, row: DatasetRow, trial: Trial) -> dict[str, Any]:
    """Evaluate one trial and return its entry in the log."""
    verdict = evaluate_prediction(row, trial.prediction, sandbox, sandbox.prepare(row["docker_image"]))
    return {
        "instance_id": trial.instance_id,
        "trial": trial.name,
        "sandbox": name,
        "as_required": trial.must.holds(verdict),
        "cases": {f"{case.name}/{case.seed}": str(case.status) for case in verdict.cases},
    }


def trials_of(config: str) -> list[tuple[DatasetRow, Trial]]:
    """Return all trials of a configuration, each with its row."""
    tasks = load_tasks(config=config)
    rows = {row["instance_id"]: row for row in build_rows(tasks)}
    items = [(task, item) for task in tasks for item in task.instances]
    return [(rows[item.instance_id], trial) for task, item in items for trial in make_trials(task, item)]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:] or list(CONFIGS)))
