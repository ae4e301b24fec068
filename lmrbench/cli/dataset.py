"""`lmrbench dataset`: start a benchmark, record references, check tasks; build, publish datasets and private sets."""

import itertools
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.hub_client import open_hub
from lmrbench_data.base.paths import benchmark_folder, benchmark_option
from lmrbench_data.base.problems import Problem, problem_lines
from lmrbench_data.base.text import join_names, plural
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS, dataset_sha256, recordings_sha256
from lmrbench_data.tasks.drafts import new_benchmark
from lmrbench_data.tasks.experiments import DIFFICULTIES
from lmrbench_data.tasks.manifest import load_benchmark
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

#: Seconds of one run of a paper's experiments on an idle machine, on average, with the start of its sandbox.
SECONDS_PER_RUN = 4.0

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

    No code is run: expected outputs are read from the recordings that `lmrbench dataset record` writes beside each
    task. Drafts (tasks with a TODO and no recording) are left out with a warning; any other malformed task stops the
    build.

    Example: lmrbench dataset build --out lmr-bench
    """
    from lmrbench_data.dataset.build import write_dataset

    from ..checks.proved import unproved_rows

    facts = load_benchmark(benchmark)
    out = out or Path(facts.name)
    drafts, tasks, rows = _build_configs(benchmark, shown=not as_json)
    write_dataset(itertools.chain(*rows.values()), out, facts)
    built: list[dict[str, Any]] = []
    lines, not_proved = list[str](), list[Problem]()
    option = benchmark_option(benchmark or benchmark_folder())
    for config, found in rows.items():
        if found:
            fix = f"lmrbench dataset check{option} --config {config} --sandbox docker"
            not_proved += unproved_rows(found, tasks[config], fix)
            content, recordings = dataset_sha256(found), recordings_sha256(found)
            built.append(
                {"config": config, "rows": len(found), "sha256": content, "recordings": recordings}
            )
            hashes = f"content {content[:12]}, recordings {recordings[:12]}"
            lines.append(f"{out}: {config}: {plural(len(found), 'row')}, {hashes}")
    problems = [problem.as_dict() for problem in (*drafts, *not_proved)]
    emit(
        {"folder": str(out), **built[0], "configs": built, "problems": problems},
        as_json,
        *lines,
        f"load it with lmr.load({str(out)!r})",
    )
    for line in problem_lines(not_proved, limit=3):
        print_err(line)


def _build_configs(
    benchmark: Path | None, *, shown: bool
) -> tuple[list[Problem], dict[str, list[Task]], dict[str, list[DatasetRow]]]:
    """Return warnings about drafts, and the finished tasks and their rows by configuration.

    Raises:
        InputError: a row would show a line of a reference.
    """
    from lmrbench_data.dataset.build import build_rows

    from ..checks.static import ReferenceLines, leaks

    finished, drafts = tasks_and_drafts(None, benchmark)
    tasks = {
        config: load_tasks([task.name for task in finished], benchmark, config)
        for config in CONFIGS
    }
    references = {task.name: ReferenceLines.of([task]) for task in finished}
    for task in itertools.chain(*tasks.values()):
        for problem in (
            problem
            for item in task.instances
            for problem in leaks(task, item, references[task.name])
        ):
            raise InputError(str(problem).removeprefix("error: "))
    with progress_bar("building", shown=shown) as progress:
        return (
            drafts,
            tasks,
            {config: build_rows(chosen, progress) for config, chosen in tasks.items()},
        )


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
    done = []
    with (
        open_sandbox(sandbox, benchmark) as place,
        progress_bar("recording", shown=not as_json) as progress,
    ):
        progress.start(sum(len(task.instances) for task in tasks))
        for recorded in record_tasks(tasks, place, workers=workers, force=force):
            done.append(recorded)
            progress.step(recorded.state)
    done.sort()
    rows = [[item.instance_id, item.state, f"{item.size / 1000:.1f} kB"] for item in done]
    emit(
        [item._asdict() for item in done], as_json, ("", (["instance", "recording", "size"], rows))
    )


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

    Golden files must pass, masked files must fail, and variants must get the verdicts of their kind.

    Valid variants must pass every case, plain ones every core case; careless ones must break only the contract, and
    wrong ones must fail a core case. No trivial answer (constants, means, the expected values in another order, the
    output of another seed) may pass a core case. The demo command and the smoke tests of each repository must succeed.
    A passed check in Docker is written to proved.json, beside the tasks; proved tasks are skipped until they change.

    Example: lmrbench dataset check 01-dpo --sandbox docker
    """
    from ..checks.check import check_tasks
    from ..checks.trials import check_table

    tasks, _ = tasks_and_drafts(names, benchmark, config)
    total, done = sum(len(task.instances) for task in tasks), itertools.count(1)

    def tell(instance: str, line: str) -> None:
        print_err(f"[{next(done)}/{total}] {instance}: {line}")

    with (
        open_sandbox(sandbox, benchmark) as place,
        progress_bar("checking", shown=not as_json) as progress,
    ):
        proves = place.name == "docker"
        options = {"resume": proves and not again, "record": proves}
        findings = list(
            check_tasks(tasks, place, workers=workers, progress=progress, finished=tell, **options)
        )
    findings.sort()
    lines = problem_lines([finding for finding in findings if verbose or finding.is_error])
    emit([finding.as_dict() for finding in findings], as_json, *lines, ("", check_table(findings)))
    if any(finding.is_error for finding in findings):
        raise typer.Exit(1)


