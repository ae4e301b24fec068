"""The relay in the dialects of Codex (responses) and Claude Code (messages): limits, faults, costs, headers."""

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.chat import server as chat_server
from lmrbench_data.chat.budget import Budget, Price, Tokens
from lmrbench_data.chat.server import address_and_key
from support.agents import KEY, ask_relay, open_relay
from support.dialects import CHAT, MESSAGES, NEW, RESPONSES, Asked, stream, without_usage
from support.openai_server import Reply, Server
from support.sandboxes import until

PRICE = Price(input_per_mtok=1000.0, output_per_mtok=1000.0, cached_input_per_mtok=100.0)
SOON = {"Retry-After-Ms": "20"}


@pytest.fixture(params=NEW)
def dialect(request: pytest.FixtureRequest, server: Server) -> Asked:
    chosen = NEW[request.param]
    server.judge = lambda asked: stream(chosen.events(chosen.answer()))
    return chosen


def message_of(answer: Any) -> str:
    return str(json.loads(answer.body)["error"]["message"])


@pytest.mark.parametrize("is_stream", [True, False])
def test_answer_is_passed_on_and_counted(dialect: Asked, server: Server, is_stream: bool) -> None:
    if not is_stream:
        server.judge = lambda asked: Reply(body=dialect.answer())
    relay = open_relay(server.base_url, budget=Budget(10.0, PRICE), max_steps=2)
    answers = [ask_relay(relay, dialect, stream=is_stream) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 403]
    assert answers[0].kind.startswith("text/event-stream") is is_stream
    assert (relay.limit, relay.usage.steps) == ("step_limit", 2)
    assert relay.usage.tokens == Tokens(2000, 100)
    # 1000 tokens sent and 50 received: 600 cached, and of messages 100 that cost twice as much to cache.
    each = 0.3 + 0.06 + 0.2 + 0.05 if dialect is MESSAGES else 0.4 + 0.06 + 0.05
    assert relay.usage.cost_usd == pytest.approx(2 * each)
    relay.check()


def test_cached_and_written_tokens_have_prices() -> None:
    tokens = Tokens(1000, 0, cached=600, written=100)
    assert Price(input_per_mtok=1000.0, output_per_mtok=0.0).cost(tokens) == pytest.approx(1.1)
    priced = Price(input_per_mtok=1000.0, output_per_mtok=0.0, cached_input_per_mtok=100.0, cache_write_per_mtok=1250.0)
    assert priced.cost(tokens) == pytest.approx(0.3 + 0.06 + 0.125)


def test_cost_limit_ends_the_work(dialect: Asked, server: Server) -> None:
    relay = open_relay(server.base_url, budget=Budget(0.6, PRICE))
    assert [ask_relay(relay, dialect).status for _ in range(4)][-1] == 403
    assert relay.limit == "cost_limit"


def test_each_answer_has_the_limit_of_the_run(dialect: Asked, server: Server) -> None:
    relay = open_relay(server.base_url, max_tokens=2000)
    for limit in (500, 10**6):
        assert ask_relay(relay, dialect, **{dialect.limit: limit}).status == 200
    assert ask_relay(relay, dialect, **{dialect.limit: "many"}).status == 400
    assert [request.body[dialect.limit] for request in server.requests] == [500, 2000]


@pytest.mark.parametrize(("limit", "thinking"), [(2000, 1999), (1000, None), (9000, 5000)])
def test_budget_for_thinking_stays_below_the_limit(server: Server, limit: int, thinking: int | None) -> None:
    server.judge = lambda asked: Reply(body=MESSAGES.answer())
    relay = open_relay(server.base_url, max_tokens=limit)
    asked = {"type": "enabled", "budget_tokens": 5000}
    assert ask_relay(relay, MESSAGES, max_tokens=32_000, thinking=asked).status == 200
    sent = server.requests[0].body["thinking"]
    assert sent == ({"type": "enabled", "budget_tokens": thinking} if thinking else {"type": "disabled"})
    assert relay.usage.effort == {"thinking": asked}


