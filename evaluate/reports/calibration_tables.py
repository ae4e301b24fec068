"""The tables of a judge's calibration: all of it for the terminal, a line of it beside the judge's scores."""

from collections.abc import Sequence

from ..judge.category import BEST_FIRST
from .association import Gamma, Kappa
from .calibration import Calibration, Rated, Share, given

Table = tuple[list[str], list[list[str]]]

_WORDS = {
    "length": "length, as a multiple of the reference's",
    "similarity": "similarity to the reference",
}


def calibration_table(calibrations: Sequence[Calibration]) -> Table:
    """One line each: how far the judge behind the scores is to be trusted."""
    header = ["judge", "prompt", "measured on", "answers", "CC / not CC right", "its kappa", "CC found", "not CC found"]
    rows = [
        [
            *(item.judge.model, item.judge.prompt_version, item.source, str(len(item.rated))),
            *(_share(item.binary), _kappa(item.kappa(binary=True))),
            *(_share(item.recognised(True)), _share(item.recognised(False))),
        ]
        for item in calibrations
    ]
    return header, rows


def all_tables(calibration: Calibration) -> list[tuple[str, Table]]:
    """Titles and tables of one calibration."""
    by_people = calibration.has_three
    groups = "people" if by_people else "variants"
    tables = [
        ("Agreement", _measures(calibration)),
        ("Expected against given", _groups(calibration, "group", groups)),
        ("By instance", _groups(calibration, "instance_id", "instance")),
        ("Is the judge more lenient on answers with more of this?", _bias(calibration)),
    ]
    return [(title, table) for title, table in tables if table[1]]


def _measures(calibration: Calibration) -> Table:
    shares = {
        "agreement, three categories": calibration.agreement,
        "agreement, CC / not CC": calibration.binary,
        "CC found, of those that are": calibration.recognised(True),
        "not CC found, of those that are": calibration.recognised(False),
    }
    kappas = {"Cohen's kappa, three categories": calibration.kappa(binary=False)} if calibration.has_three else {}
    kappas["Cohen's kappa, CC / not CC"] = calibration.kappa(binary=True)
    if not calibration.has_three:
        del shares["agreement, three categories"]
    rows = [[name, _percent(share), _range(share)] for name, share in shares.items() if share.whole]
    rows += [[name, *_numbers(kappa)] for name, kappa in kappas.items()]
    return ["measure", "value", "95 %"], rows if calibration.rated else []


def _groups(calibration: Calibration, key: str, name: str) -> Table:
    rows = []
    for label, items in calibration.by(key).items():
        met = Share(sum(item.is_met for item in items), len(items))
        said = given(items)
        expected = [", ".join(sorted({item.expected for item in items}))] if key == "group" else []
        rows.append([label, *expected, *(str(said[name]) for name in BEST_FIRST), _percent(met), _range(met)])
    columns = ["expected"] if key == "group" else []
    return [name, *columns, *(f"judge: {category}" for category in BEST_FIRST), "as expected", "95 %"], rows


def _bias(calibration: Calibration) -> Table:
    found = {name: calibration.bias(name) for name in _WORDS}
    rows = [[_WORDS[name], *_gamma(gamma), _mean(calibration.rated, name)] for name, gamma in found.items()]
    return ["what", "gamma", "p", "pairs", "mean"], rows if calibration.rated else []


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


def _percent(share: Share) -> str:
    return f"{100 * share.part / share.whole:.1f} % ({share.part}/{share.whole})" if share.whole else "-"


def _range(share: Share) -> str:
    low, high = share.interval
    return f"{100 * low:.0f} - {100 * high:.0f}" if share.whole else "-"


def _share(share: Share) -> str:
    return f"{_percent(share)}, {_range(share)}" if share.whole else "-"
