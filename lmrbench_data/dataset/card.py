"""Render the dataset card and eval.yaml from the templates in `cards/`.

Every number and table in a card is computed from the rows.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..base.paths import cards_folder
from ..loader import CARD_KEY, SPLIT
from ..tasks.manifest import Benchmark
from .rows import DatasetRow


def render_card(
    rows: Sequence[DatasetRow],
    benchmark: Benchmark,
    *,
    sha256: str,
    recordings: str,
    features: Any,
    data_files: str,
    num_bytes: int,
    download_bytes: int,
    template: str = "dataset_card.md",
) -> str:
    """Render the dataset's README.md: header (configuration, features, content hash) and prose.

    Args:
        sha256, recordings: hashes of the content and of the recorded outputs. Both are in `dataset_info`, which is part
            of the key of the `datasets` cache, so that a changed build is never served from a stale cache.
        num_bytes, download_bytes: sizes of the table in memory and of its Parquet file.
        template: file name in `cards/`.
    """
    from huggingface_hub import DatasetCard, DatasetCardData

    licences = sorted({str(row["license"]) for row in rows})
    stamp: Any = {CARD_KEY: {"version": benchmark.version, "sha256": sha256, "recordings": recordings}}
    header = DatasetCardData(
        pretty_name=benchmark.title,
        license=licences[0] if len(licences) == 1 else licences,
        language=["en"],
        task_categories=["text-generation"],
        tags=["benchmark", "code-generation", "reproducibility", "language-modelling"],
        size_categories=["n<1K"],
        configs=[
            {
                "config_name": "default",
                "version": benchmark.version,
                "data_files": [{"split": SPLIT, "path": data_files}],
            }
        ],
        dataset_info={
            "description": f"{benchmark.title} {benchmark.version}, content sha256 {sha256}, recordings {recordings}",
            "features": features._to_yaml_list(),
            "splits": [{"name": SPLIT, "num_bytes": num_bytes, "num_examples": len(rows)}],
            "download_size": download_bytes,
            "dataset_size": num_bytes,
        },
        **stamp,
    )
    card = DatasetCard.from_template(
        header,
        template_path=str(cards_folder() / template),
        benchmark=benchmark,
        sha256=sha256,
        recordings=recordings,
        rows=rows,
        categories=sorted(Counter(str(row["category"]) for row in rows).items()),
        papers=len({str(row["paper_url"]) for row in rows}),
        images=sorted({str(row["docker_image"]) for row in rows}),
    )
    return str(card).rstrip() + "\n"


def render_eval_yaml(benchmark: Benchmark) -> str:
    """Render the Hub's benchmark registration."""
    template = (cards_folder() / "eval.yaml").read_text(encoding="utf-8")
    return template.replace("{{ title }}", json.dumps(benchmark.title)).replace("{{ split }}", SPLIT)
