"""Render the dataset card and eval.yaml from the templates in `cards/`.

Every number and table in a card is computed from the rows.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.paths import cards_folder
from ..loader import CARD_KEY, COUNTERFACTUAL, FUNCTION, METHOD, SPLIT, UNDERSPECIFIED
from ..tasks.manifest import Benchmark
from .rows import DatasetRow

_TASK = re.compile(r"  - id: .*\n    config: (?P<config>.*)\n    split: .*\n")


@dataclass(frozen=True)
class Table:
    """A configuration of the dataset, as it is written."""

    rows: Sequence[DatasetRow]
    sha256: str
    recordings: str
    """Hash of the recorded outputs; like `sha256` in `dataset_info`, which is part of the key of the `datasets` cache,
    so that a changed build is never served from a stale cache."""
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
    from huggingface_hub import DatasetCard, DatasetCardData

    default = tables.get(FUNCTION) or next(iter(tables.values()))
    rows = default.rows
    licences = sorted({str(row["license"]) for row in rows})
    others = {name: table.hashes for name, table in tables.items() if name != FUNCTION}
    version = f"{benchmark.title} {benchmark.version}"
    hashes = default.hashes if FUNCTION in tables else {}
    stamp: Any = {
        CARD_KEY: {
            "version": benchmark.version,
            **hashes,
            **({"configs": others} if others else {}),
        }
    }
    header = DatasetCardData(
        pretty_name=benchmark.title,
        license=licences[0] if len(licences) == 1 else licences,
        language=["en"],
        task_categories=["text-generation"],
        tags=["benchmark", "code-generation", "reproducibility", "language-modelling"],
        size_categories=["n<1K"],
        configs=[
            {
                "config_name": name,
                **({"default": True} if name == FUNCTION else {}),
                "version": benchmark.version,
                "data_files": [{"split": SPLIT, "path": table.path}],
            }
            for name, table in tables.items()
        ],
        dataset_info=[
            {
                "config_name": name,
                "description": f"{version}, content sha256 {table.sha256}, recordings {table.recordings}",
                "features": table.features._to_yaml_list(),
                "splits": [
                    {"name": SPLIT, "num_bytes": table.num_bytes, "num_examples": len(table.rows)}
                ],
                "download_size": table.download_bytes,
                "dataset_size": table.num_bytes,
            }
            for name, table in tables.items()
        ],
        **stamp,
    )
    card = DatasetCard.from_template(
        header,
        template_path=str(cards_folder() / "dataset_card.md"),
        benchmark=benchmark,
        sha256=default.sha256,
        recordings=default.recordings,
        rows=rows,
        methods=tables[METHOD].rows if METHOD in tables else [],
        altered=tables[COUNTERFACTUAL].rows if COUNTERFACTUAL in tables else [],
        open=tables[UNDERSPECIFIED].rows if UNDERSPECIFIED in tables else [],
        categories=sorted(Counter(str(row["category"]) for row in rows).items()),
        papers=len({str(row["paper_url"]) for row in rows}),
        images=sorted({str(row["docker_image"]) for row in rows}),
    )
    return str(card).rstrip() + "\n"


def render_eval_yaml(benchmark: Benchmark, configs: Collection[str]) -> str:
    """Render the Hub's benchmark registration; tasks on configurations that the dataset lacks are left out."""
    template = (cards_folder() / "eval.yaml").read_text(encoding="utf-8")
    values = {"title": json.dumps(benchmark.title), "split": SPLIT}
    values["framework"] = (
        "harbor" if set(configs) == {UNDERSPECIFIED} else "inspect-ai"
    )  # experiments need a shell
    text = re.sub(r"\{\{ (\w+) \}\}", lambda name: values[name[1]], template)
    return _TASK.sub(lambda task: task[0] if task["config"] in configs else "", text)
