"""Serve HTTP inside a box: each request goes to stdout as a line of JSON, its answer to stdin.

The program is sent into the container as text and runs as a different user from the agent, with
Python 3.11 and the standard library only. It knows no key and reaches no network.
"""

import base64
import json
import sys
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

max_body = int(sys.argv[2])
waiting: dict[int, Future[Any]] = {}
lock = threading.Lock()
numbers = iter(range(10**9))


class Handler(BaseHTTPRequestHandler):
    """Passes each request to the other side and waits for the answer.

    HTTP/1.0: a connection ends with its answer, so no idle one keeps a thread.
    """

    def relay(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= max_body:
            return self.send_error(413)
        answer = self.ask(base64.b64encode(self.rfile.read(size)).decode())
        content = base64.b64decode(answer["body"])
        self.send_response(answer["status"])
        self.send_header("Content-Type", answer["kind"])
        if answer["retry_after"]:
            self.send_header("Retry-After", answer["retry_after"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def ask(self, body: str) -> Any:
        future: Future[Any] = Future()
        with lock:
            number = next(numbers)
            waiting[number] = future
            line = {"id": number, "method": self.command, "path": self.path, "body": body}
            # The additions to Anthropic's messages that the request names.
            line["betas"] = ",".join(self.headers.get_all("anthropic-beta", []))
            print(json.dumps(line), flush=True)
        return future.result()

    def do_HEAD(self) -> None:
        """Say that a server is here, which Claude Code asks."""
        self.send_response(200)
        self.end_headers()

    do_GET = do_POST = relay

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    answer = json.loads(line)
    waiting.pop(answer["id"]).set_result(answer)
