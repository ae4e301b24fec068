"""Refusals of servers, in the words of many of them: each has one cause, and the cause decides what happens."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LMRBenchError
from lmrbench_data.chat.refusals import CODES, WORDS, Cause, Refusal
from lmrbench_data.dataset.rows import DatasetRow
from support.openai_server import Reply, Request, Server, completion
from support.toy import TOY_ANSWER, json_lines, write_toys


@pytest.fixture
def server(model_server: Server) -> Server:
    model_server.judge = lambda request: TOY_ANSWER
    return model_server


@pytest.fixture
def options(server: Server, toy_row: DatasetRow, tmp_path: Path) -> dict[str, Any]:
    """A model, a file and two instances that are the toy task under other names."""
    files = {"out": tmp_path / "p.jsonl", "dataset": str(write_toys(tmp_path / "toy", toy_row, "toy-a", "toy-b"))}
    return {"model": "m", "base_url": server.base_url, "workers": 1, **files}


def rows_of(options: dict[str, Any]) -> list[dict[str, Any]]:
    return json_lines(options["out"])


def error(message: str, status: int = 400, **fields: Any) -> Reply:
    return Reply(status, {"error": {"message": message, **fields}})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the logged warnings, without the line on the number of requests."""
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def refuse(server: Server, reply: Reply, word: str = "", first: int = 0) -> None:
    """Refuse prompts with a word in them, and all requests before the one of this number."""

    def judge(request: Request) -> str | Reply:
        is_refused = len(server.requests) <= first if first else word in request.user
        return reply if is_refused else TOY_ANSWER

    server.judge = judge


def signs(table: Mapping[Cause, Mapping[str, str]]) -> list[tuple[Cause, str, str]]:
    return [(cause, *sign) for cause, patterns in table.items() for sign in patterns.items()]


@pytest.mark.parametrize(("where", "table"), [("codes", CODES), ("text", WORDS)])
def test_each_pattern_is_the_first_that_matches_its_example(where: str, table: Any) -> None:
    for cause, pattern, example in signs(table):
        matches = [other for _, other, _ in signs(table) if re.search(other, example)]
        assert matches[0] == pattern
        assert Refusal(**{"message": "", "codes": "", "text": "", where: example}).cause() is cause


LENGTH = [
    error("Bad request.", code="context_length_exceeded"),
    error("Fehler", type="exceed_context_size_error", n_ctx=6144),
    error("Provider returned error", metadata={"raw": '{"message":"prompt is too long: 208310 tokens > 200000"}'}),
    error("Input tokens exceed the configured limit of 6000 tokens. Please reduce the length of the messages."),
    error("The input token count (11800) exceeds the maximum number of tokens allowed (6000)."),
    error("`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` and 512 `max_new_tokens`", 422),
    error("'max_tokens' is too large: 900. This model's maximum context length is 6,000, your request has 5,436",
          param="max_tokens"),
    error("input length and `max_tokens` exceed context limit: 188240 + 900 > 188500", type="invalid_request_error"),
    error("Range of input length should be [1, 30720]", code="invalid_parameter_error"),
    error("Prompt contains 65673 tokens, too large for model with 32768 maximum context length"),
    error("Invalid request: Your request exceeded model token limit: 8192", type="invalid_request_error"),
    error("Requested tokens (5940) exceed context window of 5120", 500),
    error("Prompt 超长", code="1261"),
    Reply(413, b"<html>Request Entity Too Large"),
    Reply(400, {"object": "error", "message": "Input is too long for requested model.", "code": 400}),
]  # fmt: skip


#: The same inside a reply that says 200, except those that only the status tells.
LENGTH += [Reply(body=reply.body) for reply in LENGTH[:-2]]


