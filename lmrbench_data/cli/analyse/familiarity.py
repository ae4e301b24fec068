"""`lmrbench analyse familiarity`: dates beside cut-offs, probabilities of references, the canary."""

import functools
import re
from pathlib import Path
from typing import Annotated

import typer

from ..model_options import BaseUrl, Instances, Model, Questions, Retries, Rpm, Timeout
from ..options import DatasetSpec, MovedDataset
from ..output import Json, interruptible, print_json, print_table, progress_bar, put, say

app = typer.Typer(
    no_args_is_help=True, help="What a model may have known beforehand: dates, probabilities, the canary."
)

Runs = Annotated[
    list[Path] | None, typer.Option("--run", help="Runs of this model whose reports are to say it (repeatable).")
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
    """Score runs on papers up to a model's knowledge cut-off and after it.

    A paper's date is that of its first arXiv version (the arXiv id says the month), else its year. The reports of the
    runs show the result in a line.

    Example: lmrbench analyse familiarity cutoff runs/mine --cutoff 2024-06
    """
    from ... import api
    from ...analyse.familiarity.dates import split_scores
    from ...analyse.familiarity.tables import split_table
    from ...evaluate.reports.familiarity import keep_familiarity

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
    put("A paper of the month of the cut-off counts as before it. Few instances stand in a part: mind the intervals.")
    put("Code of ours is newer than any cut-off; what may be known is the paper, and the original's repository.")


@app.command()
def probe(
    model: Model,
    base_url: BaseUrl = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; by default runs/familiarity-MODEL.")] = None,
    run: Runs = None,
    workers: Questions = 4,
    rpm: Rpm = None,
    retries: Retries = 5,
    timeout: Timeout = 300.0,
    instance: Instances = None,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Measure how familiar a model is with the methods' code: probabilities of references and controls, verbatim runs.

    Works best with a server that echoes prompts with log-probabilities (vLLM and others, completions); says what it can
    tell with any other. The same command again asks only for what is missing.

    Example: lmrbench analyse familiarity probe --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity.probe import FILE, ProbeSettings, build_probes
    from ...analyse.familiarity.probe import probe as ask
    from ...analyse.familiarity.tables import WAYS, probe_dict, probe_line, probe_tables
    from ...chat.client import Endpoint
    from ...loader import load_rows
    from ...tasks import load_tasks

    place = out or Path("runs") / re.sub(r"[^\w.-]", "-", f"familiarity-{model}")
    settings = ProbeSettings(place, Endpoint(model, base_url, retries, timeout, None, rpm), workers)
    rows = load_rows(dataset)
    tasks = load_tasks() if dataset == "embedded" else []
    probes = functools.partial(build_probes, rows, tasks, instance or ())
    with interruptible(f"answers so far are in {place / FILE}"), progress_bar("probing", shown=not as_json) as progress:
        summary = ask(settings, probes, progress)
    if summary.complete:
        _keep(run, "probes", model, {"way": summary.way, "line": probe_line(summary)})
    if as_json:
        print_json(probe_dict(summary))
    else:
        put(f"{model} at {summary.server}: {WAYS[summary.way]}")
        for title, (header, lines) in probe_tables(summary):
            print_table(header, lines, title=title)
        put(
            "Logarithms are natural; intervals are 95 %, by bootstrap over instances. References are our own text: this"
        )
        put("measures how familiar the method's code is, not whether our files were seen.")
        put(f"answers: {place / FILE}   asked now: {summary.asked}, there before: {summary.kept}")
    if not summary.complete:
        say(f"incomplete: {summary.stopped or f'{summary.errors} requests failed ({summary.first_error})'}")
        say("the same command asks for those that are missing, and only for them")
        raise typer.Exit(3)


@app.command()
def canary(
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Ask this model to complete the dataset's canary.")
    ] = None,
    base_url: BaseUrl = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Search the files of this folder for it, gzip ones unpacked.")
    ] = None,
    run: Runs = None,
    retries: Retries = 5,
    timeout: Timeout = 300.0,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Search for the dataset's canary: in what a model completes, or in a folder of text.

    Example: lmrbench analyse familiarity canary --corpus crawl/ --model my-model --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity.canary import ask_for_canary, canary_of, search_corpus
    from ...chat.client import Endpoint
    from ...errors import InputError
    from ...loader import load_rows

    if model is None and corpus is None:
        raise InputError("nothing to search: give a model to ask (--model), or a folder of text (--corpus)")
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
    if model is not None:
        answer = ask_for_canary(Endpoint(model, base_url, retries, timeout), rows)
        _keep(run, "canaries", model, {"known": answer.is_known, "line": answer.line})
        found["model"] = {**vars(answer), "known": answer.is_known}
        if not as_json:
            put(answer.line)
    if as_json:
        print_json(found)


def _keep(runs: list[Path] | None, key: str, model: str, found: dict[str, object]) -> None:
    """Note what was found in runs, whose reports are written anew."""
    from ... import api
    from ...evaluate.reports.familiarity import keep_familiarity

    for folder in runs or ():
        opened = api.open_run(folder)
        keep_familiarity(folder, **{key: {model: found}})
        api.write_report(opened)
