"""A scripted model behind an OpenAI-compatible server of its own: no language model, five answers that are ready.

    python scripted_model.py                        # serves until Ctrl-C, and says where
    python scripted_model.py -- COMMAND --base-url {url}    # serves as long as the command runs

It shows what `lmrbench run` does, without a key and in seconds. What it answers are variants of the benchmark's own
tasks, of which it is known how good they are. Standard library only.
"""

import argparse
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TASKS = Path(__file__).resolve().parents[1]


def bare(code: str) -> tuple[str, str]:
    """The function alone, as it was asked for."""
    return code, "stop"


def with_prose(code: str) -> tuple[str, str]:
    """The code between words, as chat models like it."""
    return f"The function follows from the equations of the paper:\n\n```python\n{code}```\n\nI hope it helps.", "stop"


def cut(code: str) -> tuple[str, str]:
    """The first half, as if the limit of tokens had been reached."""
    return code[: len(code) // 2], "length"


#: Goal function → the variant that is the answer, and how it is said.
SCRIPT: dict[str, tuple[str, Callable[[str], tuple[str, str]]]] = {
    "preference_loss": ("01-dpo/variants/dpo-preference-loss/valid/softplus.py", with_prose),
    "get_delta": ("15-empathy-gap/variants/empathy-gap-delta/careless/missing_side_is_nan.py", bare),
    "SimPOTrainer.simpo_loss": ("05-simpo/variants/simpo-loss/wrong/margin_missing.py", bare),
    "get_sentence": ("08-step-length/variants/step-length-prompt-construction/valid/match_statement.py", bare),
    "nsa": ("19-native-sparse-attention/variants/nsa-selected-and-sliding-attention/plain/token_loop.py", cut),
}
NOTHING = "I have no answer to this one."


def answer(prompt: str) -> tuple[str, str]:
    """(text, finish reason) for what a user says."""
    asked = re.findall(r"^Write `([\w.]+)`", prompt, re.MULTILINE)
    if not asked or asked[-1] not in SCRIPT:
        return NOTHING, "stop"
    name, say = SCRIPT[asked[-1]]
    code = (TASKS / name).read_text(encoding="utf-8")
    return say(re.sub(r"\A(#.*\n)+", "", code))  # a comment at the top says what is wrong with it


def completion(request: dict[str, Any]) -> dict[str, Any]:
    """The body of a chat completion; words count as tokens."""
    prompt = "\n".join(str(message["content"]) for message in request["messages"])
    text, reason = answer(prompt)
    used = len(prompt.split()), len(text.split())
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)},
    }


class Handler(BaseHTTPRequestHandler):
    """The two addresses that a client asks for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "you"}]}
        self.reply(*((200, models) if self.path == "/v1/models" else (404, {"error": {"message": "Not Found"}})))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self.reply(404, {"error": {"message": "Not Found"}})
            return
        try:
            found = completion(json.loads(body))
        except (ValueError, TypeError, LookupError) as error:
            self.reply(400, {"error": {"message": f"not a chat completion request ({type(error).__name__})"}})
        else:
            self.reply(200, found)

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr: the command talks there."""


def main() -> int:
    """Serve, alone or for a command; the command's exit status."""
    parser = argparse.ArgumentParser(description="A scripted model behind an OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("command", nargs="*", help="after `--`; {url} in it becomes the server's address")
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.daemon_threads = True
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    print(f"a scripted model answers at {url}", file=sys.stderr, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        if arguments.command:
            return subprocess.run([word.replace("{url}", url) for word in arguments.command]).returncode
        threading.Event().wait()
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