@pytest.mark.parametrize("status", [429, 503, 529])
def test_relay_waits_for_a_busy_server(dialect: Asked, server: Server, status: int) -> None:
    server.script = [Reply(status, {"error": {"message": "busy"}}, SOON)] * 3
    relay = open_relay(server.base_url)
    assert ask_relay(relay, dialect).status == 200
    relay.check()
    assert (relay.usage.steps, relay.usage.refused, len(server.requests)) == (1, 3, 4)


def test_clients_of_chat_wait_themselves(server: Server) -> None:
    server.judge = lambda asked: Reply(503, {}, SOON)
    assert ask_relay(open_relay(server.base_url)).status == 503
    assert len(server.requests) == 1


def test_server_that_forbids_another_try_is_not_asked_again(dialect: Asked, server: Server) -> None:
    server.judge = lambda asked: Reply(429, {"error": {"message": "busy"}}, {"x-should-retry": "false"})
    assert ask_relay(open_relay(server.base_url), dialect).status == 429
    assert len(server.requests) == 1


def test_waiting_ends_with_the_time_of_the_agent(dialect: Asked, server: Server) -> None:
    server.judge = lambda asked: Reply(529, {"error": {"message": "overloaded"}}, {"Retry-After": "60"})
    relay = open_relay(server.base_url)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(ask_relay(relay, dialect)))
    thread.start()
    assert until(lambda: server.requests)
    relay.close()
    thread.join(10)
    assert (answers[0].status, message_of(answers[0])) == (403, "time is up")
    with pytest.raises(InfraError, match=r"529: overloaded .1 request without an answer"):
        relay.check()


def test_overflow_is_said_in_the_words_of_the_client(dialect: Asked, server: Server) -> None:
    server.judge = lambda asked: Reply(400, {"error": {"message": "prompt is too long: 3000 tokens > 2000 maximum"}})
    answer = ask_relay(open_relay(server.base_url), dialect)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, "context_length_exceeded")
    assert message_of(answer).startswith("prompt is too long" if dialect is MESSAGES else "This model's maximum")


def test_account_without_credit_ends_the_run(dialect: Asked, server: Server) -> None:
    server.judge = lambda asked: Reply(429, {"error": {"message": "No.", "code": "insufficient_quota"}})
    relay = open_relay(server.base_url)
    assert [ask_relay(relay, dialect).status for _ in range(2)] == [429, 403]
    assert "no credit left" in relay.fatal
    assert len(server.requests) == 2, "the second is the relay's own"
    assert server.requests[1].path == dialect.path


def faults(dialect: Asked) -> dict[str, Reply]:
    """Return answers of unknown cost: the server may have billed them."""
    whole = stream(dialect.events(dialect.answer()))
    return {
        "no usage": without_usage(whole),
        "a cut stream": replace(whole, cut=40),
        "a stream without an end": stream(dialect.events(dialect.answer())[:1]),
        "an error in the stream": stream([*dialect.events(dialect.answer())[:1], ERROR]),
        "silence": replace(whole, delay_s=2.0),
        "a gateway that gives up": Reply(504, {}),
    }


ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": f"Overloaded ({KEY})"}}


@pytest.mark.parametrize("name", faults(RESPONSES))
def test_answer_of_unknown_cost_ends_a_limited_run(name: str, dialect: Asked, server: Server) -> None:
    server.judge = lambda asked: faults(dialect)[name]
    relay = open_relay(server.base_url, budget=Budget(10.0, PRICE), timeout_s=1.0)
    first, second = ask_relay(relay, dialect), ask_relay(relay, dialect)
    assert first.status == (200 if name == "no usage" else 504 if "gateway" in name else 502)
    assert (second.status, relay.limit, relay.usage.cost_usd) == (403, "cost_unknown", None)
    assert len(server.requests) == 1
    assert KEY.encode() not in first.body
    if name != "no usage":
        with pytest.raises(InfraError, match=r"broke off|cut|ended early|no answer within|504"):
            relay.check()


def test_failed_response_is_no_answer(server: Server) -> None:
    failed = {**RESPONSES.answer(), "status": "failed", "error": {"code": "server_error", "message": "it broke"}}
    server.judge = lambda asked: Reply(body=failed)
    relay = open_relay(server.base_url)
    assert ask_relay(relay, RESPONSES).status == 502
    assert relay.usage.tokens == Tokens(1000, 50), "it was billed"
    with pytest.raises(InfraError, match="it broke"):
        relay.check()


