"""`lmrbench dataset`: begin a benchmark, record references, check tasks; build, compare and publish datasets."""

import itertools
from collections import Counter
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import BenchmarkFolder, tasks_and_drafts
from .output import Json, Workers, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from lmrbench_evaluate.checks.trials import Finding

app = typer.Typer(help="Record, check, build and publish the dataset.", no_args_is_help=True)

Sandbox = Annotated[str, typer.Option("--sandbox", help="Where references run: auto, docker or local.")]
Names = Annotated[list[str] | None, typer.Argument(help="Task folders or instance ids; all by default.")]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder, or one without a benchmark.")],
    title: Annotated[str, typer.Option("--title", help="As readers know the benchmark; on top of its card.")],
    name: Annotated[str, typer.Option("--name", help="Of the dataset; by default the folder's name.")] = "",
    as_json: Json = False,
) -> None:
    """Start a benchmark of your own.

    Write benchmark.yaml and the environments that run its tasks.

    Example: lmrbench dataset init tasks --title "My Bench" --name my-bench
    """
    from ..draft.benchmark import new_benchmark

    new_benchmark(folder, title=title, name=name)
    if as_json:
        print_json({"folder": str(folder)})
    else:
        put(f"written: {folder / 'benchmark.yaml'}, {folder / 'environments'}")
        put(f"next: lmrbench tasks new --benchmark {folder} --paper PDF --repo DIR --goal FILE::FUNCTION")


