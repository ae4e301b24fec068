"""Serve HTTP inside a box and pass each request on as a line of JSON: stdout carries requests, stdin the answers.

The program is sent into the container as text and runs as a different user from the agent: Python 3.11 and the standard
library only. It knows no key and reaches no network.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

max_body = int(sys.argv[2])
waiting: dict[int, list[Any]] = {}
lock = threading.Lock()
numbers = iter(range(10**9))


class Handler(BaseHTTPRequestHandler):
    """Passes each request to the other side and waits for the answer.

    HTTP/1.0: a connection ends with its answer, so that no idle one keeps a thread.
    """

    def relay(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= max_body:
            return self.send_error(413)
        body = self.rfile.read(size)
        arrived = threading.Event()
        with lock:
            number = next(numbers)
            waiting[number] = [arrived, None]
            line = {
                "id": number,
                "method": self.command,
                "path": self.path,
                "body": base64.b64encode(body).decode(),
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
        arrived.wait()
        said = waiting.pop(number)[1]
        content = base64.b64decode(said["body"])
        self.send_response(said["status"])
        self.send_header("Content-Type", said["kind"])
        if said["retry_after"]:
            self.send_header("Retry-After", said["retry_after"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = relay

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
for answer in sys.stdin:
    said = json.loads(answer)
    entry = waiting[said["id"]]
    entry[1] = said
    entry[0].set()
