"""A scripted judge, and the working folder of a user of `lmrbench judge`."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lmrbench_evaluate.judge.asking import JudgeSummary
from lmrbench_evaluate.judge.judgement_log import read_judgements
from lmrbench_evaluate.judge.judging import judge
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.runs.settings import JudgeSettings
from support.command_line import Done, in_process
from support.openai_server import Request, Server, opinion
from support.toy import json_lines

SUBTLE = "def scale(values, factor):\n    return [value * factor for value in values] or None\n"


def verdict(request: Request) -> str:
    """Return the scripted verdict on the candidate's function."""
    if "value + factor" in candidate(request.user):
        return opinion("LI")
    return opinion("LC" if "or None" in candidate(request.user) else "CC")


def candidate(user: str) -> str:
    """Return the block of the candidate's function in a prompt."""
    [block] = re.findall(
        r"===== BEGIN CANDIDATE FUNCTION (\w{16}) =====\n(.*?)\n===== END CANDIDATE FUNCTION \1", user, re.S
    )
    return str(block[1])


class Judging:
    """A user's working folder with an evaluated run."""

    def __init__(self, folder: Path, dataset: Path, server: Server, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.dataset, self.server, self.patch = folder, dataset, server, patch
        self.run = folder / "run"
        self.file = self.run / "judgements.jsonl"
        self.place = ("--dataset", str(dataset), "--sandbox", "local", "--out", "run")
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            patch.delenv(name)
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("LMRBENCH_CACHE", str(folder / "cache"))

    def evaluate(self, *answers: str | tuple[str, str]) -> "Judging":
        """Write the answers of models a, b, ... and evaluate them; an answer may name its form."""
        rows = []
        for number, answer in enumerate(answers):
            form, content = answer if isinstance(answer, tuple) else ("function", answer)
            names = {"instance_id": "toy-scale", "model_name_or_path": chr(ord("a") + number)}
            rows.append(json.dumps({**names, form: content}) + "\n")
        (self.folder / "predictions.jsonl").write_text("".join(rows))
        kept = self.dataset.parent / hashlib.sha256("".join(rows).encode()).hexdigest()
        if not kept.exists():  # the same answers are evaluated once for all tests
            done = in_process("evaluate", "predictions.jsonl", *self.place)
            assert done.returncode == 0, done.stderr
            shutil.copytree(self.run, kept)
        shutil.copytree(kept, self.run, dirs_exist_ok=True)
        return self

    def judge(self, *options: str) -> Done:
        return in_process("judge", "run", "--model", "judge-1", "--retries", "1", *options)

    def here(self, **options: Any) -> JudgeSummary:
        """Judge in this process."""
        endpoint = {"model": "judge-1", "base_url": self.server.base_url, "retries": 2, **options.pop("endpoint", {})}
        return judge(JudgeSettings(run=self.run, **endpoint, **options))

    def rows(self) -> list[dict[str, Any]]:
        return json_lines(self.file)

    def categories(self) -> dict[str, str | None]:
        """Return the category of each model, as the public function gives it."""
        found = read_judgements(self.run)
        rows = json_lines(self.run / "results.jsonl")
        answers = {row["model_name_or_path"]: AnswerKey.of(row).question for row in rows}
        return {name: found[answer].category for name, answer in answers.items() if answer in found}