@pytest.mark.parametrize("reply", LENGTH, ids=range(len(LENGTH)))
def test_prompt_that_is_too_long_is_cut(reply: Reply, server: Server, options: dict[str, Any]) -> None:
    refuse(server, reply, "OFFSET = 0.0")
    options |= {"instances": ["toy-a"], "max_tokens": 900}
    done = lmr.generate(**options, samples=3)
    assert done.complete, done.first_error
    assert [row["metadata"]["cut"] for row in rows_of(options)] == [["file helpers.py"]] * 3
    assert [request.body["max_completion_tokens"] for request in server.requests] == [900] * 4, "it is cut once"
    server.judge = lambda request: reply
    options["out"] = options["out"].with_name("q.jsonl")
    hopeless = lmr.generate(**options)
    assert (hopeless.complete, hopeless.errors, rows_of(options)) == (False, 1, [])


LIMIT = [
    error("max_completion_tokens is too large: 9000. This model supports at most 512 completion tokens."),
    error(
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens", type="invalid_request_error"
    ),
    error("Range of max_tokens should be [1, 8192]", code="invalid_parameter_error"),
    error("`max_tokens` must be less than or equal to `8192`, the maximum value is less than the `context_window`"),
    error("This model's maximum context length is 4,096 tokens, your request has 300 (9000 > 4096 - 300): max_tokens"),
    error("maxOutputTokens is 9000 but the supported range is from 1 (inclusive) to 8193 (exclusive)."),
]


@pytest.mark.parametrize("reply", LIMIT, ids=range(len(LIMIT)))
def test_limit_that_is_too_large_is_one_line_and_never_dropped(
    reply: Reply, server: Server, options: dict[str, Any]
) -> None:
    server.judge = lambda request: reply
    with pytest.raises(ArgumentError, match=r"^max_tokens: the server .* does not take 9000: HTTP 400: "):
        lmr.generate(**options, max_tokens=9000)
    assert len(server.requests) == 1
    server.judge = lambda request: error("Unsupported parameter", param=set(request.body).intersection(NAMES).pop())
    assert "Unsupported" in lmr.generate(**options, instances=["toy-a"], max_tokens=9000, retries=0).first_error
    assert [NAMES & request.body.keys() for request in server.requests[1:]] == [{name} for name in sorted(NAMES)]


NAMES = {"max_completion_tokens", "max_tokens"}
CREDIT = [
    error("Your credit balance is too low to access the API. Go to Plans & Billing.", type="invalid_request_error"),
    error("Access denied, please make sure your account is in good standing.", code="Arrearage"),
    error("Budget has been exceeded! Current cost: 0.1, max budget: 0.05", type="budget_exceeded"),
    error("Sorry", code="insufficient_balance"),
    error("Your newly created team doesn't have any credits yet.", 403),
    error("You exceeded your current quota, please check your plan", 429, code="insufficient_quota"),
]


@pytest.mark.parametrize("reply", CREDIT, ids=range(len(CREDIT)))
def test_credit_that_ends_ends_the_run(reply: Reply, server: Server, options: dict[str, Any]) -> None:
    server.judge = lambda request: TOY_ANSWER if len(server.requests) == 1 else reply
    with pytest.raises(InfraError, match="the account has no credit left: HTTP 4"):
        lmr.generate(**options, samples=4)
    assert (len(rows_of(options)), len(server.requests)) == (1, 2)


ACCESS = [
    error("Server is pinned to org/model"),
    error("/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view available models."),
    error("No connected db.", type="no_db_connection", code="400"),
    error("The model `m` does not exist", code="model_not_found"),
    error("Model 'm' not found, try pulling it first"),
    error("No models loaded. Please load a model."),
    error("API key not valid. Please pass a valid API key.", reason="INVALID_ARGUMENT"),
    error("The access token is no longer valid"),
    Reply(400, {"error_code": 110, "error_msg": "Access token invalid or no longer valid"}),
    Reply(422, {"detail": [{"loc": ["body", "model"], "msg": "unknown model", "input": "temperature"}]}),
]


