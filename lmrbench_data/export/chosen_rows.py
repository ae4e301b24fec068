"""Choose the rows to export, from one configuration or from all."""

from contextlib import suppress

from lmrbench_evaluate.predictions.prediction import check_track

from ..dataset.load import load_rows
from ..dataset.rows import DatasetRow, check_contracts, choose_rows
from ..loader import NoConfigError
from ..tasks.task import CONFIGS
from .settings import ExportSettings


def chosen_rows(settings: ExportSettings) -> list[DatasetRow]:
    """Return the rows that settings name: in their order, or sorted by instance id.

    Raises:
        ArgumentError: an instance or a track is unknown, or an instance has no contract to show.
        LoadError: there is no such dataset or configuration.
    """
    check_track(settings.track)
    if settings.config is not None:
        rows = load_rows(settings.dataset, settings.config)
    else:
        rows = []
        for config in CONFIGS:
            with suppress(NoConfigError):
                rows += load_rows(settings.dataset, config)
    rows = choose_rows(rows, settings.instances)
    check_contracts(rows, settings.track)
    return rows
