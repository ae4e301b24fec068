"""Read the answers in Inspect's logs of our task (`lmrbench_data/lmr_bench`) as prediction rows.

A sample without an answer, such as one that failed, gives no row: `inspect eval-retry` asks for it again.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.text import error_line, plural
from lmrbench_data.dataset.result_rows import setting_label

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

TASK = "lmr_bench"
_NEEDED = "`pip install 'lmrbench[inspect]'` reads Inspect's logs"
#: What a log holds beside the answers.
_UNREAD = {"messages", "events", "store", "attachments"}
_log = logging.getLogger(__name__)


def is_log(path: Path) -> bool:
    """Return whether a file is a log."""
    return path.suffix == ".eval" and path.is_file()


def logs_in(folder: Path) -> list[Path]:
    """Return the logs below a folder, the latest first."""
    return sorted(filter(is_log, folder.rglob("*")), key=lambda path: path.name, reverse=True)


def log_rows(paths: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield places and rows; a sample that `inspect eval-retry` took over from an earlier log counts once.

    Raises:
        InputError: inspect-ai is missing, or a log is damaged or of another task.
    """
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise InputError(f"{paths[0]}: {_NEEDED}") from None
    seen, answered, missing = set[str | None](), set[tuple[Any, ...]](), set[tuple[Any, ...]]()
    for path in paths:
        try:
            log = read_eval_log(str(path), header_only=True)
            if log.eval.task.rpartition("/")[2] != TASK:
                raise InputError(f"{path}: is a log of the task {log.eval.task!r}, not of {TASK}")
            for sample in read_eval_log_samples(
                str(path), all_samples_required=False, exclude_fields=_UNREAD
            ):
                key = log.eval.task_id, sample.id, sample.epoch
                if sample.error or sample.invalidation or is_unanswered(sample.output):
                    missing.add(key)
                elif sample.uuid is None or sample.uuid not in seen:
                    seen.add(sample.uuid)
                    answered.add(key)
                    yield (
                        f"{path} sample {sample.id}, epoch {sample.epoch}",
                        _row(path, log, sample),
                    )
        except InputError:
            raise
        except Exception as error:  # a damaged log may raise anything
            raise InputError(
                f"{path}: not a log that Inspect can read ({error_line(error)})"
            ) from error
    if missing - answered:
        _log.warning(
            "%s without an answer; `inspect eval-retry` asks again",
            plural(len(missing - answered), "sample"),
        )


def is_unanswered(output: "ModelOutput") -> bool:
    """Return whether the model wrote nothing; the text of `model_length` is then the provider's error."""
    return not output.choices or (
        output.stop_reason == "model_length" and not (output.usage and output.usage.output_tokens)
    )


def answer_of(output: "ModelOutput") -> dict[str, Any]:
    """Return the answer's keys of a prediction row: `function`, and as `problem` that a filter refused it."""
    if output.stop_reason == "content_filter":
        return {"function": "", "problem": "refused (content_filter)"}
    return {"function": output.completion}


def finish_reason(output: "ModelOutput") -> str:
    """Return how the answer ended, in the words of chat completions."""
    return "length" if output.stop_reason in ("max_tokens", "model_length") else output.stop_reason


def _row(path: Path, log: Any, sample: Any) -> dict[str, Any]:
    args, output, usage = log.eval.task_args, sample.output, sample.output.usage
    temperature = log.eval.model_generate_config.temperature
    paper, pages = args.get("paper", "text"), args.get("paper_pages", "")
    label = setting_label(args.get("setting", "standard"), paper, pages, temperature)
    solvers = [
        step.solver.rpartition("/")[2] for step in log.plan.steps if step.solver != "generate"
    ]
    read = usage and usage.input_tokens + (usage.input_tokens_cache_read or 0) + (
        usage.input_tokens_cache_write or 0
    )
    facts = {
        **{
            name: sample.metadata[name]
            for name in ("row_sha256", "prompt_sha256")
            if name in sample.metadata
        },
        "prompt_version": (log.eval.metadata or {}).get("prompt_version"),
        "temperature": temperature,
        "finish_reason": finish_reason(output),
        "input_tokens": read,
        "output_tokens": usage and max(usage.output_tokens, usage.total_tokens - read),
        "cost_usd": usage and usage.total_cost,
        "duration_s": output.time,
        "answered_at": sample.completed_at,
        "inspect_log": path.name,
    }
    return {
        "instance_id": str(sample.id),
        "model_name_or_path": log.eval.model,
        "setting": ", ".join([label, *solvers]),
        "track": args.get("track", "paper"),
        "sample": sample.epoch - 1,
        **answer_of(output),
        "metadata": facts,
    }
