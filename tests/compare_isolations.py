"""Compare the verdicts of warm containers with those of fresh ones: `compare_isolations.py LOG [CONFIG ...]`.

Every trial of every instance of the benchmark (golden, masked, variants, other options) is evaluated in warm
containers, then in fresh ones. Fresh ones take hours for the methods; a second call with the same LOG resumes where the
first one ended. Exit status 1 if verdicts differ in any case, or are not the ones that the trials require.
"""

import itertools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from lmrbench_data.cli.output import progress_bar
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.trials import Trial, make_trials
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction

ISOLATIONS = ("shared", "container")
#: One more than cores, because fresh containers wait for the engine.
WORKERS = 3


def main(log: Path, configs: list[str]) -> int:
    """Evaluate what the log lacks and compare; return the number of verdicts that are not as they should be."""
    done = {_key(entry): entry for entry in _entries(log)}
    with (
        open_sandbox("docker", isolation="shared") as warm,
        open_sandbox("docker") as fresh,
        ThreadPoolExecutor(WORKERS) as pool,
        log.open("a") as file,
        progress_bar("trials") as progress,
    ):
        sandboxes = dict(zip(ISOLATIONS, (warm, fresh), strict=True))

        def run(isolation: str, row: DatasetRow, trial: Trial) -> dict[str, Any]:
            image = fresh.prepare(row["docker_image"])
            verdict = evaluate_prediction(row, trial.prediction, sandboxes[isolation], image)
            return {
                "instance_id": trial.instance_id,
                "trial": trial.name,
                "isolation": isolation,
                "status": verdict.status,
                "as_required": trial.must.holds(verdict),
                "cases": {f"{case.name}/{case.seed}": case.status for case in verdict.cases},
                "cpu_s": verdict.cpu_s,
            }

        trials = [(isolation, *pair) for isolation in ISOLATIONS for pair in _in_turn(_trials(configs))]
        left = [job for job in trials if (job[2].instance_id, job[2].name, job[0]) not in done]
        progress.start(len(left))
        for future in as_completed([pool.submit(run, *job) for job in left]):
            entry = future.result()
            done[_key(entry)] = entry
            print(json.dumps(entry), file=file, flush=True)
            progress.step("as required" if entry["as_required"] else "not as required")
    return report(done.values())


def report(entries: Any) -> int:
    """Print the numbers of trials that agree; return that of trials that do not, or whose verdict is not required."""
    pairs: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for entry in entries:
        pairs[entry["instance_id"], entry["trial"]][entry["isolation"]] = entry
    wrong = [entry for entry in entries if not entry["as_required"]]
    compared = {key: pair for key, pair in pairs.items() if len(pair) == len(ISOLATIONS)}
    differing = [
        key for key, (one, other) in ((key, pair.values()) for key, pair in compared.items()) if _differ(one, other)
    ]
    counts = Counter(entry["isolation"] for entry in entries)
    print(f"verdicts: {dict(counts)}, {len(wrong)} not as required")
    print(f"trials with both: {len(compared)}, {len(differing)} differ")
    for subject in (*map(_key, wrong), *differing):
        print(*subject, sep="\t")
    return len(wrong) + len(differing)


def _differ(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (one["status"], one["cases"]) != (other["status"], other["cases"])


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["instance_id"], entry["trial"], entry["isolation"]


def _entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _trials(configs: list[str]) -> Iterator[tuple[DatasetRow, Trial]]:
    for config in configs:
        tasks = load_tasks(config=config)
        rows = {row["instance_id"]: row for row in build_rows(tasks)}
        for task in tasks:
            for item in task.instances:
                for trial in make_trials(task, item):
                    yield rows[item.instance_id], trial


def _in_turn(pairs: Iterator[tuple[DatasetRow, Trial]]) -> list[tuple[DatasetRow, Trial]]:
    """Take one trial of each instance after the other, so that an interrupted comparison has looked at all of them."""
    groups = [list(group) for _, group in itertools.groupby(pairs, lambda pair: pair[1].instance_id)]
    return [pair for turn in itertools.zip_longest(*groups) for pair in turn if pair]


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]), sys.argv[2:] or list(CONFIGS))))