@pytest.mark.parametrize("reply", ACCESS, ids=range(len(ACCESS)))
def test_wrong_model_or_key_ends_the_run_at_the_first_request(
    reply: Reply, server: Server, options: dict[str, Any]
) -> None:
    server.judge = lambda request: reply
    with pytest.raises(InputError, match="refuses the model 'm' or the key in OPENAI_API_KEY: HTTP 4"):
        lmr.generate(**options, temperature=0.5)
    assert len(server.requests) == 1


FILTER = [
    error("The prompt triggered the content management policy.", code="content_filter"),
    error("Invalid prompt: please try again with another prompt.", code="invalid_prompt", type="invalid_request_error"),
    error("Input data may contain inappropriate content.", code="data_inspection_failed"),
    error("Your request was rejected as a result of our safety system."),
    error("x requires moderation and your input was flagged", 403, metadata={"reasons": ["violence"]}),
]


@pytest.mark.parametrize("reply", FILTER, ids=range(len(FILTER)))
def test_filtered_prompt_is_a_row_if_others_are_answered(reply: Reply, server: Server, options: dict[str, Any]) -> None:
    """The first request is refused, before the server is known to answer any."""
    refuse(server, reply, first=1)
    assert lmr.generate(**options).complete
    refuse(server, reply, first=99)
    everything = lmr.generate(**{**options, "out": options["out"].with_name("q.jsonl")})
    assert (everything.errors, everything.asked) == (2, 0)
    options["samples"] = 2
    done = lmr.generate(**options, temperature=None)
    assert (done.complete, done.unusable, done.asked) == (True, 2, 2)
    facts = rows_of(options)[-1]["metadata"]
    assert facts["problem"].startswith("refused (content_filter): ")
    assert (facts["finish_reason"], facts["output_tokens"]) == ("content_filter", 0)
    assert lmr.generate(**options).kept == 4


PASSING = [
    error("Provider returned error"),
    error("We could not parse the JSON body of your request."),
    error(""),
    error(
        "Invalid 'stop': array too long. Expected an array with maximum length 4, but got one with length 5.",
        code="array_above_max_length",
    ),
]


@pytest.mark.parametrize("refusal", PASSING, ids=range(len(PASSING)))
def test_refusal_of_no_known_cause_repeats_the_same_request(
    refusal: Reply, server: Server, options: dict[str, Any]
) -> None:
    server.script = [refusal]
    assert lmr.generate(**options, temperature=0.8).complete
    assert {row["metadata"]["temperature"] for row in rows_of(options)} == {0.8}
    assert server.requests[0].body == server.requests[1].body
    server.judge = lambda request: refusal
    assert "HTTP 400" in lmr.generate(**{**options, "out": options["out"].with_name("q.jsonl")}, retries=0).first_error
    assert len(server.requests) == 5, "no repetition without retries"


