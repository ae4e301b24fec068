"""Read the answers in Inspect's logs of our task (`lmrbench_data/lmr_bench`) as prediction rows.

A sample without an answer, such as one that failed, gives no row: `inspect eval-retry` asks for it
again.
"""

import itertools
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.text import error_line, plural
from lmrbench_data.dataset.result_rows import setting_label

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

TASK = "lmr_bench"
_NEEDED = "`pip install 'lmrbench[inspect]'` reads Inspect's logs"
#: What a log holds beside the answers.
_UNREAD = {"messages", "events", "store", "attachments"}
#: Task, sample and epoch.
_SampleKey: TypeAlias = tuple[str, int | str, int]
_log = logging.getLogger(__name__)


class _Sample(NamedTuple):
    """A sample of a log."""

    key: _SampleKey
    place: str
    uuid: str | None
    row: dict[str, Any] | None
    """None if it has no answer."""


def is_log(path: Path) -> bool:
    """Return whether a file is a log."""
    return path.suffix == ".eval" and path.is_file()


def logs_in(folder: Path) -> list[Path]:
    """Return the logs below a folder, the latest first."""
    return sorted(filter(is_log, folder.rglob("*")), key=lambda path: path.name, reverse=True)


def log_rows(paths: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield places and rows; a sample that `inspect eval-retry` copied counts once.

    Raises:
        InputError: inspect-ai is missing, or a log is damaged or of another task.
    """
    seen = set[str]()
    answered = set[_SampleKey]()
    missing = set[_SampleKey]()
    for sample in itertools.chain.from_iterable(map(_samples, paths)):
        if sample.row is None:
            missing.add(sample.key)
        elif sample.uuid is None or sample.uuid not in seen:
            seen.add(sample.uuid or "")
            answered.add(sample.key)
            yield sample.place, sample.row
    _warn_of_missing(len(missing - answered))


def _warn_of_missing(number: int) -> None:
    if number:
        count = plural(number, "sample")
        _log.warning("%s without an answer; `inspect eval-retry` asks again", count)


def _samples(path: Path) -> Iterator[_Sample]:
    try:
        log, samples = _open_log(path)
        for sample in samples:
            yield _sample(path, log, sample)
    except InputError:
        raise
    except Exception as error:  # a damaged log may raise anything
        problem = f"not a log that Inspect can read ({error_line(error)})"
        raise InputError(f"{path}: {problem}") from error


def _sample(path: Path, log: Any, sample: Any) -> _Sample:
    key = (log.eval.task_id, sample.id, sample.epoch)
    place = f"{path} sample {sample.id}, epoch {sample.epoch}"
    is_missing = sample.error or sample.invalidation or is_unanswered(sample.output)
    row = None if is_missing else _row(path, log, sample)
    return _Sample(key, place, sample.uuid, row)


def _open_log(path: Path) -> tuple[Any, Iterable[Any]]:
    """Return the head of a log and its samples, which are read one by one."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise InputError(f"{path}: {_NEEDED}") from None
    log = read_eval_log(str(path), header_only=True)
    task = log.eval.task
    if task.rpartition("/")[2] != TASK:
        raise InputError(f"{path}: is a log of the task {task!r}, not of {TASK}")
    samples = read_eval_log_samples(str(path), all_samples_required=False, exclude_fields=_UNREAD)
    return log, samples


def is_unanswered(output: "ModelOutput") -> bool:
    """Return whether the model wrote nothing; with `model_length` the text is an error message."""
    return not output.choices or (
        output.stop_reason == "model_length" and not (output.usage and output.usage.output_tokens)
    )


def answer_of(output: "ModelOutput") -> dict[str, Any]:
    """Return the answer's keys of a prediction row; `problem` says that a filter refused."""
    if output.stop_reason == "content_filter":
        return {"function": "", "problem": "refused (content_filter)"}
    return {"function": output.completion}


def finish_reason(output: "ModelOutput") -> str:
    """Return how the answer ended, in the words of chat completions."""
    return "length" if output.stop_reason in ("max_tokens", "model_length") else output.stop_reason


def _row(path: Path, log: Any, sample: Any) -> dict[str, Any]:
    arguments = log.eval.task_args
    temperature = log.eval.model_generate_config.temperature
    setting = setting_label(
        arguments.get("setting", "standard"),
        arguments.get("paper", "text"),
        arguments.get("paper_pages", ""),
        temperature,
    )
    names = [step.solver.rpartition("/")[2] for step in log.plan.steps if step.solver != "generate"]
    hashes = ("row_sha256", "prompt_sha256")
    metadata = {
        **{name: sample.metadata[name] for name in hashes if name in sample.metadata},
        "prompt_version": (log.eval.metadata or {}).get("prompt_version"),
        "temperature": temperature,
        "finish_reason": finish_reason(sample.output),
        **_usage(sample.output.usage),
        "duration_s": sample.output.time,
        "answered_at": sample.completed_at,
        "inspect_log": path.name,
    }
    return {
        "instance_id": str(sample.id),
        "model_name_or_path": log.eval.model,
        "setting": ", ".join([setting, *names]),
        "track": arguments.get("track", "paper"),
        "sample": sample.epoch - 1,
        **answer_of(sample.output),
        "metadata": metadata,
    }


def _usage(usage: Any) -> dict[str, Any]:
    """Return the tokens and costs of an answer; None for all if the log has none."""
    if not usage:
        return dict.fromkeys(("input_tokens", "output_tokens", "cost_usd"))
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    read = usage.input_tokens + cached
    written = max(usage.output_tokens, usage.total_tokens - read)
    return {"input_tokens": read, "output_tokens": written, "cost_usd": usage.total_cost}
