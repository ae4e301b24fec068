"""Measure the cost of asking for answers beyond the waiting: the sampling part of `make bench`.

A server in a process of its own answers each request after 50 ms, from one thread. Its floor is the time of a
client that only sends the same bytes over as many connections. Both sides alternate, so that a busy machine slows both;
the fastest round of each counts, and the medians are printed beside it.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.dataset.load import load_rows
from lmrbench_data.generation.paper_texts import paper_text
from lmrbench_data.generation.prompt import SETTINGS, build_prompt
from lmrbench_data.generation.sampling import sample
from lmrbench_data.generation.settings import SamplingSettings

SAMPLES, IN_FLIGHT, DELAY_S = 5, 16, 0.05
ANSWER = "Here it is:\n\n```python\ndef {name}(*args, **kwargs):\n    return args\n```\n"


def sampling_ratio(folder: Path, rounds: int = 20) -> Iterator[tuple[str, float, float]]:
    """Time of sampling against the server's floor; peak memory of ten times as many answers; time of the prompts."""
    rows = load_rows("embedded")
    seconds = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        for row in rows:
            for setting in SETTINGS:
                build_prompt(row, setting=setting, paper=paper_text(row, "text"))
        seconds.append((time.perf_counter() - started) / len(SETTINGS))
    print(f"    prompts of {len(rows)} instances: first {seconds[0]:.3f} s, median {statistics.median(seconds):.3f} s")
    yield "seconds of building the prompts of all instances, warm", min(seconds[1:]), 1.0

    bodies = [
        json.dumps({"model": "m", "messages": build_prompt(row, paper=paper_text(row, "text")).messages}).encode()
        for _ in range(SAMPLES)
        for row in rows
    ]
    with subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            yield from _against_the_floor(folder, port, bodies, rounds)
            yield from _memory(folder, port)
        finally:
            server.kill()


def _against_the_floor(
    folder: Path, port: int, bodies: Sequence[bytes], rounds: int
) -> Iterator[tuple[str, float, float]]:
    rows = load_rows("embedded")
    floors, times, cpu = [], [], []
    for number in range(rounds + 1):
        started = time.perf_counter()
        asyncio.run(_bare_client(port, bodies))
        floor = time.perf_counter() - started
        started, used = time.perf_counter(), time.process_time()
        summary = sample(_settings(folder / f"answers-{number}.jsonl", port, SAMPLES), rows)
        took, used = time.perf_counter() - started, time.process_time() - used
        assert (summary.asked, summary.complete) == (len(bodies), True)
        if number:  # the first one imports and connects
            floors.append(floor)
            times.append(took)
            cpu.append(used)
    print(f"    least of {rounds} rounds: floor {min(floors):.3f} s, sampling {min(times):.3f} s")
    middle = statistics.median(floors), statistics.median(times)
    print(f"    medians: floor {middle[0]:.3f} s, sampling {middle[1]:.3f} s, ratio {middle[1] / middle[0]:.2f}")
    print(f"    processor time: {1000 * min(cpu) / len(bodies):.1f} ms an answer")
    if (load := os.getloadavg()[0]) > (os.cpu_count() or 1):
        print(f"    load {load:.1f} on {os.cpu_count()} processors: others are at work, so times are longer than alone")
    yield "time of sampling / floor of the server", min(times) / min(floors), 1.2


def _memory(folder: Path, port: int) -> Iterator[tuple[str, float, float]]:
    """Peak memory of a process that samples, with 280 and with 2,800 answers."""
    peaks = {}
    for samples in (10, 100):
        out = folder / f"memory-{samples}.jsonl"
        process = subprocess.Popen([sys.executable, __file__, "sample", str(out), str(port), str(samples)])
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        peaks[samples] = usage.ru_maxrss / 1024
        print(f"    {samples} samples of each instance: {peaks[samples]:.0f} MB")
    yield "peak memory of sampling, ten times the answers / once", peaks[100] / peaks[10], 1.1


def _settings(out: Path, port: int, samples: int) -> SamplingSettings:
    base_url = f"http://127.0.0.1:{port}/v1"
    return SamplingSettings(out=out, model="m", base_url=base_url, samples=samples, workers=IN_FLIGHT)


async def _bare_client(port: int, bodies: Sequence[bytes]) -> None:
    """Send all requests, over as many connections as may be in flight, and read every reply."""
    queue = iter(bodies)

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in queue:
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await _message(reader)
        writer.close()

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """(head, body) of the next message; at the end of the stream both are empty."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b"", b""
    lengths = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    return head, await reader.readexactly(int(lengths[0])) if lengths else b""


async def _serve() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (message := await _message(reader))[0]:
            if message[1]:
                await asyncio.sleep(DELAY_S)
            found: dict[str, Any] = _completion(message[1]) if message[1] else {"object": "list", "data": []}
            content = json.dumps(found).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
            writer.write(head.encode() + content)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _completion(body: bytes) -> dict[str, Any]:
    """A function with the name that the end of the prompt asks for: `... Write `Class.name`.`"""
    name = body.rpartition(b"Write `")[2].partition(b"`")[0].rpartition(b".")[2].decode()
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": ANSWER.format(name=name)},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve())
    else:
        sample(_settings(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])), load_rows("embedded"))
