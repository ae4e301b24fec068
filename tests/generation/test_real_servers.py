"""Real servers of models: Transformers, LiteLLM's proxy and llama.cpp serve a random Llama (`make test-servers`)."""

import contextlib
import json
import os
import socket
import subprocess
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lmrbench_data as lmr
from support import tiny_model
from support.openai_server import opinion

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

ENVIRONMENT = Path(os.environ.get("LMRBENCH_TEST_SERVERS", "")).absolute()
KEY = "sk-the-right-one"
INSTANCE = "empathy-gap-delta"
ANSWER = "def get_delta(matrix, group_option):\n    return 0.0\n"
LIMIT = 40
#: Asks once and keeps the reply in the repository; a refusal ends it.
AGENT = """
    import json, os, pathlib, urllib.request

    body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": "Why?"}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    reply = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    pathlib.Path("repo/reply.txt").write_text(ascii(reply) + "\\n")
"""


class Place(NamedTuple):
    """A server and the model that it has."""

    base_url: str
    model: str


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@contextlib.contextmanager
def _serving(folder: Path, port: int, *command: object) -> Iterator[None]:
    """Run a server until it lists its models, and to the end of the context."""
    url = f"http://127.0.0.1:{port}/v1/models"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(300):
            assert process.poll() is None, (folder / f"{port}.log").read_text(errors="replace")[-2000:]
            with contextlib.suppress(OSError):
                urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})).close()
                break
            time.sleep(1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """The servers, by name; LiteLLM sends `tiny` on to Transformers, and answers `code` and `opinion` itself."""
    folder, programs = tmp_path_factory.mktemp("servers"), ENVIRONMENT / "bin"
    subprocess.run([programs / "python", tiny_model.__file__, folder], check=True, capture_output=True)
    ports = {name: _free_port() for name in ("transformers", "llama.cpp", "litellm")}
    urls = {name: f"http://127.0.0.1:{port}/v1" for name, port in ports.items()}
    tiny = str(folder / "tiny")
    models = {
        "tiny": {"model": f"openai/{tiny}", "api_base": urls["transformers"]},
        "code": {"model": "openai/code", "mock_response": ANSWER},
        "opinion": {"model": "openai/opinion", "mock_response": opinion("LC")},
    }
    settings = {
        "model_list": [
            {"model_name": name, "litellm_params": {"api_key": "x", **facts}} for name, facts in models.items()
        ],
        "general_settings": {"master_key": KEY},
    }
    (folder / "lite.yaml").write_text(json.dumps(settings))
    here = ("--host", "127.0.0.1", "--port")
    with (
        _serving(folder, port := ports["transformers"], programs / "transformers", "serve", tiny, *here, port),
        _serving(folder, port := ports["llama.cpp"], programs / "python", tiny_model.__file__, folder, port, KEY),
        _serving(folder, port := ports["litellm"], programs / "litellm", "--config", "lite.yaml", *here, port),
    ):
        yield {name: Place(url, tiny if name == "transformers" else "tiny") for name, url in urls.items()}


@pytest.fixture(params=["transformers", "litellm", "llama.cpp"])
def place(request: pytest.FixtureRequest, places: dict[str, Place], monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return places[request.param]


def generate(place: Place, out: Path, **settings: Any) -> dict[str, Any]:
    """Ask for one answer; return its row."""
    settings = {"base_url": place.base_url, "instances": [INSTANCE], "max_tokens": LIMIT, "retries": 0, **settings}
    summary = lmr.generate(settings.pop("model", place.model), out / "rows.jsonl", **settings)
    assert summary.complete, summary
    [row] = map(json.loads, (out / "rows.jsonl").read_text().splitlines())
    return dict(row)


def test_answer_is_limited_and_prompt_that_is_too_long_is_cut(
    place: Place, places: dict[str, Place], tmp_path: Path
) -> None:
    """llama.cpp refuses what does not fit, so the paper is cut; Transformers reads on behind its context."""
    facts = generate(place, tmp_path)["metadata"]
    assert 0 < facts["output_tokens"] <= LIMIT
    assert facts["finish_reason"] == ("length" if facts["output_tokens"] == LIMIT else "stop")
    if place is places["llama.cpp"]:
        assert facts["cut"]
        assert facts["input_tokens"] < tiny_model.CONTEXT
    else:
        assert not facts["cut"]
        assert facts["input_tokens"] > tiny_model.CONTEXT


def test_wrong_model_ends_at_the_first_request(place: Place, places: dict[str, Place], tmp_path: Path) -> None:
    """llama.cpp answers to any name."""
    if place is places["llama.cpp"]:
        generate(place, tmp_path, model="other")
    else:
        with pytest.raises(lmr.InputError, match=r"refuses the model 'other' or the key .*HTTP 400") as caught:
            generate(place, tmp_path, model="other")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "rows.jsonl").exists()


def test_wrong_key_ends_at_the_first_request(
    place: Place, places: dict[str, Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transformers takes any."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-wrong-one")
    if place is places["transformers"]:
        generate(place, tmp_path)
    else:
        with pytest.raises(lmr.InputError, match=r"the server .* refuses .*key.*HTTP 40[01]") as caught:
            generate(place, tmp_path)
        assert "wrong-one" not in str(caught.value)


def test_judge_and_its_failures_on_real_servers(place: Place, places: dict[str, Place], tmp_path: Path) -> None:
    row = {"instance_id": INSTANCE, "model_name_or_path": "m", "track": "paper", "function": ANSWER}
    run = lmr.evaluate([row], tmp_path / "run", instances=[INSTANCE], sandbox="local")

    def judge(model: str, **settings: Any) -> Any:
        return lmr.judge(run, model, base_url=place.base_url, retries=0, **settings).judging

    failed = judge(place.model, max_tokens=LIMIT)
    reason = "exceeds the available context size" if place is places["llama.cpp"] else "no readable answer: it was cut"
    assert (failed.errors, failed.complete, reason in failed.first_error) == (1, False, True), failed
    if place is places["litellm"]:
        assert judge("opinion").complete
        assert run.to_pandas()["judge"].tolist() == ["LC"]
    if place is not places["llama.cpp"]:
        with pytest.raises(lmr.InputError, match="refuses the model 'other'"):
            judge("other")


@pytest.mark.docker
def test_agent_reaches_real_servers_through_the_relay(
    place: Place, places: dict[str, Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "agent.py").write_text(textwrap.dedent(AGENT))

    def run(out: str, model: str = place.model) -> Any:
        settings = {"base_url": place.base_url, "agent_files": files, "instances": [INSTANCE], "max_tokens": LIMIT}
        return lmr.run_agent("python agent.py", model, tmp_path / out, **settings)

    assert run("good").complete
    [row] = map(json.loads, (tmp_path / "good" / "predictions.jsonl").read_text().splitlines())
    assert "reply.txt" in row["model_patch"]
    assert (row["metadata"]["steps"], row["metadata"]["exit_status"]) == (1, "exit 0")
    assert 0 < row["metadata"]["output_tokens"] <= LIMIT
    if place is not places["llama.cpp"]:
        other = run("other", "other")
        assert (other.done, "refuses the model 'other'" in other.stopped) == (0, True), other
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-wrong-one")
    if place is not places["transformers"]:
        wrong = run("wrong")
        assert (wrong.done, "key" in wrong.stopped, "wrong-one" in wrong.stopped) == (0, True, False), wrong
