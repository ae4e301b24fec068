"""Facts that the original published: its labels, its agents' actions, the structure of its repositories.

Counted from the original's repository at commit a8fc111f (MIT licence). The files hold numbers and categories only.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def labels() -> "pd.DataFrame":
    """Return the 168 answers that unit tests, a judge and a person rated: 28 tasks, 3 models, 2 settings.

    `unit_test` is `pass` or `fail`, or empty without a published result; `function_index` counts from 0, in the order
    of the paper's info.json; `instance_id` is this benchmark's.
    """
    return _read("labels.csv")


def sessions() -> "pd.DataFrame":
    """Return the 66 named sessions of OpenHands, one for each model and paper, as counts of their actions."""
    return _read("actions.csv")


def structures() -> "pd.DataFrame":
    """Return the 29 repositories as folders of files; three of them have no measures (all 0)."""
    return _read("structure.csv")


def _read(name: str) -> "pd.DataFrame":
    import pandas as pd

    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)
