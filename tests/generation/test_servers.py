"""Servers unlike OpenAI's: errors inside a reply, no system role, lists of parts, Azure, proxies, long pauses."""

import email.utils
import shutil
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lmrbench.generation.agents.relay import RunEndedError
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.chat.client import ChatClient, Completion, RequestError
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.jobs import run_to_end
from support.agents import ask_relay, open_relay
from support.openai_server import Reply, Request, Server, completion

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]


@pytest.fixture
def server(model_server: Server) -> Server:
    model_server.judge = lambda request: "Because."
    return model_server


def ask(base_url: str, **more: Any) -> Completion:
    """Ask twice over one connection; return the second answer."""
    answers: list[Completion] = []

    async def talk() -> None:
        async with ChatClient(Endpoint(model="m", base_url=base_url, **more), temperature=0.5) as client:
            for _ in range(2):
                answers.append(await client.complete(QUESTION))

    run_to_end(talk())
    return answers[1]


def test_error_inside_a_reply_is_retried_and_never_an_answer(server: Server) -> None:
    failed = completion("", finish_reason="error")
    failed["choices"][0]["error"] = {"code": 502, "message": "upstream provider ended the stream"}
    server.script = [Reply(body=failed), Reply(body=completion("", finish_reason="error"))]
    assert ask(server.base_url).text == "Because."
    assert len(server.requests) == 4
    server.judge = lambda request: Reply(body=failed)
    with pytest.raises(RequestError, match="upstream provider ended the stream"):
        ask(server.base_url, retries=0)


ROLE = [
    (400, {"error": {"message": "System role not supported"}}),
    (500, {"error": {"message": "System role not supported"}}),
    (
        400,
        {
            "error": {
                "message": "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                "param": "messages[0].role",
                "code": "unsupported_value",
            }
        },
    ),
    (422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}]}),
]


@pytest.mark.parametrize(("status", "body"), ROLE)
def test_refused_system_role_moves_its_text_to_the_user(status: int, body: Any, server: Server) -> None:
    def refuse(request: Request) -> str | Reply:
        is_refused = request.body["messages"][0]["role"] == "system"
        return Reply(status, body) if is_refused else "Because."

    server.judge = refuse
    answer = ask(server.base_url)
    assert (answer.text, answer.has_system_role, answer.temperature) == ("Because.", False, 0.5)
    assert server.requests[-1].body["messages"] == [{"role": "user", "content": "Be brief.\n\nWhy?"}]
    assert len(server.requests) == 3, "refused once, and not retried"


def test_answer_that_breaks_off_is_asked_for_again_and_may_be_billed(server: Server) -> None:
    server.script = [Reply(body=completion("Because."), cut=9)]
    assert ask(server.base_url).text == "Because."
    server.judge = lambda request: Reply(body=completion("Because."), cut=9)
    with pytest.raises(RequestError, match=r"^the connection broke before the answer ended$") as broken:
        ask(server.base_url, retries=1)
    assert broken.value.is_billed
    with pytest.raises(InputError, match=r"^https://127\.0\.0\.1:\d+/v1 does not speak https; try http$"):
        ask(server.base_url.replace("http:", "https:"))


def test_content_in_parts_is_joined_to_text(server: Server) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Because"}]
    server.judge = lambda request: Reply(body=completion([*parts, {"type": "text", "text": "."}]))  # type: ignore[arg-type]
    assert ask(server.base_url).text == "Because."


def test_query_of_the_address_is_part_of_each_request(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    server.script = [Reply(body=completion("Because."))] * 2
    ask(f"{server.endpoint}/openai/deployments/d?api-version=2024-10-21")
    assert server.requests[0].path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert server.requests[0].headers["api-key"] == "k"


def test_proxy_is_not_used_for_this_machine_and_one_line_elsewhere(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scheme in ("socks5", "unknown"):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:1")
        assert ask(server.base_url).text == "Because."
        with pytest.raises(InputError, match=r"the proxy of the environment .* cannot be used: "):
            ask("https://example.org/v1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with pytest.raises(InfraError, match=r"no server answers at https://example\.org/v1"):
        ask("https://example.org/v1", retries=0)


@pytest.fixture
def private_server(tmp_path: Path, server: Server) -> str:
    """Serve over TLS, with a certificate of an authority that only `ca.pem` in the folder names."""
    extensions = tmp_path / "extensions"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    new_key = ["-newkey", "rsa:2048", "-nodes", "-keyout"]
    authority = ["-x509", *new_key, "ca.key", "-out", "ca.pem", "-subj", "/CN=Example", "-days", "9"]
    signed = ["-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9"]
    for line in (
        ["req", *authority, "-addext", "basicConstraints=critical,CA:TRUE"],
        ["req", *new_key, "s.key", "-out", "s.csr", "-subj", "/CN=localhost"],
        ["x509", *signed, "-extfile", "extensions", "-out", "s.pem"],
    ):
        subprocess.run(["openssl", *line], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "s.pem", tmp_path / "s.key")
    server.encrypt(context)
    return server.base_url


def test_certificates_of_the_environment_count_on_this_machine_too(
    private_server: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    untrusted = "^the certificate of https://127.0.0.1.* is not trusted .*SSL_CERT_FILE or SSL_CERT_DIR$"
    started = time.monotonic()
    with pytest.raises(InputError, match=untrusted):
        ask(private_server)
    relay = open_relay(private_server)
    ask_relay(relay)
    with pytest.raises(RunEndedError, match=untrusted):
        relay.check()
    assert time.monotonic() - started < 5, "it is not asked again"
    assert not server.requests
    for name, value in {"SSL_CERT_FILE": "ca.pem", "SSL_CERT_DIR": "certificates"}.items():
        monkeypatch.setenv(name, str(tmp_path / "none"))
        with pytest.raises(InputError, match="SSL_CERT_FILE"):
            ask(private_server)
        monkeypatch.setenv(name, str(tmp_path / value))
        (tmp_path / "certificates").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "ca.pem", tmp_path / "certificates")
        subprocess.run(["openssl", "rehash", tmp_path / "certificates"], check=True)
        assert ask(private_server).text == "Because."
        monkeypatch.delenv(name)


def test_pause_as_a_date_is_obeyed_and_one_over_two_minutes_is_not_waited_for(server: Server) -> None:
    date = email.utils.formatdate(time.time() + 3, usegmt=True)
    server.script = [Reply(429, {}, {"Retry-After": date})]
    ask(server.base_url)
    assert server.requests[1].at - server.requests[0].at > 1
    server.judge = lambda request: Reply(429, {"error": {"message": "come back tomorrow"}}, {"Retry-After": "80000"})
    with pytest.raises(RequestError, match="HTTP 429: come back tomorrow"):
        ask(server.base_url)
    assert len(server.requests) == 4
