"""`lmrbench papers`: the authors' PDFs in the user's cache."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lmrbench_data.base.text import plural
from lmrbench_data.dataset.load import rows_by_config
from lmrbench_data.dataset.rows import DatasetRow, check_instances

from .options import DatasetSpec
from .output import Json, emit, print_err, print_out, progress_bar

app = typer.Typer(help="Fetch and add the papers' PDFs.", no_args_is_help=True)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(help="Instance ids or papers (default: all).")
    ] = None,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Download missing PDFs and check their hashes.

    PDFs are fetched one at a time; each must match the hash of its first download. After a
    connection error, the other papers of that server are skipped.

    Example: lmrbench papers fetch dpo-preference-loss
    """
    from lmrbench_data.papers.fetch import PaperStore, UnreachableError, fetch_missing

    store = PaperStore()
    papers = _papers(dataset, names)
    with progress_bar("fetching") as progress:
        done = fetch_missing(store, papers, progress)
    present = len(papers) - len(done.problems)
    failed = [{"paper": key, "error": str(problem)} for key, problem in done.problems.items()]
    emit(
        {"papers": len(papers), "here": present, "fetched": done.fetched, "failed": failed},
        as_json,
        f"{present} of {len(papers)} papers are in {store.folder}",
    )
    problems = Counter(done.problems.values())
    for problem, count in problems.items():
        print_err(f"error: {problem}; {plural(count, 'paper')} not fetched")
    if any(isinstance(problem, UnreachableError) for problem in problems):
        print_err("check the network, or add your own PDFs: lmrbench papers add ID FILE")
    if problems:
        raise typer.Exit(max(problem.exit_code for problem in problems))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Instance id or paper.", metavar="ID")],
    file: Annotated[Path, typer.Argument(help="PDF to add.", exists=True, dir_okay=False)],
    dataset: DatasetSpec = "embedded",
) -> None:
    """Add a PDF of your own to the cache.

    The PDF must contain text.

    Example: lmrbench papers add dpo-preference-loss dpo.pdf
    """
    from lmrbench_data.papers.fetch import PaperStore, add_pdf

    [key] = _papers(dataset, [name])
    sha256 = add_pdf(PaperStore(), key, file)
    print_out(f"{key}: {file.stat().st_size / 1e6:.1f} MB, sha256 {sha256[:12]}")


def _papers(dataset: str, names: list[str] | None) -> dict[str, DatasetRow]:
    """Return a row by key for each paper that an instance id or a key names, or for all papers."""
    from lmrbench_data.papers.fetch import paper_key

    names = names or []
    by_name = _rows_by_name(dataset, every=False)
    if any(name not in by_name for name in names):
        by_name = _rows_by_name(dataset, every=True)
    check_instances(names, by_name)
    rows = [by_name[name] for name in names] or sorted(by_name.values(), key=paper_key)
    return {paper_key(row): row for row in rows}


def _rows_by_name(dataset: str, *, every: bool) -> dict[str, DatasetRow]:
    """Return the rows of the first configuration, or of every one, by instance id and paper."""
    from lmrbench_data.papers.fetch import paper_key

    configs = rows_by_config((), dataset, every=every)
    rows = {}
    for row in itertools.chain.from_iterable(configs.values()):
        rows[row["instance_id"]] = rows[paper_key(row)] = row
    return rows
