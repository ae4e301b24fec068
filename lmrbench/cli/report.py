"""`lmrbench report`, `merge` and `show`: compare runs, combine shares of one, explain an answer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.hub_client import open_hub
from lmrbench_data.base.templates import environment
from lmrbench_data.base.text import fenced, plural

from .options import DATASET, JudgeModel, Labels
from .outcomes import report_text
from .output import Json, emit, only_runs, print_err

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.answers import Chosen

    from .outcomes import Part


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", help="Also write a .md, .json, .csv or .html file (repeatable)."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a file at --out that is not a report.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(file_okay=False, help="Also write figures and tables there.")
    ] = None,
    eval_results: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Also write the scores for models' repositories on the Hub there."
        ),
    ] = None,
    published: Annotated[
        str, typer.Option(help="Published dataset for --eval-results, org/name.")
    ] = DATASET,
    labels: Labels = None,
    judge_model: JudgeModel = None,
    as_json: Json = False,
) -> None:
    """Compare runs by model, category and instance.

    Recomputes the shares of reproduced and robust answers from the result rows. The scores come
    last.

    An exact paired test compares each pair of models, within a run or across runs. --labels adds
    the agreement between the judge and human labels. An .html page shows all answers; figures are
    SVG and PDF, their tables LaTeX. --eval-results writes one YAML file for each model,
    for the folder .eval_results/ of its repository; the run must be complete and made in Docker.

    Example: lmrbench report runs/a runs/b --out report.html
    """
    from lmrbench_evaluate.reports.report import check_form

    from ..api import run as runs_api

    for path in out or ():
        check_form(path)
    made = runs_api.report(*only_runs(runs), judge_model=judge_model, labels=labels)
    emit(made.to_dict(), as_json, *report_text(made))
    written = [made.save(path, replace=replace) for path in out or ()]
    written += made.save_figures(figures) if figures else []
    if eval_results:
        from lmrbench_evaluate.hub.eval_results import write_eval_results

        written += write_eval_results(open_hub(), made, published, eval_results)
    for path in written:
        print_err(f"written: {path}")
    if made.bad_annotations:
        raise typer.Exit(1)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, each on instances of its own.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace answers of that folder that the runs lack or change."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Merge runs on different instances into one run.

    For evaluations that several machines or batch jobs have shared. Report, judge and show then
    work on the whole. Results are copied unchanged, and nothing is evaluated again.

    Example: lmrbench merge runs/mine/share-* --out runs/mine/whole
    """
    from lmrbench_evaluate.runs.merge import merge_runs

    from ..api.run import open_run, write_report

    run = open_run(merge_runs(runs, out, replace=replace).path)
    write_report(run)
    report = run.report()
    emit(report.to_dict(), as_json, *report_text(report, folder=out))
    if not run.complete:
        print_err("incomplete: evaluate the same predictions into the merged folder to complete it")
        raise typer.Exit(3)


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.", metavar="RUN")],
    instance: Annotated[
        str | None, typer.Argument(help="Instance id (default: list what did not pass).")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=0, help="Sample number (default: the first).")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model, if the run has several.")
    ] = None,
    setting: Annotated[
        str | None, typer.Option("--setting", help="Setting, if the run has several.")
    ] = None,
    track: Annotated[
        str | None, typer.Option("--track", help="Track, if the run has several.")
    ] = None,
    judge_model: JudgeModel = None,
    as_json: Json = False,
) -> None:
    """Explain one answer, or list those that did not pass.

    Shows an answer's verdict, the outcomes of the model's other samples, the functions and
    experiments of a method, the failed cases, the difference from the reference and the judgement.
    It is Markdown.

    Example: lmrbench show runs/mine dpo-preference-loss --model my-model --sample 1
    """
    from lmrbench_evaluate.reports.answers import answer_dict, choose_answer, fitting
    from lmrbench_evaluate.reports.report import make_report
    from lmrbench_evaluate.reports.sections import FAILURES, failures

    report = make_report([run], judge_model=judge_model)
    choice = {"model": model, "setting": setting, "track": track}
    if instance is None:
        if sample is not None:
            raise ArgumentError("sample", "belongs to an instance; name one")
        models = {report.scores[number].key for number in fitting(report.scores, **choice)}
        rows = list(failures(run, models))
        parts: list[Part] = [f"lmrbench show {run} INSTANCE explains an answer"]
        if rows:
            parts.insert(0, ("What did not pass", (FAILURES, rows)))
        else:
            parts = ["every answer passed every case" if report.scores else "no results yet"]
        emit([dict(zip(FAILURES, row, strict=True)) for row in rows], as_json, *parts)
        return
    chosen = choose_answer(report, instance, sample, **choice)
    emit(answer_dict(chosen), as_json, _markdown(chosen).rstrip("\n"))


def _markdown(chosen: "Chosen") -> str:
    """Return the text about an answer."""
    from lmrbench_evaluate.reports.score_tables import words
    from lmrbench_evaluate.reports.spending import in_words

    templates = environment(Path(__file__).parent, in_words=in_words, block=fenced, plural=plural)
    return templates.get_template("show.md.j2").render(
        chosen=chosen, score=chosen.score, answer=chosen.answer, words=words([chosen.score])
    )
