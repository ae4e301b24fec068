"""Make the tables of a judge's calibration: all of them for the terminal, one line for the report."""

from collections.abc import Sequence

from lmrbench_data.base.shares import Share
from lmrbench_data.base.text_table import Table

from ..judge.category import BEST_FIRST
from .association import Gamma, Kappa
from .calibration import Calibration, Rated, given

_WORDS = {
    "length": "length, as a multiple of the reference's",
    "similarity": "similarity to the reference",
}


def calibration_table(calibrations: Sequence[Calibration]) -> Table:
    """Make the table with one line per calibration, for the report."""
    header = [
        "judge",
        "prompt",
        "measured on",
        "answers",
        "as expected",
        "sensitivity",
        "specificity",
        "kappa",
    ]
    rows = [
        [
            *(item.judge.model, item.judge.prompt_version, item.source, str(len(item.rated))),
            *map(_share, (item.agreement, item.sensitivity, item.specificity)),
            _kappa(item.kappa(binary=True)),
        ]
        for item in calibrations
    ]
    return header, rows


def all_tables(calibration: Calibration) -> list[tuple[str, Table]]:
    """Return the titles and tables of one calibration."""
    by_people = calibration.has_three
    groups = "people" if by_people else "variants"
    tables = [
        ("Agreement", _measures(calibration)),
        ("Expected against given", _groups(calibration, "group", groups)),
        ("CC or not CC", _confusion(calibration)),
        ("By instance", _groups(calibration, "instance_id", "instance")),
        ("Is the judge more lenient on longer or more similar answers?", _bias(calibration)),
    ]
    return [(title, table) for title, table in tables if table[1]]


def _measures(calibration: Calibration) -> Table:
    shares = {
        "as expected": calibration.agreement,
        "agreement, CC / not CC": calibration.binary,
        "sensitivity: not called CC, of answers with a fault": calibration.sensitivity,
        "specificity: called CC, of answers without": calibration.specificity,
        "called LI, of answers with correct logic": calibration.false_logic,
    }
    kappas = {"Cohen's kappa, three categories": calibration.kappa(binary=False)} if calibration.has_three else {}
    kappas["Cohen's kappa, CC / not CC"] = calibration.kappa(binary=True)
    rows = [[name, share.fraction, share.bounds] for name, share in shares.items() if share.whole]
    rows += [[name, *_numbers(kappa)] for name, kappa in kappas.items()]
    return ["measure", "value", "95 %"], rows if calibration.rated else []


def _groups(calibration: Calibration, key: str, name: str) -> Table:
    rows = []
    for label, items in calibration.by(key).items():
        met = Share.of(item.is_met for item in items)
        said = given(items).values()
        if key == "group":
            expected = ", ".join(sorted({item.expected for item in items}))
            rows.append([label, expected, *map(_share, said), met.fraction, met.bounds])
        else:
            rows.append([label, *(str(share.part) for share in said), met.fraction, met.bounds])
    columns = ["expected"] if key == "group" else []
    return [name, *columns, *(f"judge: {category}" for category in BEST_FIRST), "as expected", "95 %"], rows


def _confusion(calibration: Calibration) -> Table:
    """Make the table of decided answers; those with CC and another right category are in none of its rows."""
    found = calibration.confusion()
    rows = [[name, *map(_share, row.values())] for name, row in found.items() if row[name].whole]
    return ["expected", *(f"judge: {name}" for name in found)], rows


def _bias(calibration: Calibration) -> Table:
    found = {name: calibration.bias(name) for name in _WORDS}
    rows = [[_WORDS[name], *_gamma(gamma), _mean(calibration.rated, name)] for name, gamma in found.items()]
    return ["feature", "gamma", "p", "pairs", "mean"], rows if calibration.rated else []


def _gamma(gamma: Gamma) -> list[str]:
    if gamma.value is None or gamma.p is None:
        return ["-", "-", "0"]
    return [f"{gamma.value:+.2f}", f"{gamma.p:.2g}", str(gamma.pairs)]


def _mean(rated: Sequence[Rated], feature: str) -> str:
    return f"{sum(getattr(item, feature) for item in rated) / len(rated):.2f}"


def _numbers(kappa: Kappa) -> list[str]:
    value = "-" if kappa.value is None else f"{kappa.value:.2f}"
    return [value, f"{kappa.interval[0]:.2f} - {kappa.interval[1]:.2f}" if kappa.interval else "-"]


def _kappa(kappa: Kappa) -> str:
    value, interval = _numbers(kappa)
    return f"{value} ({interval})" if kappa.interval else value


def _share(share: Share) -> str:
    return f"{share.fraction}, {share.bounds}" if share.whole else "-"
