"""`lmrbench dataset`: start a benchmark, record and check its tasks; build and publish datasets."""

import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import open_hub
from lmrbench_data.base.paths import benchmark_folder, benchmark_option
from lmrbench_data.base.text import join_names, plural
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS, dataset_sha256, recordings_sha256
from lmrbench_data.tasks.drafts import new_benchmark
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.task import Task
from lmrbench_data.tasks.task_folders import choose_folders, load_tasks
from lmrbench_evaluate.sandbox import open_sandbox

from .options import (
    MAINTAIN,
    BenchmarkFolder,
    ConfigOfNames,
    SandboxKind,
    TaskNames,
    Workers,
    Yes,
    tasks_and_drafts,
)
from .output import Json, emit, print_err, print_out, progress_bar

if TYPE_CHECKING:
    from lmrbench_data.dataset.publish import PushPlan


app = typer.Typer(help="Record, check, build and publish the dataset.", no_args_is_help=True)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder without a benchmark; created if missing.")],
    title: Annotated[str, typer.Option(help="Title of the benchmark, shown on its card.")],
    name: Annotated[str, typer.Option(help="Dataset name (default: the folder's name).")] = "",
) -> None:
    """Start a benchmark of your own.

    Writes benchmark.yaml, the environments that run its tasks, and .gitattributes.

    Example: lmrbench dataset init tasks --title "My Bench" --name my-bench
    """
    new_benchmark(folder, title=title, name=name)
    print_out(f"written: {folder / 'benchmark.yaml'}, {folder / 'environments'}")
    print_out(f"next: lmrbench tasks new SLUG --benchmark {folder}")


