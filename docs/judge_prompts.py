"""Write the judge's questions, ask no model, and print how long the questions are.

    python docs/judge_prompts.py FOLDER [PREDICTIONS]

writes FOLDER/NUMBER-INSTANCE.md for each answer. PREDICTIONS is anything that `lmrbench evaluate` reads; by default,
the answers are the references of all configurations. A token is taken to have four characters.
"""

import statistics
import sys
from pathlib import Path

from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import config_of
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.judge.material import NotJudgedError
from lmrbench_evaluate.judge.question import build_question, prompt_of
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.predictions.reading import read_predictions


def main(folder: Path, source: str = "gold") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = {row["instance_id"]: row for config in CONFIGS for row in build_rows(load_tasks(config=config))}
    lengths: dict[str, list[int]] = {config: [] for config in CONFIGS}
    for number, item in enumerate(read_predictions(source, rows)):
        try:
            assert isinstance(item, Prediction), str(item)
            row = rows[item.instance_id]
            messages = build_question(row, item).messages
        except (AssertionError, MalformedAnswerError, NotJudgedError) as error:
            print(f"no question: {error}", file=sys.stderr)
            continue
        text = "\n\n".join(f"# {message['role']}\n\n{message['content']}" for message in messages)
        (folder / f"{number:05d}-{item.instance_id}.md").write_text(text + "\n", encoding="utf-8")
        lengths[config_of(row)].append(sum(len(message["content"]) for message in messages))
    for config, found in lengths.items():
        if found:
            sizes = {"median": int(statistics.median(found)), "largest": max(found)}
            shown = ", ".join(f"{name} {size:,} characters ({size // 4:,} tokens)" for name, size in sizes.items())
            print(f"{config} ({prompt_of(config).version}): {len(found)} questions, {shown}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