@app.command()
def private(
    out: Annotated[Path, typer.Argument(help="Folder to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw; keep it secret.", min=0)],
    config: Annotated[
        str, typer.Option("--config", help="counterfactual or underspecified.")
    ] = "counterfactual",
    names: TaskNames = None,
    difficulty: Annotated[
        str, typer.Option(help="Of underspecified papers: easy, hard, silent or all.")
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

    Draws options that are not in the benchmark: combinations of them (counterfactual), or true ones for the choices
    that papers leave open or depart from silently (underspecified, of one difficulty or all). Records the references,
    proves that they decide, and writes a dataset folder with this configuration alone. Whoever has the seed can draw
    the same set. Each row is written when it is finished; the same command again makes the rest.

    Example: lmrbench dataset private held-out --config underspecified --seed 4711 --sandbox docker
    """
    from ..checks.private_sets import experiment_runs, make_private_set, of_difficulty

    if config not in ("counterfactual", "underspecified"):
        raise ArgumentError(
            "config", f"{config!r} has no private sets; must be counterfactual or underspecified"
        )
    if difficulty not in (*DIFFICULTIES, "all"):
        raise ArgumentError(
            "difficulty", f"must be {', '.join(DIFFICULTIES)} or all, not {difficulty!r}"
        )
    tasks = tasks_and_drafts(choose_folders(names, benchmark) if names else None, benchmark)[0]
    tasks = [of_difficulty(task, difficulty) for task in tasks] if difficulty != "all" else tasks
    tasks = [task for task in tasks if task.instances_of(config)]
    if runs := per_paper * experiment_runs(tasks, config):
        # One worker works on a paper.
        minutes = math.ceil(runs * SECONDS_PER_RUN / min(workers, len(tasks)) / 60)
        print_err(
            f"up to {runs} runs of experiments, about {minutes} min on an idle machine, and as many more for each "
            "combination that is skipped; a stopped command can be run again"
        )
    with (
        open_sandbox(sandbox, benchmark) as place,
        progress_bar(
            "recording", shown=not as_json, kept=f"rows that were finished are in {out}"
        ) as progress,
    ):
        made = make_private_set(
            out, tasks, config, seed, per_paper, place, workers=workers, progress=progress
        )
    sha256, papers = dataset_sha256(made), len({row["paper_title"] for row in made})
    if len(made) < (wanted := per_paper * len(tasks)):
        print_err(
            f"warning: {len(made)} of {wanted} rows: some papers have no other combination that gives a row"
        )
    emit(
        {"folder": str(out), "rows": len(made), "sha256": sha256, "papers": papers},
        as_json,
        f"{out}: {plural(len(made), 'row')} from {plural(papers, 'paper')}, content {sha256[:12]}",
        f"evaluate with: lmrbench evaluate PREDICTIONS --dataset {out} --config {config}",
    )


@app.command(rich_help_panel=MAINTAIN)
def push(
    repo: Annotated[str, typer.Argument(help="Dataset repository on the Hub, org/name.")],
    benchmark: BenchmarkFolder = None,
    private: Annotated[
        bool, typer.Option("--private", help="Create the repository as private.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes without pushing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Publish the dataset on the Hub.

    Builds card, rows, eval.yaml and loader.py as `dataset build` does, and pushes them in one commit with a tag that
    never moves.

    Refuses tasks that `dataset check` has not proved in Docker (proved.json), and to overwrite a newer version. Log in
    with HF_TOKEN or `hf auth login`.

    Example: lmrbench dataset push org/lmr-bench --dry-run
    """
    from lmrbench_data.dataset.publish import plan_push
    from lmrbench_data.dataset.publish import push as carry_out

    from ..checks.proved import unproved

    api, facts_of = open_hub(), load_benchmark(benchmark)
    _, tasks, rows = _build_configs(benchmark, shown=not as_json)
    if names := [
        name for config, chosen in tasks.items() for name in unproved(chosen, rows[config])
    ]:
        check = f"lmrbench dataset check{benchmark_option(benchmark or benchmark_folder())} --sandbox docker"
        raise InputError(
            f"{facts_of.name}: not checked in Docker: {join_names(names, 3)}; run `{check}`"
        )
    plan = plan_push(api, repo, rows, facts_of)
    facts: dict[str, Any] = {
        "repo": repo,
        "tag": plan.tag,
        "sha256": plan.sha256,
        "rows": len(plan.rows),
    }
    facts |= {
        "removed": plan.removed,
        "changes": list(map(vars, plan.changes)),
        "done": plan.done,
        "commit": None,
    }
    changed = len({change.instance_id for change in plan.changes})
    state = (
        "already published"
        if plan.done
        else f"{plural(changed, 'row differs', 'rows differ')} from main"
    )
    if not as_json:
        for change in plan.changes:
            print_out(f"{change.instance_id}  {change.column or 'row'}: {change.summary}")
        for name in plan.removed:
            print_out(f"{name}: removed from the repository")
        print_out(
            f"{repo} {plan.tag}: {plural(len(plan.rows), 'row')}, content {plan.sha256[:12]}; {state}"
        )
    if not (dry_run or plan.done):
        if not (yes or as_json):
            typer.confirm(
                f"Push to {repo} and tag it {plan.tag}? The tag can never move.",
                abort=True,
                err=True,
            )
        sha = facts["commit"] = carry_out(api, plan, private=private)
        print_err(f"pushed: {repo}@{plan.tag} ({sha[:12]})")
    emit(facts, as_json)
