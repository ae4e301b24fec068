"""`lmrbench analyse familiarity`: scores by cut-off date, probabilities of references, the canary."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from ...analyse.familiarity.settings import ProbeSettings
from ...base.settings import option
from ...chat.endpoint import Endpoint
from ..options import DatasetSpec, MovedDataset, options
from ..output import Json, interruptible, print_json, print_table, put, say
from ..progress import progress_bar

app = typer.Typer(no_args_is_help=True, help="Look for signs that a model knew the benchmark.")

RunsOfModel = Annotated[
    list[Path] | None, typer.Option("--run", help="Run of this model whose report shows the result (repeatable).")
]


@app.command()
def cutoff(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of `lmrbench evaluate`.", metavar="RUN...")],
    cutoffs: Annotated[
        list[str], typer.Option("--cutoff", help="YYYY-MM for all models, MODEL=YYYY-MM for one (repeatable).")
    ],
    dataset: MovedDataset = None,
    as_json: Json = False,
) -> None:
    """Score runs on papers before and after a cut-off date.

    The date of a paper is the month of its first arXiv version, else its year. The reports of the runs show the result.

    Example: lmrbench analyse familiarity cutoff runs/mine --cutoff 2024-06
    """
    from lmrbench_evaluate.reports.familiarity import keep_familiarity

    from ... import api
    from ...analyse.familiarity.dates import split_scores
    from ...analyse.familiarity.familiarity_tables import split_table

    splits, dates = split_scores(runs, cutoffs, dataset)
    for run in runs:
        months = {item.score.model: item.cutoff for item in splits if item.score.path == run}
        keep_familiarity(run, cutoffs=months, published=dates)
        api.write_report(api.open_run(run))
    if as_json:
        scores = [
            {
                "run": item.score.run,
                "model_name_or_path": item.score.model,
                "setting": item.score.setting,
                "track": item.score.track,
                "cutoff": item.cutoff,
                "parts": {str(part): tally.as_dict() for part, tally in item.parts.items() if tally.total},
            }
            for item in splits
        ]
        print_json({"published": dates, "scores": scores})
        return
    print_table(*split_table(splits), title="Before and after the cut-off")
    put("A paper from the month of the cut-off counts as published before it. The parts are small: mind the intervals.")
    put("Our code is newer than any cut-off; a model may know the paper and the original's repository.")


@app.command()
@options(ProbeSettings, without=("max_tokens",))
def probe(settings: ProbeSettings, runs: RunsOfModel = None, as_json: Json = False) -> None:
    """Measure how familiar a model is with the methods' code.

    Compares the probabilities of references and controls, and the length of verbatim runs.

    Works best with a server whose completions echo prompts with log-probabilities, such as vLLM; other servers give
    fewer numbers. Re-run the command to resume.

    Example: lmrbench analyse familiarity probe --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity.familiarity_tables import WAYS, probe_dict, probe_line, probe_tables
    from ...analyse.familiarity.probe import build_probes
    from ...analyse.familiarity.probe import probe as ask
    from ...analyse.familiarity.probe_log import FILE
    from ...base.paths import benchmark_folder, has_variants
    from ...dataset.load import load_rows
    from ...tasks.task_folders import load_tasks

    model, answers = settings.model, settings.folder / FILE
    rows = load_rows(settings.dataset)
    tasks = load_tasks() if settings.dataset == "embedded" and has_variants(benchmark_folder()) else []
    if settings.dataset == "embedded" and not tasks:
        say("warning: variants exist only in a checkout; references are compared with renamed and changed copies only")
    probes = functools.partial(build_probes, rows, tasks, settings.instances)
    with interruptible(f"answers so far are in {answers}"), progress_bar("probing", shown=not as_json) as progress:
        summary = ask(settings, probes, progress)
    if summary.complete:
        _keep(runs, "probes", model, {"way": summary.way, "line": probe_line(summary)})
    if as_json:
        print_json(probe_dict(summary))
    else:
        put(f"{model} at {summary.server}: {WAYS[summary.way]}")
        for title, (header, lines) in probe_tables(summary):
            print_table(header, lines, title=title)
        put("Logarithms are natural; intervals are 95 %, by bootstrap over instances. We wrote the references, so this")
        put("measures how familiar the code of the methods is, not whether our files were in the training data.")
        put(f"answers: {answers}   asked now: {summary.asked}, from earlier calls: {summary.kept}")
    if not summary.complete:
        say(f"incomplete: {summary.stopped or f'{summary.errors} requests failed ({summary.first_error})'}")
        say(summary.hint)
        raise typer.Exit(3)


@app.command()
@options(
    Endpoint,
    without=("max_tokens", "requests_per_minute"),
    model=option("", "Model that is asked to complete the canary.", "--model", "-m"),
)
def canary(
    settings: Endpoint,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Folder of text to search; gzip files are unpacked.")
    ] = None,
    runs: RunsOfModel = None,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Test a model, or search a folder of text, for the canary.

    Example: lmrbench analyse familiarity canary --corpus crawl/ --model my-model --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity.canary import ask_for_canary, canary_of, search_corpus
    from ...base.errors import InputError
    from ...dataset.load import load_rows

    model = settings.model
    if not model and corpus is None:
        raise InputError("nothing to search: give a model (--model) or a folder of text (--corpus)")
    rows = load_rows(dataset)
    found: dict[str, object] = {"canary": "".join(canary_of(rows))}
    if corpus is not None:
        with progress_bar("searching", shown=not as_json) as progress:
            searched = search_corpus(corpus, rows, progress)
        found["corpus"] = {"files": searched.files, "hits": searched.hits, "unreadable": searched.unreadable}
        if not as_json:
            put(f"{corpus}: {searched.files} files searched, the canary is in {len(searched.hits)}")
            for path in searched.hits:
                put(f"  {path}")
        for path in searched.unreadable:
            say(f"{path}: cannot be read")
    if model:
        answer = ask_for_canary(settings, rows)
        _keep(runs, "canaries", model, {"known": answer.is_known, "line": answer.line})
        found["model"] = {**vars(answer), "known": answer.is_known}
        if not as_json:
            put(answer.line)
    if as_json:
        print_json(found)


def _keep(runs: list[Path] | None, key: str, model: str, found: dict[str, object]) -> None:
    """Save findings in runs, and rewrite their reports."""
    from lmrbench_evaluate.reports.familiarity import keep_familiarity

    from ... import api

    for folder in runs or ():
        opened = api.open_run(folder)
        keep_familiarity(folder, **{key: {model: found}})
        api.write_report(opened)
