"""Render the dataset card and eval.yaml from the templates in `cards/`.

Every number and table in a card is computed from the rows.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.paths import cards_folder
from ..base.templates import environment
from ..loader import CARD_KEY, CONFIGS, FUNCTION, SPLIT, UNDERSPECIFIED
from ..tasks.manifest import Benchmark
from .hub_tasks import tasks_with_rows
from .rows import DatasetRow

if TYPE_CHECKING:
    from huggingface_hub import DatasetCardData

#: The facts that every card states.
_FACTS: dict[str, Any] = {
    "language": ["en"],
    "task_categories": ["text-generation"],
    "tags": ["benchmark", "code-generation", "reproducibility", "language-modelling"],
    "size_categories": ["n<1K"],
}


@dataclass(frozen=True)
class Table:
    """A configuration of the dataset, as it is written."""

    rows: Sequence[DatasetRow]
    sha256: str
    recordings: str
    """Hash of the recorded outputs."""
    features: Any
    path: str
    num_bytes: int
    """Size in memory."""
    download_bytes: int
    """Size of the Parquet file."""

    @property
    def hashes(self) -> dict[str, str]:
        """The hashes of content and recorded outputs."""
        return {"sha256": self.sha256, "recordings": self.recordings}


def render_card(tables: Mapping[str, Table], benchmark: Benchmark) -> str:
    """Render the dataset's README.md: header (configurations, features, content hashes) and prose.

    Args:
        tables: configuration → its rows, the default one among them.
    """
    from huggingface_hub import DatasetCard

    default = tables.get(FUNCTION) or next(iter(tables.values()))
    rows = default.rows
    by_config: dict[str, Any] = {name: [] for name in CONFIGS}
    by_config.update((name, table.rows) for name, table in tables.items())
    card = DatasetCard.from_template(
        _header(tables, benchmark, rows),
        template_path=str(cards_folder() / "dataset_card.md"),
        benchmark=benchmark,
        sha256=default.sha256,
        recordings=default.recordings,
        rows=rows,
        categories=sorted(Counter(row["category"] for row in rows).items()),
        papers=len({row["paper_url"] for row in rows}),
        images=sorted({row["docker_image"] for row in rows}),
        **by_config,
    )
    return str(card).rstrip() + "\n"


def _header(
    tables: Mapping[str, Table], benchmark: Benchmark, rows: Sequence[DatasetRow]
) -> "DatasetCardData":
    """Return the header, whose hashes `load_dataset` puts into its cache's key."""
    from huggingface_hub import DatasetCardData

    stamp: dict[str, Any] = {CARD_KEY: _stamp(tables, benchmark.version)}
    return DatasetCardData(
        pretty_name=benchmark.title,
        license=_licence(rows),
        **_FACTS,
        configs=[_config(name, table, benchmark) for name, table in tables.items()],
        dataset_info=[_info(name, table, benchmark) for name, table in tables.items()],
        **stamp,
    )


def _licence(rows: Sequence[DatasetRow]) -> str | list[str]:
    licences = sorted({row["license"] for row in rows})
    return licences[0] if len(licences) == 1 else licences


def _stamp(tables: Mapping[str, Table], version: str) -> dict[str, Any]:
    """Return the identity of the dataset (`loader.CARD_KEY`)."""
    hashes = {name: table.hashes for name, table in tables.items()}
    stamp = {"version": version, **hashes.pop(FUNCTION, {})}
    return {**stamp, "configs": hashes} if hashes else stamp


def _config(name: str, table: Table, benchmark: Benchmark) -> dict[str, Any]:
    """Return the entry that tells `load_dataset` where the rows of a configuration are."""
    config: dict[str, Any] = {"config_name": name}
    if name == FUNCTION:
        config["default"] = True
    config["version"] = benchmark.version
    config["data_files"] = [{"split": SPLIT, "path": table.path}]
    return config


def _info(name: str, table: Table, benchmark: Benchmark) -> dict[str, Any]:
    hashes = f"content sha256 {table.sha256}, recordings {table.recordings}"
    split = {"name": SPLIT, "num_bytes": table.num_bytes, "num_examples": len(table.rows)}
    return {
        "config_name": name,
        "description": f"{benchmark.title} {benchmark.version}, {hashes}",
        "features": table.features._to_yaml_list(),
        "splits": [split],
        "download_size": table.download_bytes,
        "dataset_size": table.num_bytes,
    }


def render_eval_yaml(benchmark: Benchmark, tables: Mapping[str, Table]) -> str:
    """Render the Hub's benchmark registration, with the tasks that these tables have rows for."""
    rows = {name: table.rows for name, table in tables.items()}
    template = environment(cards_folder()).get_template("eval.yaml")
    return template.render(
        title=json.dumps(benchmark.title),
        chance=_chance(rows),
        tasks=tasks_with_rows(rows),
        split=SPLIT,
    )


def _chance(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Describe the score of a right implementation that guesses open choices; empty without any."""
    guesses = []
    for row in rows.get(UNDERSPECIFIED, ()):
        options = [len(choice["options"]) for choice in row["choices"] if choice["open"]]
        guesses.append(1 / math.prod(options))
    if not guesses:
        return ""
    share = 100 * sum(guesses) / len(guesses)
    return f"; what is right but for guessed open choices gets {share:.1f} in underspecified"