@app.command()
def build(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write; by default the benchmark's name.")
    ] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Build a dataset folder for `load_dataset`.

    Nothing is run: the expected outputs are those that `lmrbench dataset record` has put beside each task. A draft (a
    task with a TODO in it that was never recorded) is left out with a warning; any other task that is not in order
    stops the build.

    Example: lmrbench dataset build --out lmr-bench
    """
    from lmrbench_evaluate.checks.proved import unproved

    from ..base.paths import benchmark_folder, benchmark_option
    from ..base.problems import Problem, Severity, problem_lines
    from ..base.text import counted
    from ..dataset.build import build_rows, write_dataset
    from ..dataset.check_records import unchecked
    from ..loader import recordings_sha256
    from ..tasks.manifest import load_benchmark

    (tasks, drafts), facts = tasks_and_drafts(None, benchmark), load_benchmark(benchmark)
    out = out or Path(facts.name)
    with progress_bar("building", shown=not as_json) as progress:
        rows = build_rows(tasks, progress)
    sha256, recordings = write_dataset(rows, out, facts), recordings_sha256(rows)
    missing = set(unchecked(rows))
    option = benchmark_option(benchmark or benchmark_folder())
    message = f"not proved in Docker; run `lmrbench dataset check{option} --sandbox docker`"
    not_proved = [
        Problem(instance, "", message, Severity.WARNING)
        for instance in (unproved(tasks) if missing else ())
        if instance in missing
    ]
    if as_json:
        print_json(
            {
                "folder": str(out),
                "rows": len(rows),
                "sha256": sha256,
                "recordings": recordings,
                "problems": [problem.as_dict() for problem in (*drafts, *not_proved)],
            }
        )
    else:
        put(f"{out}: {counted(len(rows), 'row')}, content {sha256[:12]}, recordings {recordings[:12]}")
        put(f"load it with load_dataset({str(out)!r}, split='test')")
    for line in problem_lines(not_proved, limit=3):
        say(line)


@app.command()
def record(
    names: Names = None,
    sandbox: Sandbox = "auto",
    benchmark: BenchmarkFolder = None,
    workers: Workers = 2,
    force: Annotated[bool, typer.Option("--force", help="Run every reference, and replace what still agrees.")] = False,
    as_json: Json = False,
) -> None:
    """Record the expected outputs of changed tasks.

    References run, and the outputs of their cases are written beside the task, to be committed.

    Example: lmrbench dataset record dpo-preference-loss --sandbox docker
    """
    from lmrbench_evaluate.checks.record import record_tasks
    from lmrbench_evaluate.sandbox import open_sandbox

    tasks, _ = tasks_and_drafts(names, benchmark)
    done = []
    with open_sandbox(sandbox, benchmark) as place, progress_bar("recording", shown=not as_json) as progress:
        progress.start(sum(len(task.implementations) for task in tasks))
        for recorded in record_tasks(tasks, place, workers=workers, force=force):
            done.append(recorded)
            progress.step(str(recorded.state))
    done.sort(key=lambda item: item.instance_id)
    if as_json:
        print_json([vars(item) for item in done])
    else:
        rows = [[item.instance_id, str(item.state), f"{item.size / 1000:.1f} kB"] for item in done]
        print_table(("instance", "recording", "size"), rows)


@app.command()
def check(
    names: Names = None,
    sandbox: Sandbox = "auto",
    benchmark: BenchmarkFolder = None,
    workers: Workers = 2,
    mutants: Annotated[bool, typer.Option("--mutants", help="Also try small mutations of each reference.")] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Only try golden, masked and one variant of each kind: a look that proves nothing."
        ),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show each finding and its reason.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also check what was checked before as it is now.")] = False,
    demos: Annotated[
        bool, typer.Option("--demos", help="Only run each repository's demo command and smoke tests.")
    ] = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Note in proved.json what was proved, so that `make test` need not.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prove that tasks are sound.

    Golden files pass, masked ones do not, and variants get the verdicts that they should.

    Valid variants pass every case, plain ones every core case; careless ones break the contract only, and wrong ones
    fail a core case. No trivial answer may pass a core case (constants, means, another order of the expected values,
    another seed's output). The demo command and the smoke tests of each repository have to work, too. Re-run the
    command to resume a check that was stopped: it leaves out what passed and has not changed. `--quick` is for a look
    while you work: it says what it did not try, and records nothing as proved.

    Example: lmrbench dataset check 01-dpo --sandbox docker
    """
    from lmrbench_evaluate.checks.check import check_repositories, check_tasks
    from lmrbench_evaluate.checks.proved import write_proofs
    from lmrbench_evaluate.checks.trials import UNTRIED
    from lmrbench_evaluate.sandbox import open_sandbox

    from ..base.errors import ArgumentError
    from ..base.paths import benchmark_folder
    from ..base.problems import problem_lines
    from ..base.text import counted

    tasks, _ = tasks_and_drafts(names, benchmark)
    if lock and sandbox != "docker":
        raise ArgumentError("lock", "only a check in Docker proves a task; add --sandbox docker")
    if lock and demos:
        raise ArgumentError("lock", "demos alone prove no task; leave out --demos")
    if quick and (lock or demos or mutants):
        other = "lock" if lock else "demos" if demos else "mutants"
        raise ArgumentError("quick", f"a quick look proves nothing and tries little; leave out --quick or --{other}")
    total, done = sum(len(task.implementations) for task in tasks), itertools.count(1)

    def tell(instance: str, line: str) -> None:
        say(f"[{next(done)}/{total}] {instance}: {line}")

    with open_sandbox(sandbox, benchmark) as place, progress_bar("checking", shown=not as_json) as progress:
        if demos:
            findings = list(check_repositories(tasks, place, workers=workers, progress=progress))
        else:
            found = check_tasks(
                tasks,
                place,
                workers=workers,
                mutants=mutants,
                quick=quick,
                resume=not again,
                progress=progress,
                finished=tell,
            )
            findings = list(found)
    findings.sort()
    if as_json:
        print_json([finding.as_dict() for finding in findings])
    else:
        for line in problem_lines([finding for finding in findings if verbose or finding.is_error]):
            put(line)
        _print_counts(findings, mutants)
    untried = [finding for finding in findings if finding.where == UNTRIED]
    if untried:
        left = sum(len(finding.facts["untried"]) for finding in untried)
        what = f"{counted(left, 'variant')} of {counted(len(untried), 'instance')}, repetitions, demos and smoke tests"
        say(f"a quick look, no proof: not tried were {what}; leave out --quick to prove")
    bad = {finding.subject for finding in findings if finding.is_error}
    if lock:
        proved = [
            task
            for task in tasks
            if bad.isdisjoint({f"{task.name}/repo", *(item.instance_id for item in task.implementations)})
        ]
        say(f"written: {write_proofs(proved, benchmark or benchmark_folder())}")
    if bad:
        raise typer.Exit(1)


