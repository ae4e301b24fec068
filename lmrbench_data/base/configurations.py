"""The configurations of the dataset: everything that differs between their rows, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..loader import CONFIGS, COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED

#: The kinds of variants, from the best answers to the worst.
KINDS = VALID, PLAIN, CARELESS, WRONG = "valid", "plain", "careless", "wrong"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The facts of a configuration: what its rows have, and what is asked and proved of them."""

    name: str
    column: str
    """A column that tells its rows from those of the configurations before it."""
    is_method: bool = True
    """Whether rows mask a method in several files, and answers are `files`, not `goal_file`."""
    masked: str = "a method"
    """The masked part, in words."""
    has_contract: bool = False
    """Whether a contract states further conventions, whose cases decide if an answer is robust."""
    is_altered: bool = False
    """Whether the paper was altered, and the published PDF and links are not those of the row."""
    has_experiments: bool = False
    """Whether tables of the paper settle its open choices; the repository has the experiments."""
    prompt: str = "method_prompt_v1.md"
    """Template of the prompt for models."""
    variants: Mapping[str, int] = field(default_factory=dict)
    """Kind of variant that `dataset check` proves → least number of them."""
    result_columns: frozenset[str] = frozenset()
    """Columns of results.jsonl that not all configurations have."""


_METHOD_RESULTS = frozenset({"functions", "experiments"})
#: Name → configuration, in the order of `CONFIGS`.
CONFIGURATIONS = {
    item.name: item
    for item in (
        Configuration(
            name=FUNCTION,
            column="goal_function",
            is_method=False,
            masked="one function",
            has_contract=True,
            prompt="prompt_v1.md",
            variants={VALID: 2, PLAIN: 2, CARELESS: 1, WRONG: 5},
        ),
        Configuration(
            name=METHOD,
            column="goals",
            variants={VALID: 2, PLAIN: 2, WRONG: 5},
            result_columns=_METHOD_RESULTS,
        ),
        Configuration(
            name=COUNTERFACTUAL,
            column="choices",
            is_altered=True,
            result_columns=_METHOD_RESULTS | {"choices"},
        ),
        Configuration(
            name=UNDERSPECIFIED,
            column="cpu_budget_s",
            is_altered=True,
            has_experiments=True,
            result_columns=_METHOD_RESULTS | {"choices", "searches_table"},
        ),
    )
}
#: Columns of results.jsonl that some configurations lack.
RESULT_COLUMNS = frozenset().union(*(item.result_columns for item in CONFIGURATIONS.values()))
assert tuple(CONFIGURATIONS) == CONFIGS  # the loader, which ships with each dataset, stands alone


def configuration_of(row: Mapping[str, Any]) -> Configuration:
    """Return the configuration that a row of the dataset belongs to."""
    for item in reversed(CONFIGURATIONS.values()):
        if item.column in row:
            return item
    return CONFIGURATIONS[FUNCTION]


def configurations_with(fact: str) -> tuple[str, ...]:
    """Return the names of the configurations for which a fact, such as `is_altered`, is true."""
    return tuple(name for name, item in CONFIGURATIONS.items() if getattr(item, fact))
