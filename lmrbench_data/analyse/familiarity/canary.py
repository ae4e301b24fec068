"""Search for the canary: whether a model can complete it, and whether a corpus contains it.

Each row carries a fixed canary, a GUID that occurs nowhere else. A model that completes it has been trained on this
dataset; one that does not may have been, too. A corpus is searched for the GUID's text, also in files packed by gzip.
"""

import gzip
import itertools
import random
import re
import statistics
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ...base.errors import ArgumentError, InputError
from ...base.progress import Progress
from ...chat.client import RequestFailed
from ...chat.endpoint import Endpoint
from ...chat.logprobs import ECHO, LogprobClient, Unsupported
from ...chat.loop import run_to_end
from ...dataset.rows import DatasetRow

_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Characters of the GUID that the model is given.
_GIVEN = 9
#: Thresholds that rule out luck: one chance in 16 million for this many digits, ...
SURE_DIGITS = 6
#: ... and one in 3 million for this many standard deviations above random GUIDs, if they are normal.
SURE_DEVIATIONS = 5.0
#: Random GUIDs that the real one is compared with, where the server scores texts.
RIVALS = 50
_BLOCK = 1 << 20


@dataclass
class CanaryAnswer:
    """A model's completion of a canary."""

    model: str
    digits: int
    """Digits of the rest of the GUID that it got right, from the first on; by luck it gets one in sixteen."""
    of: int
    rank: int | None = None
    """Place of the real GUID among random ones by probability, 1 is the most likely; None if nothing is scored."""
    rivals: int = 0
    above: float | None = None
    """Standard deviations of random GUIDs by which the real one is more likely than their mean."""

    @property
    def is_known(self) -> bool:
        """True if luck is ruled out: six digits are right, or it is far more likely than random GUIDs."""
        return self.digits >= SURE_DIGITS or (self.above is not None and self.above >= SURE_DEVIATIONS)

    @property
    def line(self) -> str:
        """The sentence in a report."""
        rank = "" if self.rank is None else f", and it ranks {self.rank} of {self.rivals + 1} by probability"
        verdict = "it was trained on this dataset" if self.is_known else "no sign that it was trained on this dataset"
        return f"Canary: {self.model} completes {self.digits} of {self.of} digits{rank}: {verdict}."


@dataclass
class CorpusSearch:
    """The result of a search in a folder."""

    files: int = 0
    hits: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def canary_of(rows: Sequence[DatasetRow]) -> tuple[str, str]:
    """Return (the words before it, the GUID) of the canary that all rows carry.

    Raises:
        InputError: the rows have none, or several.
    """
    canaries = {row["canary"] for row in rows}
    found = _GUID.search(next(iter(canaries))) if len(canaries) == 1 else None
    if found is None:
        raise InputError(f"the dataset has {len(canaries)} canaries; one with a GUID is needed")
    return next(iter(canaries))[: found.start()], found[0]


def ask_for_canary(endpoint: Endpoint, rows: Sequence[DatasetRow]) -> CanaryAnswer:
    """Ask a model to complete the canary; if the server scores texts, compare it with random GUIDs.

    Raises:
        InputError: no canary, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the request failed.
    """
    words, guid = canary_of(rows)
    client = LogprobClient(endpoint)
    found: list[CanaryAnswer] = []

    async def ask() -> None:
        async with client:
            way = await client.way()
            given = words + guid[:_GIVEN]
            if way == ECHO:
                written = (await client.go_on(given, 40)).text
            else:
                question = f"Complete this text with what stands behind it, and write nothing else: {given}"
                written = (await client.write([{"role": "user", "content": question}], 60)).text
            answer = CanaryAnswer(endpoint.model, _right(written, guid), _digits(guid[_GIVEN:]))
            if way == ECHO:
                real = await _likely(client, words, guid)
                numbers = random.Random(0)
                rivals = [str(uuid.UUID(int=numbers.getrandbits(128), version=4)) for _ in range(RIVALS)]
                values = [await _likely(client, words, rival) for rival in rivals]
                answer.rank, answer.rivals = 1 + sum(value >= real for value in values), RIVALS
                answer.above = (real - statistics.mean(values)) / max(statistics.stdev(values), 1e-6)
            found.append(answer)

    try:
        run_to_end(ask())
    except (RequestFailed, Unsupported) as error:
        raise InputError(f"the server {client.server} could not be asked for the canary: {error}") from error
    return found[0]


async def _likely(client: LogprobClient, words: str, guid: str) -> float:
    """The mean log-probability of a GUID's tokens."""
    scored = await client.score(words + guid)
    tokens = [token.logprob for token in scored.tokens if token.start >= len(words)]
    return sum(tokens) / len(tokens) if tokens else float("-inf")


def _digits(text: str) -> int:
    return sum(char in "0123456789abcdef" for char in text.lower())


def _right(written: str, guid: str) -> int:
    """Digits of the rest of a GUID that a text begins with, at its start or after a repeated beginning of the GUID."""
    wanted, best = guid[_GIVEN:].replace("-", ""), 0
    for said in (written.lower(), *written.lower().split(guid[:_GIVEN])[1:]):
        digits = re.sub(r"[\s`'\"-]", "", said)
        right = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(wanted, digits, strict=False))
        best = max(best, sum(1 for _ in right))
    return best


def search_corpus(folder: Path, rows: Sequence[DatasetRow], progress: Progress | None = None) -> CorpusSearch:
    """Search the files of a folder for the canary.

    Raises:
        ArgumentError: no such folder.
    """
    if not folder.is_dir():
        raise ArgumentError("corpus", f"{folder}: no such folder")
    _, guid = canary_of(rows)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    result, shown = CorpusSearch(), progress or Progress()
    shown.start(len(paths))
    for path in paths:
        result.files += 1
        try:
            is_there = _holds(path, guid)
        except (OSError, EOFError, zlib.error):
            result.unreadable.append(str(path))
            shown.step("unreadable")
            continue
        if is_there:
            result.hits.append(str(path))
        shown.step("found" if is_there else "searched")
    return result


def _holds(path: Path, guid: str) -> bool:
    wanted = guid.encode("ascii")
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not is_packed:
            return any(wanted in block for block in _blocks(file, len(wanted)))
        with gzip.GzipFile(fileobj=file) as unpacked:
            return any(wanted in block for block in _blocks(unpacked, len(wanted)))


def _blocks(file: IO[bytes] | gzip.GzipFile, overlap: int) -> Iterator[bytes]:
    """A file in lower case, block by block; each block repeats the end of the one before."""
    rest = b""
    while block := file.read(_BLOCK):
        block = rest + block.lower()
        yield block
        rest = block[-overlap:]