def test_only_the_named_parameter_is_left_out(
    server: Server, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    listed = "Unsupported parameter: 'temperature'. Supported: max_completion_tokens, stream."
    server.judge = lambda request: error(listed) if "temperature" in request.body else TOY_ANSWER
    assert lmr.generate(**options, temperature=0.8, max_tokens=900).complete
    assert [row["metadata"]["temperature"] for row in rows_of(options)] == [None, None]
    assert {request.body["max_completion_tokens"] for request in server.requests} == {900}
    assert warnings(caplog) == ["m: the server does not accept temperature"]


def test_repairs_and_repeats_of_a_request_have_a_bound(server: Server, options: dict[str, Any]) -> None:
    server.judge = lambda request: error("Unsupported: temperature, stream, max_completion_tokens, max_tokens")
    options |= {"instances": ["toy-a"], "temperature": 0.8, "max_tokens": 900}
    for retries, repeats in ((0, 0), (1, 1), (4, 2)):
        server.requests.clear()
        assert lmr.generate(**options, retries=retries).errors == 1
        assert len(server.requests) == 1 + 3 + repeats, "an option is left out, or gets its other name, once"
    server.judge = lambda request: Reply(503, {}, {"Retry-After-Ms": "1"})
    server.requests.clear()
    assert lmr.generate(**options, retries=3).errors == 1
    assert len(server.requests) == 4


# --- refusals that say "200 OK" ---------------------------------------------------------------------------------------

END = [
    (
        {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404},
        "the model",
    ),
    ({"error": {"message": "Invalid token", "type": "new_api_error", "code": 401}}, "refuses the key"),
    ({"error": "model 'm' not found"}, "refuses the model"),
    ({"error": True, "message": "no such model: m"}, "refuses the model"),
    ({"error": "not_found_error", "detail": "There is nothing here."}, "the model"),
    ({"detail": "Not Found"}, "the model"),
    ({"error": {"code": "1211", "message": "模型不存在，请检查模型代码。"}}, "refuses the model"),
    ({"detail": "Not authenticated"}, "the key"),
    ({"success": False, "status": "403", "msg": "Go away"}, "denies access"),
    ({"base_resp": {"status_code": 401, "status_msg": "login fail"}, "choices": None}, "refuses the key"),
    ({"error": {"code": 500, "message": "The model `m` does not exist."}}, "refuses the model"),
    ({"errors": [{"message": "Incorrect API key provided: sk-1"}]}, "the key"),
    ({"code": 402, "message": "Please pay."}, "no credit left"),
    ({"error": {"message": "You have insufficient balance"}, "choices": []}, "no credit left"),
    (b"unsupported model: m", "refuses the model"),
    (b"404 page not found", "often ends in /v1"),
    ({"message": "litellm.AuthenticationError: OpenAIException - nothing here"}, "the key"),
    ({"error": {"message": "Upstream said: Error code: 401 - no"}}, "refuses the key"),
]


@pytest.mark.parametrize(("body", "reason"), END, ids=range(len(END)))
def test_refusal_inside_200_ends_the_run(body: Any, reason: str, server: Server, options: dict[str, Any]) -> None:
    server.judge = lambda request: Reply(body=body)
    with pytest.raises(LMRBenchError, match=reason):
        lmr.generate(**options)
    assert len(server.requests) == 1


def test_other_refusals_inside_200_are_read_as_usual(server: Server, options: dict[str, Any]) -> None:
    named = {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}
    server.judge = lambda request: Reply(body=named) if "temperature" in request.body else TOY_ANSWER
    busy = [{"error": {"message": "Rate limit reached, see your plan's billing"}}, {"code": 503, "message": "no model"}]
    server.script = [Reply(body=body, headers={"Retry-After": "0"}) for body in busy]
    assert lmr.generate(**options, temperature=0.5).complete
    assert [row["metadata"]["temperature"] for row in rows_of(options)] == [None, None]
    words = completion("The model `m` does not exist: invalid API key.")
    server.judge = lambda request: Reply(body=words)
    assert lmr.generate(**options, samples=2, temperature=0.5).asked == 2, "words of an answer refuse nothing"


def test_web_page_hints_at_the_address(server: Server, options: dict[str, Any]) -> None:
    server.judge = lambda request: Reply(body=b"<!doctype html><title>Hello</title> invalid api key")
    done = lmr.generate(**options, retries=0)
    assert "not a chat completion but a web page (the address often ends in /v1)" in done.first_error
    server.judge = lambda request: Reply(504, b"<html><head><title>504 Gateway Time-out</title></head><body>nginx")
    assert lmr.generate(**options, retries=0).first_error == "toy-a: HTTP 504: a web page (504 Gateway Time-out)"


# --- replies ----------------------------------------------------------------------------------------------------------


def test_ignored_limit_is_sent_by_its_other_name(
    server: Server, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    server.judge = lambda request: Reply(body=completion(TOY_ANSWER, usage=(10, request.body.get("max_tokens", 5000))))
    assert lmr.generate(**options, max_tokens=900).complete
    assert [NAMES & request.body.keys() for request in server.requests] == [{"max_completion_tokens"}, {"max_tokens"}]
    [warning] = warnings(caplog)
    assert "ignores max_completion_tokens (5,000 tokens, not 900); max_tokens is sent instead" in warning


def test_late_reply_does_not_bring_the_ignored_name_back(
    server: Server, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def judge(request: Request) -> Reply:
        is_first = request is server.requests[0]
        tokens = 9 if is_first else request.body.get("max_tokens", 5000)
        return Reply(body=completion(TOY_ANSWER, usage=(10, tokens)), delay_s=1.0 if is_first else 0.0)

    server.judge = judge
    assert lmr.generate(**{**options, "workers": 2}, max_tokens=900).complete
    [warning] = warnings(caplog)
    assert "ignores max_completion_tokens" in warning


def test_stream_nobody_asked_for_is_no_answer(server: Server, options: dict[str, Any]) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": TOY_ANSWER}, "finish_reason": "stop"}]}
    server.judge = lambda request: Reply(
        body=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), headers={"Content-Type": "text/event-stream"}
    )
    done = lmr.generate(**options)
    assert (done.errors, done.asked) == (2, 0)
    assert "the server sends a stream, although stream is false" in done.first_error
    assert [request.body["stream"] for request in server.requests] == [False, False]


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_error_in_a_stream_is_shown(kind: str, server: Server, options: dict[str, Any]) -> None:
    event = json.dumps({"error": {"message": "Upstream is out of order"}})
    server.judge = lambda request: Reply(body=f"data: {event}\n\n".encode(), headers={"Content-Type": kind})
    done = lmr.generate(**options)
    assert done.first_error == "toy-a: the server sends a stream, although stream is false: Upstream is out of order"
    assert len(server.requests) == 2


@pytest.mark.parametrize("reason", ["abort", "cancelled", "insufficient_system_resource", "error"])
def test_server_that_gives_up_is_asked_again(reason: str, server: Server, options: dict[str, Any]) -> None:
    server.script = [Reply(body=completion(TOY_ANSWER, finish_reason=reason))]
    assert lmr.generate(**options).complete
    assert (len(server.requests), [row["metadata"]["finish_reason"] for row in rows_of(options)]) == (3, ["stop"] * 2)


@pytest.mark.parametrize("has_message", [True, False])
@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("length", "it was cut at max_tokens (finish_reason length)"),
        ("MAX_TOKENS", "it was cut at max_tokens (finish_reason MAX_TOKENS)"),
        ("repetition", "it was cut off (finish_reason repetition)"),
        ("stop", "it is empty (finish_reason stop)"),
    ],
)
def test_reply_without_a_text_is_an_answer_with_its_reason(
    reason: str, problem: str, has_message: bool, server: Server, options: dict[str, Any]
) -> None:
    choice = {"index": 0, "finish_reason": reason, **({"message": {"role": "assistant"}} if has_message else {})}
    server.judge = lambda request: Reply(
        body={"choices": [choice], "usage": {"prompt_tokens": 1200, "total_tokens": 4200}}
    )
    done = lmr.generate(**options)
    assert (done.complete, done.asked, len(server.requests), done.output_tokens) == (True, 2, 2, 6000)
    assert {row["metadata"]["problem"] for row in rows_of(options)} == {problem}
    assert lmr.generate(**options).kept == 2


