"""Read the original's `results.txt`, one line per log, in all of its dialects.

The footer, and lines that do not clearly name one function, decide nothing: they are compared and reported.
"""

import re
from typing import NamedTuple

from lmrbench_evaluate.verdict.verdict import Status

from ..base.text import counted
from .catalogue import Catalogue, Function
from .clone import number_of

#: The original's rule, as reports say it.
RULE = "a log that says Failed, or says neither Passed nor Failed, has failed"

_PASS = re.compile(r"PASS(?: fail_count: 0| \(fail_count=0\))?")
_FAIL = re.compile(r"FAIL \(found (\d{1,9}) failure lines?\)")
_LINE = re.compile(r"([^/]+)/([^/]+\.log): (.+)")
_NO_FOLDER = re.compile(r"(/.+) is not a directory")
_FOOTER = re.compile(r"(Total log files|Passed files|Failed files|Overall pass rate): +(\d+(?:\.\d+)?)%?")
_LOG = re.compile(r"unit_test(?:_(\d{1,3}))?\.log")


class UnitTest(NamedTuple):
    """The original's verdict on one function."""

    status: Status
    detail: str


class UnitTests(NamedTuple):
    """The verdicts in a results.txt."""

    verdicts: dict[tuple[int, int], UnitTest]
    """By paper and function index."""
    problems: list[tuple[str, str]]
    """(task folder or empty, message)."""


def read_unit_tests(text: str, catalogue: Catalogue) -> UnitTests:
    """The verdicts of a results.txt.

    Args:
        catalogue: the functions that a log of a paper may be about.
    """
    problems: list[tuple[str, str]] = []
    footer: dict[str, float] = {}
    found: dict[tuple[int, int], list[tuple[int, UnitTest]]] = {}
    lines = passed = 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line:
            continue
        if total := _FOOTER.fullmatch(line):
            footer[total[1]] = float(total[2])
            continue
        verdict, folder, log = _parse(line)
        if verdict is None:
            problems.append(("", f"line {number} cannot be read: {line[:80]!r}"))
            continue
        lines += 1
        passed += verdict.status is Status.PASSED
        function, reason = _function(catalogue, folder, log)
        if function is None:
            paper = number_of(folder)
            problems.append((catalogue.subject(*paper) if paper else "", f"line {number}: {reason}"))
        else:
            found.setdefault((function.paper, function.index), []).append((number, verdict))
    verdicts = {}
    for key, several in found.items():
        subject = catalogue.functions[key].subject
        named = " and ".join(str(number) for number, _ in several)
        if len({verdict.status is Status.PASSED for _, verdict in several}) > 1:
            problems.append((subject, f"lines {named} are about function {key[1]} and contradict each other; left out"))
            continue
        if len(several) > 1:
            problems.append((subject, f"lines {named} are about function {key[1]}; the last counts"))
        verdicts[key] = several[-1][1]
    problems += _sums(footer, lines, passed)
    for key in sorted(catalogue.expected - found.keys()):
        problems.append((catalogue.functions[key].subject, f"no line for function {key[1]}"))
    if lines != (wanted := len(catalogue.expected | found.keys())):
        problems.append(("", f"{lines} lines, where {wanted} functions are expected"))
    return UnitTests(verdicts, problems)


def _parse(line: str) -> tuple[UnitTest | None, str, str]:
    """Return (verdict, task folder, log) of a line; no log if the original found no folder of logs."""
    if nothing := _NO_FOLDER.fullmatch(line):
        parts = nothing[1].split("/")
        folder = parts[-4] if len(parts) > 4 else ""
        return UnitTest(Status.ERROR, "it left no folder of logs, which the original counts as failed"), folder, ""
    if not (parts := _LINE.fullmatch(line)):
        return None, "", ""
    if _PASS.fullmatch(parts[3]):
        return UnitTest(Status.PASSED, ""), parts[1], parts[2]
    if failed := _FAIL.fullmatch(parts[3]):
        count = int(failed[1])
        if not count:
            detail = "its log ends before any verdict, which the original counts as failed"
            return UnitTest(Status.ERROR, detail), parts[1], parts[2]
        return UnitTest(Status.FAILED, f"the log says Failed {counted(count, 'time')}"), parts[1], parts[2]
    return None, "", ""


def _function(catalogue: Catalogue, folder: str, log: str) -> tuple[Function | None, str]:
    """The function that a log is about, or why it is not known."""
    paper = number_of(folder)
    functions = catalogue.of_paper(paper[0]) if paper else []
    if not functions:
        return None, f"{folder!r} is not a known paper; left out"
    name = _LOG.fullmatch(log) if log else None
    if name and name[1]:
        function = next((item for item in functions if item.index == int(name[1]) - 1), None)
        return function, f"{log} is about a function that the paper does not have ({len(functions)}); left out"
    if log and not name:
        return None, f"{log} does not say which function it is about; left out"
    if len(functions) > 1:  # two scripts of one paper write the same log, too
        what = f"{log} may be of" if log else "no folder of logs for"
        return None, f"{what} any of {len(functions)} functions; left out"
    return functions[0], ""


def _sums(footer: dict[str, float], lines: int, passed: int) -> list[tuple[str, str]]:
    """Files whose totals differ from their lines."""
    if not footer:
        return [("", "no totals at the end; the file may be cut short")]
    counted = {"Total log files": lines, "Passed files": passed, "Failed files": lines - passed}
    wrong = [
        f"{name} {footer[name]:.0f}, lines say {count}"
        for name, count in counted.items()
        if name in footer and footer[name] != count
    ]
    return (
        [("", f"totals at the end are not those of the lines ({'; '.join(wrong)}); the lines count")] if wrong else []
    )
