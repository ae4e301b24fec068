"""Facts that the original published: labels, agents' actions, the structure of its repositories.

Counted from the original's repository at commit a8fc111f (MIT licence). The files hold numbers and
categories only.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Numbers of the paper that these facts do not give.
UNPUBLISHED = (
    "No unit-test result is published for gpt4o, no_agent or o4mini, no_agent, so their accuracy "
    "is unknown.",
    "Claude 3.7 with OpenHands is left out: only its unit tests are published, and labels.csv does "
    "not list it.",
    "Each answer was labelled by one person, so the experts' agreement (Appendix B) cannot be "
    "computed.",
    "Tables 3, 5 and 6 and Figure 7 cannot be computed either: their data is not published. Table "
    "6 uses binary verdicts of the judge, which are not the collapsed categories.",
)


def labels() -> "pd.DataFrame":
    """Return the 168 answers (28 tasks, 3 models, 2 settings) that tests, judge and a person rated.

    `unit_test` is `pass` or `fail`, or empty without a published result; `function_index` counts
    from 0, in the order of the paper's info.json; `instance_id` is this benchmark's.
    """
    return _read("labels.csv")


def sessions() -> "pd.DataFrame":
    """Return the 66 named sessions of OpenHands, one for each model and paper: actions by kind.

    A session has passed if the unit tests of all functions of its paper passed. Thoughts count as
    messages, IPython as run, and browsing as excluded, as in the paper's Appendix F.
    """
    frame = _read("actions.csv")
    frame["message"] += frame.pop("think")
    frame["run"] += frame.pop("run_ipython")
    frame["excluded"] = frame.pop("browse") + frame.pop("browse_interactive")
    tested = labels().query("setting == 'openhands_agent' and unit_test != ''")
    by_session = (tested["unit_test"] == "pass").groupby([tested["model"], tested["paper"]])
    passed = by_session.all().rename("passed")
    return frame.join(passed, on=["model", "paper"])


def structures() -> "pd.DataFrame":
    """Return the 29 repositories as folders of files; three of them have no measures (all 0)."""
    return _read("structure.csv")


def _read(name: str) -> "pd.DataFrame":
    import pandas as pd

    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)
