"""`lmrbench dataset counterfactual` and `underspecified`: make private sets of altered papers."""

from pathlib import Path
from typing import Annotated

import typer

from .options import BenchmarkFolder, Sandbox, TaskNames, tasks_and_drafts
from .output import Json, print_json, put
from .progress import progress_bar

PrivateFolder = Annotated[Path, typer.Argument(help="Folder to write.")]
PrivateSeed = Annotated[int, typer.Option("--seed", help="Seed of the draw; keep it secret.", min=0)]
PerPaper = Annotated[int, typer.Option("--per-paper", help="Rows per paper.", min=1, max=100)]


def counterfactual(
    out: PrivateFolder,
    seed: PrivateSeed,
    names: TaskNames = None,
    per_paper: PerPaper = 1,
    sandbox: Sandbox = "auto",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Make a private set of counterfactuals.

    Draws combinations of options that are not in the benchmark, records their references and writes a dataset folder
    with the configuration counterfactual alone. Whoever has the seed can draw the same set.

    Example: lmrbench dataset counterfactual held-out --seed 4711 --per-paper 2 --sandbox docker
    """
    _make_private_set("counterfactual", out, seed, names, per_paper, sandbox, benchmark, as_json)


def underspecified(
    out: PrivateFolder,
    seed: PrivateSeed,
    names: TaskNames = None,
    per_paper: PerPaper = 1,
    sandbox: Sandbox = "auto",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Make a private set of underspecified papers.

    Draws true options that are not in the benchmark for the choices that its papers leave open, makes their tables and
    proves that they decide, and writes a dataset folder with the configuration underspecified alone.

    Example: lmrbench dataset underspecified held-out --seed 4711 --per-paper 2 --sandbox docker
    """
    _make_private_set("underspecified", out, seed, names, per_paper, sandbox, benchmark, as_json)


def _make_private_set(
    config: str,
    out: Path,
    seed: int,
    names: list[str] | None,
    per_paper: int,
    sandbox: str,
    benchmark: Path | None,
    as_json: bool,
) -> None:
    from lmrbench_evaluate.checks.private_sets import make_private_set
    from lmrbench_evaluate.sandbox import open_sandbox

    from ..base.text import counted
    from ..dataset.build import write_dataset
    from ..tasks.manifest import load_benchmark

    tasks = tasks_and_drafts(names, benchmark)[0]
    with open_sandbox(sandbox, benchmark) as place, progress_bar("recording", shown=not as_json) as progress:
        rows = make_private_set(tasks, config, seed, per_paper, place, progress)
    sha256 = write_dataset([], out, load_benchmark(benchmark), others={config: rows})
    papers = len({row["paper_title"] for row in rows})
    if as_json:
        print_json({"folder": str(out), "rows": len(rows), "sha256": sha256, "papers": papers})
    else:
        put(f"{out}: {counted(len(rows), 'row')} from {counted(papers, 'paper')}, content {sha256[:12]}")
        put(f"evaluate with: lmrbench evaluate PREDICTIONS --dataset {out} --config {config}")
