"""The findings of a check as a table, one row per instance, and the parts that a quick check skipped."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from lmrbench_data.base.text import counted
from lmrbench_data.base.text_table import Table

from .trials import UNTRIED, Finding


def check_table(findings: Sequence[Finding], mutants: bool) -> Table:
    """Count trials, errors and cases that vary with the seed; with `mutants`, noticed mutants as well.

    Args:
        findings: sorted by instance.
    """
    rows = []
    for instance, group in groupby(findings, key=lambda finding: finding.subject):
        found = list(group)
        errors = sum(finding.is_error for finding in found)
        row = [instance, str(sum(finding.is_trial for finding in found)), str(errors), _varying(found)]
        rows.append([*row, *_mutants(found)] if mutants else row)
    header = ["instance", "trials", "errors", "vary"]
    return [*header, "mutants noticed", "by core cases", "equivalent"] if mutants else header, rows


def untried(findings: Sequence[Finding]) -> str:
    """Name the parts that a quick check skipped; empty if it skipped none."""
    skipped = [finding for finding in findings if finding.where == UNTRIED]
    if not skipped:
        return ""
    variants = counted(sum(len(finding.facts["untried"]) for finding in skipped), "variant")
    return f"{variants} of {counted(len(skipped), 'instance')}, repetitions, demos and smoke tests"


def _mutants(findings: Sequence[Finding]) -> list[str]:
    kinds = Counter((finding.where.partition("/")[0], finding.is_error) for finding in findings)
    noticed = kinds["mutant", False]
    by_core = sum(
        finding.where.startswith("mutant/") and finding.facts.get("noticed_by") == "core" for finding in findings
    )
    return [f"{noticed} / {noticed + kinds['mutant', True]}", str(by_core), str(kinds["equivalent", False])]


def _varying(findings: Sequence[Finding]) -> str:
    """Count the cases that vary with the seed; empty if the recording cannot be read."""
    facts = next((finding.facts for finding in findings if "varying_cases" in finding.facts), None)
    if facts is None:
        return ""
    varying, constant = len(facts["varying_cases"]), len(facts["constant_cases"])
    return f"{varying} / {varying + constant}"
