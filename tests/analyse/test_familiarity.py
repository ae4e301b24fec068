"""`lmrbench analyse familiarity`: scores on both sides of a cut-off, and token probabilities from a scripted server."""

import json
import math
import re
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.analyse.familiarity import (
    AFTER,
    BEFORE,
    UNKNOWN,
    cutoff_side,
    measure_probabilities,
    published,
    read_cutoffs,
    split_by_cutoff,
)
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from support.command_line import in_process
from support.openai_server import Reply, Request, Server, completion


class EchoServer(Server):
    """Scores words: `def` is certain, every other word has probability 1/4; the model's own word has 1/100."""

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.script:
            return self.script.pop(0)
        if request.path != "/v1/completions":
            return Reply(body=completion("no"))
        prompt = request.body["prompt"]
        tokens = [*re.findall(r"\s*\S+\s*$|\s*\S+", prompt), " own"]
        values = [None, *(0.0 if token.strip() == "def" else math.log(0.25) for token in tokens[1:-1]), math.log(0.01)]
        logprobs = {"tokens": tokens, "token_logprobs": values, "text_offset": [], "top_logprobs": None}
        choice = {"index": 0, "text": prompt + " own", "logprobs": logprobs, "finish_reason": "length"}
        return Reply(body={"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]})


@pytest.fixture(scope="module")
def rows() -> list[DatasetRow]:
    every = load_rows("embedded")
    dates = {row["instance_id"]: published(row) for row in every}
    assert dates["dpo-preference-loss"] == "2023-05"
    return every[:5]


@pytest.mark.parametrize(
    ("arxiv_id", "date"),
    {"2305.18290": "2023-05", "2305.18290v3": "2023-05", "cs/9901001": "1999-01", "math.GT/0309136": "2003-09"}.items(),
)
def test_arxiv_id_gives_the_month(arxiv_id: str, date: str, rows: list[DatasetRow]) -> None:
    assert published({**rows[0], "arxiv_id": arxiv_id}) == date
    for other in ("", "2313.00001", "10.1145/3"):
        assert published({**rows[0], "arxiv_id": other, "year": 2021}) == "2021"


def test_month_of_the_cutoff_counts_as_before() -> None:
    sides = [cutoff_side(date, "2024-06") for date in ("2024-05", "2024-06", "2024-07", "2023", "2024", "2025")]
    assert sides == [BEFORE, BEFORE, AFTER, BEFORE, UNKNOWN, AFTER]
    assert read_cutoffs(["2024-06", "b=2025-01"], ["a", "b"]) == {"a": "2024-06", "b": "2025-01"}
    for texts in (["2024"], ["2024-13"], ["c=2024-06"], ["a=2024-06"]):
        with pytest.raises(ArgumentError):
            read_cutoffs(texts, ["a", "b"])


def test_scores_are_split_at_the_cutoff(rows: list[DatasetRow], tmp_path: Path) -> None:
    # A malformed answer never reaches a sandbox.
    answers = [{"instance_id": row["instance_id"], "model_name_or_path": "m", "function": "no"} for row in rows]
    run = lmr.evaluate(answers, tmp_path / "run", sandbox="local").path
    scores = split_by_cutoff([run], ["2024-03"])
    every = {row["instance_id"]: published(row) for row in load_rows("embedded")}
    dates = scores.numbers["published"]
    assert dates == {name: every[name] for name in dates}
    counts = scores.records.groupby("side")["instances"].first().to_dict()
    assert counts[BEFORE] == sum(date <= "2024-03" for date in every.values())
    assert counts[AFTER] == sum(date > "2024-03" for date in every.values())
    done = in_process("analyse", "familiarity", "cutoff", str(run), "--cutoff", "2024-03", "--json")
    assert json.loads(done.stdout) == json.loads(json.dumps(scores.numbers))
    done = in_process("analyse", "familiarity", "cutoff", str(run), "--cutoff", "June")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_probability_is_the_mean_over_the_tokens_of_the_goal_file(rows: list[DatasetRow]) -> None:
    with EchoServer() as server:
        result = measure_probabilities(Endpoint(model="m", base_url=server.base_url), rows)
    values = result.records.set_index("instance_id")[["mean_probability", "tokens"]]
    for row in rows:
        words = row["golden_file"].split()[1:]
        value, tokens = values.loc[row["instance_id"]]
        assert tokens == len(words)
        assert value == pytest.approx(sum(1.0 if word == "def" else 0.25 for word in words) / len(words))
    low, high = result.numbers["ci95"]
    assert low <= result.numbers["mean"] <= high


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (Reply(404, {"detail": "Not Found"}), InputError, "does not score texts"),
        (Reply(503, {"error": {"message": "busy"}}), InfraError, "busy"),
        (Reply(body=completion("hello")), InputError, "does not echo prompts"),
    ],
)
def test_server_that_scores_nothing_is_one_line(
    reply: Reply, error: type[Exception], message: str, rows: list[DatasetRow]
) -> None:
    with EchoServer() as server:
        server.script = [reply]
        with pytest.raises(error, match=message) as caught:
            measure_probabilities(Endpoint(model="m", base_url=server.base_url, retries=0), rows)
    assert "\n" not in str(caught.value)
