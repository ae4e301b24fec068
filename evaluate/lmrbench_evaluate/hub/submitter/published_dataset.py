"""Find the tag of the dataset on the Hub that a run was evaluated on: without it nobody can repeat the run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import tags
from lmrbench_data.base.hub_session import hub_errors
from lmrbench_data.loader import LoadError, read_card_stamp
from lmrbench_data.tasks.task import CONFIGS

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class PublishedDataset:
    """A tag of the dataset on the Hub."""

    repo_id: str
    tag: str
    sha: str
    config: str
    """The configuration that the run was on."""


def find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> PublishedDataset:
    """Find the tag of a dataset repository that has a configuration with this content.

    Raises:
        InputError: no tag has it, so nobody can repeat the run; or the repository does not exist.
        LostAnswerError: the Hub does not answer.
    """
    from huggingface_hub import hf_hub_download

    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        with hub_errors(f"{repo_id}@{tag}"):
            card = hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        for config in CONFIGS:
            try:
                stamp = read_card_stamp(Path(card), f"{repo_id}@{tag}", config)
            except LoadError:
                continue
            if stamp["sha256"] == dataset_sha256:
                return PublishedDataset(repo_id, tag, sha, config)
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]}); evaluate on a published version, "
        f"{repo_id}@vX.Y.Z"
    )
