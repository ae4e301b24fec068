"""Settings of an export for Harbor."""

from pathlib import Path
from typing import Literal

from lmrbench_data.base.settings import Settings, option
from lmrbench_data.chat.endpoint import Instances
from lmrbench_evaluate.runs.settings import Dataset

from ..generation.settings import Track


class HarborSettings(Settings):
    """Settings of an export for Harbor."""

    out: Path = option(help="Folder to write, new or empty.", argument=True, metavar="DIR")
    config: str | None = option(None, "Configuration of the dataset (default: all that it has).")
    instances: Instances = ()
    track: Track = "paper"
    dataset: Dataset = "embedded"
    network: Literal["none", "public"] = option(
        "none", "Network in the containers: none (a run may open single hosts), or public."
    )