def _print_counts(findings: "list[Finding]", mutants: bool) -> None:
    """A line for each instance: how many of its cases vary with the seed, how many mutants they notice."""
    rows = []
    for instance, group in groupby(findings, key=attrgetter("subject")):
        found = list(group)
        kinds = Counter((finding.where.partition("/")[0], finding.is_error) for finding in found)
        score = f"{kinds['mutant', False]} / {kinds['mutant', True] + kinds['mutant', False]}"
        by_core = sum(item.where.startswith("mutant/") and item.facts.get("noticed_by") == "core" for item in found)
        trials = sum(finding.is_trial for finding in found)
        row = [instance, str(trials), str(sum(finding.is_error for finding in found)), _vary(found)]
        rows.append([*row, score, str(by_core), str(kinds["equivalent", False])] if mutants else row)
    headings = ("instance", "trials", "errors", "vary")
    print_table((*headings, "mutants noticed", "by core cases", "equivalent") if mutants else headings, rows)


def _vary(findings: "list[Finding]") -> str:
    """How many cases of an instance vary with the seed; empty if its recording cannot be read."""
    facts = next((finding.facts for finding in findings if "varying_cases" in finding.facts), None)
    if facts is None:
        return ""
    varying, constant = len(facts["varying_cases"]), len(facts["constant_cases"])
    return f"{varying} / {varying + constant}"


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help="embedded, a folder, or org/name[@revision].")],
    new: Annotated[str, typer.Argument(help="The same.")],
    as_json: Json = False,
) -> None:
    """Show which rows differ between two builds, and where.

    Example: lmrbench dataset diff org/lmr-bench@v0.1.0 embedded
    """
    from ..dataset.diff import diff_rows
    from ..loader import load_rows

    changes = list(diff_rows(load_rows(old), load_rows(new)))
    if as_json:
        print_json([vars(change) for change in changes])
        return
    for change in changes:
        put(f"{change.instance_id}  {change.column or 'row'}: {change.summary}")
        if change.detail:
            put("\n".join(f"    {line}" for line in change.detail.splitlines()))
    rows = len({change.instance_id for change in changes})
    put(f"{rows} rows differ" if rows else "no difference")


@app.command()
def push(
    repo: Annotated[str, typer.Argument(help="Dataset repository on the Hub, org/name.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="What `dataset build` has written; by default its name.")
    ] = None,
    benchmark: BenchmarkFolder = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Publish a build on the Hub.

    Card, rows, eval.yaml and loader.py go into one commit, with a tag that never moves.

    Refuses what `dataset check` has not proved in Docker, on this machine or as proved.json notes, what is not exactly
    what this version builds, and what would overwrite a newer version. The token: HF_TOKEN, or `hf auth login`.

    Example: lmrbench dataset push org/lmr-bench --dry-run
    """
    from lmrbench_evaluate.checks.proved import proved_contents

    from ..base.hub_client import open_hub
    from ..dataset.publish import plan_push
    from ..dataset.publish import push as carry_out
    from ..tasks.manifest import load_benchmark

    api, facts_of = open_hub(), load_benchmark(benchmark)
    plan = plan_push(
        api,
        repo,
        folder or Path(facts_of.name),
        facts_of,
        lambda: proved_contents(tasks_and_drafts(None, benchmark)[0]),
    )
    facts = {"repo": repo, "tag": plan.tag, "sha256": plan.sha256, "rows": plan.rows, "removed": plan.removed}
    changes = [
        {"instance_id": item.instance_id, "column": item.column, "summary": item.summary} for item in plan.changes
    ]
    if not as_json:
        for change in plan.changes:
            put(f"{change.instance_id}  {change.column or 'row'}: {change.summary}")
        for name in plan.removed:
            put(f"{name}: removed from the repository")
        state = (
            "is there already" if plan.done else f"{len({c.instance_id for c in plan.changes})} rows differ from main"
        )
        put(f"{repo} {plan.tag}: {plan.rows} rows, content {plan.sha256[:12]}; {state}")
    if dry_run or plan.done:
        if as_json:
            print_json({**facts, "changes": changes, "pushed": False, "done": plan.done})
        return
    if not (yes or as_json):
        typer.confirm(f"Push to {repo} and tag it {plan.tag}? The tag can never move.", abort=True, err=True)
    sha = carry_out(api, plan, private=private)
    if as_json:
        print_json({**facts, "changes": changes, "pushed": True, "commit": sha})
    else:
        put(f"pushed: {repo}@{plan.tag} ({sha[:12]}); load_dataset({repo!r}, revision={plan.tag!r}, split='test')")
