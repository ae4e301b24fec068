"""Settings of exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.settings import Settings, copied, setting
from ..chat.endpoint import JobSettings
from ..generation.settings import PromptSettings

#: Network of exported environments.
NETWORKS = NO_NETWORK, PUBLIC = "none", "public"


@dataclass(frozen=True, kw_only=True)
class ExportSettings(Settings):
    """Settings of every export."""

    out: Path = setting(help="Folder to write.", argument=True, metavar="DIR")
    config: str | None = setting(None, "Configuration of the dataset (default: all that it has).")
    instances: Sequence[str] = copied(JobSettings, "instances")
    track: str = copied(PromptSettings, "track")
    dataset: str = copied(PromptSettings, "dataset")


@dataclass(frozen=True, kw_only=True)
class HarborSettings(ExportSettings):
    """Settings of an export for Harbor."""

    network: str = setting(
        NO_NETWORK,
        "Network in the containers: none (a run may open single hosts), or public.",
        choices=NETWORKS,
    )
