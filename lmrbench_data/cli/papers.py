"""`lmrbench papers`: the authors' PDFs, in the user's cache."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.text import counted
from .options import DatasetSpec, positional
from .output import Json, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ..dataset.rows import DatasetRow

app = typer.Typer(help="Fetch and read the papers' PDFs, kept in a local cache.", no_args_is_help=True)


@app.command("list")
def list_papers(dataset: DatasetSpec = "embedded", as_json: Json = False) -> None:
    """List the papers, their PDFs and where these come from.

    Example: lmrbench papers list
    """
    from ..base.errors import InputError
    from ..papers.paper_cache import PaperStore, pdf_url

    store, rows = PaperStore(), list[dict[str, Any]]()
    for key, row in _papers(dataset).items():
        try:
            stored = store.facts(key)
            state = "missing" if stored is None else f"{stored.bytes / 1e6:.1f} MB"
        except InputError:
            stored, state = None, "changed"
        sha256 = stored.sha256 if stored else None
        rows.append({"paper": key, "state": state, "sha256": sha256, "url": pdf_url(row), "title": row["paper_title"]})
    if as_json:
        print_json(rows)
        return
    print_table(("paper", "PDF", "url"), [[row["paper"], row["state"], row["url"]] for row in rows])
    put(f"folder: {store.folder}")


@app.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Instance ids or papers; all by default.")] = None,
    dataset: DatasetSpec = "embedded",
    replace: Annotated[bool, typer.Option("--replace", help="Fetch again, and take another PDF than before.")] = False,
    as_json: Json = False,
) -> None:
    """Download missing PDFs and check their hashes.

    PDFs are fetched one after the other; each must match the hash of its first download.

    A server that cannot be reached is asked once, not for each of its papers.

    Example: lmrbench papers fetch dpo-preference-loss
    """
    from ..base.errors import LMRBenchError
    from ..papers.fetch import UnreachableError, fetch_pdf, host, pause
    from ..papers.paper_cache import PaperStore, pdf_url

    store, chosen = PaperStore(), _papers(dataset, names)
    missing = [key for key in chosen if replace or store.facts(key) is None]
    problems: dict[str, LMRBenchError] = {}
    unreachable: dict[str, LMRBenchError] = {}
    with progress_bar("fetching", shown=not as_json) as progress:
        progress.start(len(missing))
        for number, key in enumerate(missing):
            url = pdf_url(chosen[key])
            if host(url) in unreachable:
                problems[key] = unreachable[host(url)]
                progress.step("failed")
                continue
            if number:
                pause()
            try:
                data = fetch_pdf(url, store.path(key, ".part"), say)
                store.put(key, data, url, replace=replace)
                progress.step("fetched")
            except UnreachableError as error:
                problems[key] = unreachable[host(url)] = error
                progress.step("failed")
            except LMRBenchError as error:
                problems[key] = error
                progress.step("failed")
    here = len(chosen) - len(problems)
    if as_json:
        failed = [{"paper": key, "error": str(error)} for key, error in problems.items()]
        print_json({"papers": len(chosen), "here": here, "fetched": len(missing) - len(problems), "failed": failed})
    else:
        put(f"{here} of {len(chosen)} papers are in {store.folder}")
    for problem, count in Counter(problems.values()).items():
        say(
            f"error: {problem}"
            + (f"; {counted(count, 'paper')} not fetched" if problem in unreachable.values() else "")
        )
    if unreachable:
        say("check the network, or add PDFs that you have: lmrbench papers add ID FILE")
    if problems:
        raise typer.Exit(max(problem.exit_code for problem in problems.values()))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Instance id or paper.", metavar="ID")],
    file: Annotated[Path, typer.Argument(help="A PDF.", exists=True, dir_okay=False)],
    dataset: DatasetSpec = "embedded",
    replace: Annotated[bool, typer.Option("--replace", help="Take it although another one was stored before.")] = False,
    as_json: Json = False,
) -> None:
    """Add a PDF of your own to the cache.

    The PDF must be readable.

    Example: lmrbench papers add dpo-preference-loss dpo.pdf
    """
    from ..base.errors import InputError
    from ..papers.paper_cache import MAX_BYTES, PaperStore
    from ..papers.parse import parse_pdf

    [key] = _papers(dataset, [name])
    if file.stat().st_size > MAX_BYTES:
        raise InputError(f"{file}: larger than {MAX_BYTES // 2**20} MiB")
    parse_pdf(file, "pdf-json")
    stored = PaperStore().put(key, file.read_bytes(), "added by hand", replace=replace)
    if as_json:
        print_json({"paper": key, "sha256": stored.sha256, "bytes": stored.bytes})
    else:
        put(f"{key}: {stored.bytes / 1e6:.1f} MB, sha256 {stored.sha256[:12]}")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Instance id or paper.", metavar="ID")],
    form: Annotated[str, typer.Option("--form", help="text, pdf-json or pdf-markdown.")] = "pdf-markdown",
    pages: Annotated[str, typer.Option("--pages", help="Of the PDF, such as 1-9; all by default.")] = "",
    dataset: DatasetSpec = "embedded",
) -> None:
    """Print a paper as prompts include it.

    Example: lmrbench papers show dpo-preference-loss --form pdf-json --pages 1-2
    """
    from ..generation.paper_texts import paper_text

    [row] = _papers(dataset, [name]).values()
    put(paper_text(row, form, pages))


def _papers(dataset: str, names: list[str] | None = None) -> "dict[str, DatasetRow]":
    """Key → a row of that paper, of those that instance ids or keys name; all if there are none.

    Raises:
        InputError: a name is unknown.
    """
    from ..dataset.rows import check_instances
    from ..loader import load_rows
    from ..papers.paper_cache import paper_key

    rows: list[Any] = load_rows(dataset)
    known = {**{row["instance_id"]: row for row in rows}, **{paper_key(row): row for row in rows}}
    with positional():
        check_instances(names or (), known, "papers list")
    chosen = [known[name] for name in names] if names else sorted(rows, key=paper_key)
    return {paper_key(row): row for row in chosen}