FUNCTION = {"name": "write_file", "arguments": json.dumps({"content": TOY_ANSWER})}
CUSTOM = {"name": "write_file", "input": TOY_ANSWER}
CALLS = [
    ("stop", {"tool_calls": [{"id": "a", "type": "function", "function": FUNCTION}]}),
    ("tool_calls", {"tool_calls": [{"id": "a", "type": "function", "function": FUNCTION}]}),
    ("tool_calls", {"tool_calls": [{"id": "a", "type": "custom", "custom": CUSTOM}]}),
    ("function_call", {"function_call": FUNCTION}),
]


@pytest.mark.parametrize("text", [None, "I will write the file now."])
@pytest.mark.parametrize(("reason", "calls"), CALLS)
def test_tool_that_the_model_calls_is_named(
    text: str | None, reason: str, calls: Any, server: Server, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    body = completion(text, finish_reason=reason)
    body["choices"][0]["message"] |= calls
    server.judge = lambda request: Reply(body=body)
    assert lmr.generate(**options).unusable == 2
    problem = "the model called a tool (write_file) instead of answering"
    assert all(row["metadata"]["problem"].startswith(problem) for row in rows_of(options))
    [warning] = warnings(caplog)
    assert "write_file" in warning


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_answer_among_the_reasoning_is_said(
    name: str, server: Server, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    body = completion(None)
    body["choices"][0]["message"][name] = TOY_ANSWER
    server.judge = lambda request: Reply(body=body)
    lmr.generate(**options)
    assert all(f"the text came as reasoning (in {name})" in row["metadata"]["problem"] for row in rows_of(options))
    assert len(warnings(caplog)) == 1


def test_prompt_that_the_server_cuts_is_marked(
    server: Server, options: dict[str, Any], toy_row: DatasetRow, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = "Each number is multiplied. " * 1000
    options["dataset"] = str(write_toys(tmp_path / "long", toy_row, "toy-a", "toy-b", paper_text=long))
    server.script = [Reply(body=completion(TOY_ANSWER, usage=(6000, 9)))]
    lmr.generate(**options)
    whole, cut = rows_of(options)
    assert "cut_by_server" not in whole["metadata"]
    assert cut["metadata"]["cut_by_server"].endswith(" tokens sent, 1,000 read")
    assert warnings(caplog) == [f"m: the server seems to cut prompts ({cut['metadata']['cut_by_server']}); "
                                "raise the context length that it runs with"]  # fmt: skip


# --- costs ------------------------------------------------------------------------------------------------------------

DETAILS = {"prompt_tokens_details": {"cached_tokens": 900}}


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 1110}, "", "0.0022 USD"),
        ({"prompt_tokens": 100, "completion_tokens": 1010, "total_tokens": 1110}, "", "0.0022 USD"),
        ({"prompt_tokens": 1000, "completion_tokens": 100, **DETAILS}, "", "0.0022 USD"),
        ({"prompt_tokens": 1000, "completion_tokens": 100, **DETAILS}, ", cached_input_per_mtok: 0.1", "0.0006 USD"),
        ({"prompt_tokens": 1000, "completion_tokens": 100, "prompt_cache_hit_tokens": 900}, "", "0.0022 USD"),
    ],
)
def test_cost_counts_reasoning_and_cached_tokens(
    usage: dict[str, Any], price: str, cost: str, server: Server, options: dict[str, Any], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"m: {{input_per_mtok: 1, output_per_mtok: 1{price}}}\n")
    server.judge = lambda request: Reply(body={**completion(TOY_ANSWER), "usage": usage})
    assert lmr.generate(**options, prices=prices).cost == cost


