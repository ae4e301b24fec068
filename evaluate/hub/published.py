"""Find the tag of the dataset on the Hub that a run was evaluated on: without one nobody could repeat it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...hub import hub_errors, tags
from ...loader import LoadError, read_card_stamp

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class PublishedDataset:
    """A tag of the dataset on the Hub."""

    repo_id: str
    tag: str
    sha: str


def find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> PublishedDataset:
    """The tag of a dataset repository that has this content.

    Raises:
        InputError: none has, so that nobody could repeat the run; or there is no such repository.
        LostAnswer: the Hub does not answer.
    """
    from huggingface_hub import hf_hub_download

    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        with hub_errors(f"{repo_id}@{tag}"):
            card = hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        try:
            stamp = read_card_stamp(Path(card), f"{repo_id}@{tag}")
        except LoadError:
            continue
        if stamp["sha256"] == dataset_sha256:
            return PublishedDataset(repo_id, tag, sha)
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]}); evaluate on a published version, "
        f"{repo_id}@vX.Y.Z"
    )