# --- what reaches the server ------------------------------------------------------------------------------------------

PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
SHOWN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def test_request_of_codex_is_relayed(server: Server) -> None:
    server.judge = lambda asked: Reply(body=RESPONSES.answer())
    tools = [{"type": "function", "name": "exec_command", "parameters": {}}, {"type": "custom", "name": "apply_patch"}]
    space = {"type": "namespace", "name": "agents", "tools": tools}
    items: list[dict[str, Any]] = [
        {"type": "additional_tools", "role": "developer", "tools": [space]},
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [PICTURE, {"type": "input_text", "text": "y"}]},
    ]
    kept = {"prompt_cache_key": "k", "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "high"}}
    dropped = {"store": True, "service_tier": "priority", "client_metadata": {"a": "b"}, "metadata": {"c": "d"}}
    relay = open_relay(server.base_url)
    assert ask_relay(relay, RESPONSES, input=items, tools=[*tools, space], **kept, **dropped).status == 200
    sent = server.requests[0].body
    assert sent == {"model": relay.model, "input": sent["input"], "tools": [*tools, space], "store": False, **kept}
    text = {"type": "input_text", "text": "[input_image: only text reaches the model]"}
    items[-1]["output"][0] = text
    assert sent["input"] == items
    assert relay.usage.effort == {"reasoning": {"effort": "high"}}
    ask_relay(relay, CHAT, prompt_cache_key="k")
    assert server.requests[1].body["prompt_cache_key"] == "k"


def test_request_of_claude_code_is_relayed(server: Server) -> None:
    server.judge = lambda asked: Reply(body=MESSAGES.answer())
    hour = {"type": "ephemeral", "ttl": "1h"}
    minutes = {"type": "ephemeral"}
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "x.png"}}
    shown = [SHOWN, {"type": "text", "text": "y", "cache_control": hour}]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": shown, "cache_control": hour}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "c2VhbGVk"}, call]},
        {"role": "user", "content": [result]},
    ]
    tool = {"name": "Read", "input_schema": {}, "cache_control": hour}
    system = [{"type": "text", "text": "s", "cache_control": hour}]
    kept = {"output_config": {"effort": "high"}, "context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}
    more = {"tools": [tool], "system": system, **kept}
    relay = open_relay(server.base_url)
    betas = "claude-code-20250219,context-1m-2025-08-07, effort-2025-11-24,fast-mode-2026-02-01,files-api-2025-04-14"
    answer = ask_relay(
        relay, MESSAGES, betas, messages=messages, metadata={"user_id": "me"}, service_tier="auto", **more
    )
    assert answer.status == 200
    [request] = server.requests
    for place in (result, tool, system[0], shown[1]):
        place["cache_control"] = minutes
    shown[0] = {"type": "text", "text": "[image: only text reaches the model]"}
    assert request.body == {"model": relay.model, "messages": messages, **more}
    assert request.headers["anthropic-beta"] == "claude-code-20250219,effort-2025-11-24"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert (request.headers["x-api-key"], request.headers["Authorization"]) == (KEY, f"Bearer {KEY}")


def test_anthropic_gets_its_own_key_in_its_own_header(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    assert address_and_key("https://api.anthropic.com/v1")[1] == "sk-ant"
    for other in ("https://anthropic.com.example.org/v1", "https://notanthropic.com/v1"):
        assert address_and_key(other)[1] == KEY
    monkeypatch.setattr(chat_server, "_is_anthropic", lambda url: True)
    server.judge = lambda asked: Reply(body=MESSAGES.answer())
    server.key = ""
    assert ask_relay(open_relay(server.base_url), MESSAGES).status == 200
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["Authorization"]) == ("sk-ant", None)
    server.judge = lambda asked: Reply(401, {"error": {"message": "invalid x-api-key"}})
    relay = open_relay(server.base_url)
    ask_relay(relay, MESSAGES)
    assert "refuses the key; set ANTHROPIC_API_KEY" in relay.fatal
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="no ANTHROPIC_API_KEY: set it, or name another server"):
        open_relay(server.base_url)