GATEWAY = [
    Reply(504, b"<html>Gateway Timeout"),
    Reply(524, {}),
    Reply(body={"error": {"message": "Upstream idle timeout", "code": 504}}),
]
NO_COMPLETION = [
    (Reply(body=completion(TOY_ANSWER), delay_s=3), "unknown"),
    (Reply(body={"choices": []}), "unknown"),
    (Reply(body={"choices": [], "usage": {"prompt_tokens": 6000, "completion_tokens": 0}}), "0.0060 USD"),
    *((reply, "unknown") for reply in GATEWAY),
]


@pytest.mark.parametrize(("reply", "cost"), NO_COMPLETION, ids=range(len(NO_COMPLETION)))
def test_billed_request_without_an_answer_counts(
    reply: Reply, cost: str, server: Server, options: dict[str, Any], tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input_per_mtok: 1, output_per_mtok: 1}\n")
    server.judge = lambda request: reply
    done = lmr.generate(**options, prices=prices, max_cost=0.001, timeout_s=1.0)
    assert (done.cost, done.asked, done.complete, len(server.requests)) == (cost, 0, False, 1)
    assert done.stopped.startswith("cost limit reached" if "USD" in cost else "cost unknown: 1 request without cost")


@pytest.mark.parametrize("reply", GATEWAY, ids=range(len(GATEWAY)))
def test_gateway_that_stops_waiting_is_asked_once(reply: Reply, server: Server, options: dict[str, Any]) -> None:
    server.judge = lambda request: reply
    done = lmr.generate(**options, instances=["toy-a"])
    assert (done.cost, done.errors, len(server.requests)) == ("unknown", 1, 1)