@app.command()
def build(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New folder (default: the benchmark's name).")
    ] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Build a dataset folder for `load_dataset`.

    No code is run: expected outputs are read from the recordings that `lmrbench dataset record`
    writes beside each task. Drafts (tasks with a TODO and no recording) are left out with a
    warning; any other malformed task stops the build.

    Example: lmrbench dataset build --out lmr-bench
    """
    from lmrbench_data.dataset.build import write_dataset

    facts = load_benchmark(benchmark)
    out = out or Path(facts.name)
    configs, drafts = _build_configs(benchmark)
    write_dataset(itertools.chain.from_iterable(built.rows for built in configs), out, facts)
    built = [config for config in configs if config.rows]
    listed = [config.as_dict() for config in built]
    warnings = [problem.as_dict() for problem in drafts]
    emit(
        {"folder": str(out), **listed[0], "configs": listed, "problems": warnings},
        as_json,
        *(f"{out}: {config}" for config in built),
        f"load it with lmr.load({str(out)!r})",
    )


class _Built(NamedTuple):
    """A configuration with its tasks and their rows."""

    config: str
    tasks: list[Task]
    rows: list[DatasetRow]

    def as_dict(self) -> dict[str, Any]:
        return {
            "config": self.config,
            "rows": len(self.rows),
            "sha256": dataset_sha256(self.rows),
            "recordings": recordings_sha256(self.rows),
        }

    def __str__(self) -> str:
        content, recordings = dataset_sha256(self.rows), recordings_sha256(self.rows)
        hashes = f"content {content[:12]}, recordings {recordings[:12]}"
        return f"{self.config}: {plural(len(self.rows), 'row')}, {hashes}"


def _build_configs(benchmark: Path | None) -> tuple[list[_Built], list[Problem]]:
    """Return all configurations, and a warning for each draft that is left out.

    Raises:
        InputError: a row would show a line of a reference.
    """
    from lmrbench_data.dataset.build import build_rows

    from ..checks.static import ReferenceLines, leaks

    finished, drafts = tasks_and_drafts(None, benchmark)
    names = [task.name for task in finished]
    references = {task.name: ReferenceLines.of([task]) for task in finished}
    tasks = {config: load_tasks(names, benchmark, config) for config in CONFIGS}
    for task in itertools.chain.from_iterable(tasks.values()):
        for instance in task.instances:
            for problem in leaks(task, instance, references[task.name]):
                raise InputError(str(problem).removeprefix("error: "))
    with progress_bar("building") as progress:
        built = [
            _Built(config, chosen, build_rows(chosen, progress)) for config, chosen in tasks.items()
        ]
    return built, drafts


@app.command()
def record(
    names: TaskNames = None,
    config: ConfigOfNames = None,
    sandbox: SandboxKind = "auto",
    benchmark: BenchmarkFolder = None,
    workers: Workers = 2,
    force: Annotated[
        bool, typer.Option("--force", help="Also record tasks that have not changed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Record the expected outputs of changed tasks.

    Runs the references and writes the outputs of their cases beside the task; commit these files.

    Example: lmrbench dataset record dpo-preference-loss --sandbox docker
    """
    from ..checks.record import record_tasks

    tasks, _ = tasks_and_drafts(names, benchmark, config)
    recordings = []
    with (
        open_sandbox(sandbox, benchmark) as place,
        progress_bar("recording") as progress,
    ):
        progress.start(sum(len(task.instances) for task in tasks))
        for recording in record_tasks(tasks, place, workers=workers, force=force):
            recordings.append(recording)
            progress.step(recording.state)
    recordings.sort()
    rows = [[item.instance_id, item.state, f"{item.size / 1000:.1f} kB"] for item in recordings]
    table = (["instance", "recording", "size"], rows)
    emit([item._asdict() for item in recordings], as_json, ("", table))


@app.command()
def check(
    names: TaskNames = None,
    config: ConfigOfNames = None,
    sandbox: SandboxKind = "auto",
    benchmark: BenchmarkFolder = None,
    workers: Workers = 2,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show all findings, including passes.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also check proved tasks that have not changed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prove that tasks are sound.

    Golden files must pass, masked files must fail, and variants must get the verdicts of their
    kind.

    Valid variants must pass every case, plain ones every core case; careless ones must break only
    the contract, and wrong ones must fail a core case. No trivial answer (constants, means, the
    expected values in another order, the output of another seed) may pass a core case. The demo
    command and the smoke tests of each repository must succeed. A passed check in Docker is written
    to proved.json, beside the tasks; proved tasks are skipped until they change.

    Example: lmrbench dataset check 01-dpo --sandbox docker
    """
    from ..checks.check import check_tasks

    tasks, _ = tasks_and_drafts(names, benchmark, config)
    total = sum(len(task.instances) for task in tasks)
    numbers = itertools.count(1)

    def print_outcome(instance: str, line: str) -> None:
        print_err(f"[{next(numbers)}/{total}] {instance}: {line}")

    with open_sandbox(sandbox, benchmark) as place, progress_bar("checking") as progress:
        proves = place.name == "docker"
        checked = check_tasks(
            tasks,
            place,
            workers=workers,
            progress=progress,
            finished=print_outcome,
            resume=proves and not again,
            record=proves,
        )
        findings = sorted(checked)
    errors = [finding for finding in findings if finding.is_error]
    trials = plural(sum(finding.is_trial for finding in findings), "trial")
    emit(
        [finding.as_dict() for finding in findings],
        as_json,
        *map(str, findings if verbose else errors),
        f"{trials}, {plural(len(errors), 'error')}",
    )
    if errors:
        raise typer.Exit(1)


@app.command()
def private(
    out: Annotated[Path, typer.Argument(help="Folder to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw; keep it secret.", min=0)],
    config: Annotated[
        Literal["counterfactual", "underspecified"], typer.Option("--config", help="Kind of rows.")
    ] = "counterfactual",
    names: TaskNames = None,
    difficulty: Annotated[
        Literal["easy", "hard", "silent", "all"], typer.Option(help="Of underspecified papers.")
    ] = "all",
    per_paper: Annotated[
        int, typer.Option("--per-paper", help="Rows per paper.", min=1, max=100)
    ] = 1,
    sandbox: SandboxKind = "auto",
    benchmark: BenchmarkFolder = None,
    workers: Workers = 2,
    as_json: Json = False,
) -> None:
    """Make a private set of altered papers.

    Draws options that are not in the benchmark: combinations of them (counterfactual), or true ones
    for the choices that papers leave open or depart from silently (underspecified, of one
    difficulty or all). Records the references, proves that they decide, and writes a dataset folder
    with this configuration alone. Whoever has the seed can draw the same set. Each row is written
    when it is finished; the same command again makes the rest.

    Example: lmrbench dataset private held-out --config underspecified --seed 4711 --sandbox docker
    """
    from ..checks.private_sets import make_private_set

    tasks = _tasks_to_draw(names, benchmark, config, difficulty)
    kept = f"finished rows, if any, are in {out}"
    with (
        open_sandbox(sandbox, benchmark) as place,
        progress_bar("recording", kept=kept) as progress,
    ):
        rows = make_private_set(
            out, tasks, config, seed, per_paper, place, workers=workers, progress=progress
        )
    most = per_paper * len(tasks)
    if len(rows) < most:
        print_err(
            f"warning: {len(rows)} of {most} rows: some papers have no other combination that "
            "gives a row"
        )
    _emit_private(out, config, rows, as_json)


def _emit_private(out: Path, config: str, rows: list[DatasetRow], as_json: bool) -> None:
    sha256 = dataset_sha256(rows)
    papers = len({row["paper_title"] for row in rows})
    emit(
        {"folder": str(out), "rows": len(rows), "sha256": sha256, "papers": papers},
        as_json,
        f"{out}: {plural(len(rows), 'row')} from {plural(papers, 'paper')}, content {sha256[:12]}",
        f"evaluate with: lmrbench evaluate PREDICTIONS --dataset {out} --config {config}",
    )


def _tasks_to_draw(
    names: list[str] | None, benchmark: Path | None, config: str, difficulty: str
) -> list[Task]:
    """Return the tasks from which a private set is drawn, with the choices of a difficulty."""
    from ..checks.private_sets import of_difficulty

    folders = choose_folders(names, benchmark) if names else None
    tasks, _ = tasks_and_drafts(folders, benchmark)
    if difficulty != "all":
        tasks = [of_difficulty(task, difficulty) for task in tasks]
    return [task for task in tasks if task.instances_of(config)]


@app.command(rich_help_panel=MAINTAIN)
def push(
    repo: Annotated[str, typer.Argument(help="Dataset repository on the Hub, org/name.")],
    benchmark: BenchmarkFolder = None,
    private: Annotated[
        bool, typer.Option("--private", help="Create the repository as private.")
    ] = False,
    harbor: Annotated[
        bool, typer.Option("--harbor", help="Also push the tasks for Harbor, in harbor/.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes without pushing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Publish the dataset on the Hub.

    Builds card, rows, eval.yaml and loader.py as `dataset build` does, and pushes them in one
    commit with a tag that never moves.

    Refuses tasks that `dataset check` has not proved in Docker (proved.json), and to overwrite a
    newer version. Log in with HF_TOKEN or `hf auth login`.

    Example: lmrbench dataset push org/lmr-bench --dry-run
    """
    from lmrbench_data.dataset.publish import plan_push
    from lmrbench_data.dataset.publish import push as carry_out

    api = open_hub()
    facts = load_benchmark(benchmark)
    configs, _ = _build_configs(benchmark)
    _refuse_unproved(configs, facts.name, benchmark)
    rows = {built.config: built.rows for built in configs}
    with tempfile.TemporaryDirectory() as folder:
        tasks = _write_harbor(rows, Path(folder)) if harbor else {}
        plan = plan_push(api, repo, rows, facts, tasks)
        if not as_json:
            _print_plan(plan)
        sha = None
        if not (dry_run or plan.done):
            if not (yes or as_json):
                question = f"Push to {repo} and tag it {plan.tag}? The tag can never move."
                typer.confirm(question, abort=True, err=True)
            sha = carry_out(api, plan, private=private)
            print_err(f"pushed: {repo}@{plan.tag} ({sha[:12]})")
    result = {
        "repo": repo,
        "tag": plan.tag,
        "sha256": plan.sha256,
        "rows": len(plan.rows),
        "removed": plan.removed,
        "changes": [vars(change) for change in plan.changes],
        "done": plan.done,
        "commit": sha,
    }
    emit(result, as_json)


def _write_harbor(configs: Mapping[str, list[DatasetRow]], folder: Path) -> dict[str, Path]:
    """Write the tasks of all rows for Harbor; return path in the repository → file."""
    from ..export.harbor import write_registry, write_tasks
    from ..export.settings import HarborSettings

    rows = [row for table in configs.values() for row in table]
    tasks = folder / "harbor"
    with progress_bar("writing tasks for Harbor") as progress:
        progress.start(len(rows))
        write_tasks(rows, HarborSettings(out=tasks), tasks, progress)
    write_registry(rows, folder, "harbor/")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}


def _refuse_unproved(configs: list[_Built], name: str, benchmark: Path | None) -> None:
    from ..checks.proved import unproved

    tasks: list[str] = []
    for built in configs:
        tasks += unproved(built.tasks, built.rows)
    if tasks:
        option = benchmark_option(benchmark or benchmark_folder())
        raise InputError(
            f"{name}: not checked in Docker: {join_names(tasks, 3)}; "
            f"run `lmrbench dataset check{option} --sandbox docker`"
        )


def _print_plan(plan: "PushPlan") -> None:
    for change in plan.changes:
        print_out(f"{change.instance_id}  {change.column or 'row'}: {change.summary}")
    for name in plan.removed:
        print_out(f"{name}: removed from the repository")
    state = "already published"
    if not plan.done:
        changed = {change.instance_id for change in plan.changes}
        state = f"{plural(len(changed), 'row differs', 'rows differ')} from main"
    rows = plural(len(plan.rows), "row")
    print_out(f"{plan.repo_id} {plan.tag}: {rows}, content {plan.sha256[:12]}; {state}")
