"""Print one answer: in a terminal coloured and wrapped to its width, elsewhere as plain lines."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..base.text import counted
from .output import put, put_styled

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.judgement_log import Judgement
    from lmrbench_evaluate.reports.answer_choice import Chosen
    from lmrbench_evaluate.reports.answer_diff import DiffSection
    from lmrbench_evaluate.reports.answer_pages import Answer

#: Kind of a line of a difference → its sign, and its style in a terminal.
_SIGNS = {"add": "+", "del": "-", "hunk": "@"}
_LINES = {"add": "green", "del": "red", "hunk": "cyan", "note": "dim"}
#: Outcome → its style; every other one is a failure.
_OUTCOMES = {"robust": "green", "reproduced": "yellow", "missing": "dim", "infra_error": "magenta"}
_FAILED = "red"
#: Outcomes of answers that were not graded.
_UNGRADED = ("missing", "infra_error")
#: What the two levels mean, said beside the verdict.
_LEVELS = {"robust": "every case passed", "reproduced": "reproduced, not robust: every core case passed"}


def print_answer(chosen: "Chosen") -> None:
    """Print the verdict of an answer, the outcomes of the other samples, and everything that explains them."""
    from lmrbench_evaluate.reports.score_tables import words
    from lmrbench_evaluate.reports.spending import in_words

    score, answer, used = chosen.score, chosen.answer, words([chosen.score])
    for warning in chosen.warnings:
        put_styled((f"warning: {warning}", "yellow"))
    word = "samples" if len(answer.samples) > 1 else "sample"
    of = f", {word} {', '.join(map(str, answer.samples))}" if answer.samples and score.samples > 1 else ""
    put_styled((chosen.instance_id, "bold"))
    put_styled(f"{score.name}, {score.track} track{of}")
    style = f"bold {_OUTCOMES.get(answer.outcome, _FAILED)}"
    meaning = "" if answer.outcome in _UNGRADED else f"  ({_LEVELS.get(answer.outcome, 'not reproduced')})"
    _title("VERDICT", (used.get(answer.outcome, answer.outcome), style), meaning)
    if answer.detail:
        _lines(answer.detail)
    if took := in_words(answer.took):
        put_styled(f"took {took}")
    if len(chosen.samples) > 1:
        _samples(chosen, {name: used.get(name, name) for _, name in chosen.samples})
    _parts(answer)
    _cases(answer)
    for part in answer.sections:
        _difference(part)
    if answer.judgement:
        _judgement(answer.judgement)
    if answer.log:
        _title("LOG")
        _lines(answer.log)


def _title(name: str, *parts: str | tuple[str, str]) -> None:
    put("")
    put_styled((name, "bold"), *(["  ", *parts] if parts else []))


def _lines(text: str, indent: str = "") -> None:
    for line in text.splitlines():
        put_styled(f"{indent}{line}")


def _samples(chosen: "Chosen", words: dict[str, str]) -> None:
    """Print the numbers of the samples by outcome, best first; this answer's are in bold."""
    from lmrbench_evaluate.verdict.levels import OUTCOMES

    passed = sum(outcome in _LEVELS for _, outcome in chosen.samples)
    _title("SAMPLES", f"{passed} of {len(chosen.samples)} reproduced")
    width = max(map(len, words.values()))
    for outcome in sorted(words, key=OUTCOMES.index):
        numbers = [number for number, found in chosen.samples if found == outcome]
        parts: list[str | tuple[str, str]] = []
        for number in numbers:
            shown = number in chosen.answer.samples
            parts += [", " if parts else "", (f"{number} (shown here)", "bold") if shown else str(number)]
        name = f"{words[outcome]:{width}}  "
        put_styled("  ", (name, _OUTCOMES.get(outcome, _FAILED)), *parts, hang=len(name))


def _parts(answer: "Answer") -> None:
    """Print the functions, experiments and choices of a method."""
    for title, parts in (("FUNCTIONS", answer.functions), ("EXPERIMENTS", answer.experiments)):
        if parts:
            _title(title, f"{sum(part['status'] == 'passed' for part in parts)} of {len(parts)} passed")
            for part in parts:
                put_styled(f"  {part['name']}: ", (part["status"], "green" if part["status"] == "passed" else _FAILED))
    if answer.choices:
        right = sum(choice["reading"] == "stated" for choice in answer.choices)
        _title("CHOICES", f"{right} of {len(answer.choices)} as in the paper or its tables")
        for choice in answer.choices:
            style = "green" if choice["reading"] == "stated" else _FAILED
            put_styled(
                f"  {choice['name']}: {choice['option'] or 'none of the options'} (", (choice["reading"], style), ")"
            )


def _cases(answer: "Answer") -> None:
    if not answer.cases:
        return
    _title("FAILED CASES", f"{answer.bad_cases} of {answer.all_cases} cases and seeds")
    for case in answer.cases:
        seeds = f"seed{'s' * (len(case.seeds) > 1)} {', '.join(map(str, case.seeds))}"
        level = "core" if case.core else "contract"
        put_styled("  ", (case.name, "bold"), f" ({level}, {seeds}): ", (case.status, _FAILED))
        _lines(case.detail, "    ")
    if answer.more_cases:
        put_styled(f"  {counted(answer.more_cases, 'more case')} in results.jsonl")


def _difference(part: "DiffSection") -> None:
    _title(part.title + (", from the reference to the answer" if part.before else ""))
    for line in part.lines:
        sign = _SIGNS.get(line.kind, " ")
        # A wrapped line of code continues to the right of the code's start, never below the signs.
        code = 2 + len(line.text) - len(line.text.lstrip()) if sign != " " else 0
        put_styled((f"{sign} {line.text}", _LINES.get(line.kind, "")), hang=code + 4)


def _judgement(judgement: "Judgement") -> None:
    category = f"{judgement.category}: {judgement.category.full_name}" if judgement.category else "no category"
    lost = f", {judgement.errors} failed" if judgement.errors else ""
    _title("JUDGE", f"{category} ({judgement.model}, {counted(judgement.votes.total(), 'vote')}{lost})")
    texts: Iterable[str] = (judgement.algorithm, judgement.implementation, *(f"- {it}" for it in judgement.rationale))
    for text in filter(None, texts):
        _lines(text)