def test_number_and_cost_of_the_requests_are_announced(
    server: Server, options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lmrbench")
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input_per_mtok: 0, output_per_mtok: 10}\n")
    texts: list[str] = []
    server.judge = lambda request: texts.extend(caplog.messages) or TOY_ANSWER  # type: ignore[func-returns-value]
    lmr.generate(**options, prices=prices, limit=1)
    lmr.generate(**options, prices=prices, samples=2, max_tokens=1000, name="other")
    lmr.generate(**options, prices=prices, samples=3, max_tokens=1000, name="other")
    lmr.generate(**options, samples=3, max_tokens=1000, name="other")
    assert [text for text in caplog.messages if "sending" in text] == [
        "m: sending 1 request; prompts cost about 0.0000 USD, and answers have no limit unless max_tokens sets one",
        "m: sending 4 requests, which cost at most about 0.0400 USD",
        "m: sending 2 requests, which cost at most about 0.0200 USD",
    ]
    assert texts[0].startswith("m: sending 1 request"), "before the first one"


@pytest.mark.parametrize(
    ("prices", "problem"),
    [
        ("other: {input_per_mtok: 1, output_per_mtok: 1}", r"no input_per_mtok .* for 'm'; it has other"),
        ("m: 3", r"no input_per_mtok .* for 'm'; it has m"),
        ("m: {input_per_mtok: 1}", "m: output_per_mtok: is missing"),
        ("m: {input_per_mtok: 1, output_per_mtok: -1}", "m: output_per_mtok: should be greater than .* 0, not -1"),
        ("m: {input_per_mtk: 1, output_per_mtok: 1}", "m: input_per_mtok: is missing"),
    ],
)
def test_wrong_price_is_one_line(prices: str, problem: str, options: dict[str, Any], tmp_path: Path) -> None:
    """The message names the model and the key, so that nobody looks for a model that is there."""
    file = tmp_path / "prices.yaml"
    file.write_text(prices)
    with pytest.raises(InputError, match=f"^{file}: {problem}"):
        lmr.generate(**options, prices=file)


# --- parameters of the user's -----------------------------------------------------------------------------------------


def test_body_is_sent_recorded_and_compared(server: Server, options: dict[str, Any]) -> None:
    body = {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}}
    lmr.generate(**options, limit=1, body=body)
    [row] = rows_of(options)
    assert row["metadata"]["request"]["body"] == body
    assert server.requests[0].body.items() >= body.items()
    for other in ({}, {"reasoning_effort": "low"}):
        with pytest.raises(ArgumentError, match=r"for other settings \(body was .*'high'"):
            lmr.generate(**options, body=other)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["reasoning_effort=high"], "reasoning_effort is not KEY=JSON"),
        (["top_p=NaN"], "top_p is not KEY=JSON"),
        (["model=1"], "the harness sets model itself"),
        (["max_tokens=9"], "the harness sets max_tokens itself"),
        (["top_p=0.9", "top_k=1", "top_p=0.9"], "top_p is named twice"),
        (["=0.9"], "'=0.9' names no parameter; write KEY=JSON, such as top_p=0.9"),
    ],
)
def test_wrong_body_is_one_line(texts: list[str], problem: str, server: Server, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^body: {problem}"):
        lmr.generate(**options, body=texts)
    assert not server.requests
