"""The part of the Ray engine that runs on the nodes: Ray imports these functions there by name.

Each worker process of a node opens one sandbox and keeps it for all answers that Ray gives it.
"""

import atexit
import functools
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmrbench_data.base.errors import InfraError, InputError, LMRBenchError
from lmrbench_data.base.text import one_line
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import Prediction
from ..sandbox import open_sandbox
from ..sandbox.base import Sandbox
from ..verdict.decode import Frame
from ..verdict.verdict import Verdict
from .engine import Load, machine_load
from .job import Conditions, expected_outputs, failure, fresh_outputs, job_verdict


@dataclass(frozen=True)
class Ticket:
    """The facts of a run that a node needs."""

    sandbox: str
    """Kind of the sandbox, as `open_sandbox` takes it."""
    version: str
    """Version of the harness that leads the run."""
    conditions: Conditions


class Answered(NamedTuple):
    """The verdict on an answer, and where it was reached."""

    verdict: Verdict
    node: str
    """Ray's id of the node."""
    load: Load


def describe(sandbox: str, tags: Sequence[str]) -> dict[str, Any]:
    """Return the facts about a node that a run needs, as plain values that any version can read.

    Args:
        sandbox: kind of the sandbox.
        tags: image tags to prepare.
    """
    try:
        place = _sandbox(sandbox)
        images = {tag: place.prepare(tag) for tag in tags}
    except LMRBenchError as error:
        return {"version": __version__, "problem": one_line(error)}
    return {
        "version": __version__,
        "problem": "",
        "sandbox": place.name,
        "official": place.official,
        "images": images,
    }


def record(ticket: Ticket, row: DatasetRow) -> list[Frame]:
    """Return the outputs of a row's golden file on the fresh seeds of a run.

    Raises:
        LMRBenchError, StreamError: see `fresh_outputs`.
        InputError: this node has another version or image.
    """
    return fresh_outputs(row, _checked_sandbox(ticket, row["docker_image"]), ticket.conditions)


def evaluate(ticket: Ticket, row: DatasetRow, fresh: Sequence[Frame], prediction: Prediction) -> Answered:
    """Evaluate an answer.

    Args:
        fresh: the result of `record`; empty without fresh seeds.

    Raises:
        InputError: this node has another version or image.
    """
    import ray

    try:
        sandbox = _checked_sandbox(ticket, row["docker_image"])
        verdict = job_verdict(row, prediction, sandbox, ticket.conditions, lambda: expected_outputs(row, fresh))
    except InfraError as error:
        verdict = failure(error)
    return Answered(verdict, ray.get_runtime_context().get_node_id(), machine_load(0))


@functools.cache
def _sandbox(kind: str) -> Sandbox:
    """Return the sandbox of this process."""
    sandbox = open_sandbox(kind)
    atexit.register(sandbox.close)
    return sandbox


def _checked_sandbox(ticket: Ticket, tag: str) -> Sandbox:
    """Return the sandbox of this process, even if its node joined the cluster after the run began."""
    if __version__ != ticket.version:
        raise InputError(
            f"node {socket.gethostname()}: it has lmrbench-data {__version__}; install {ticket.version} there"
        )
    if (image := _image(ticket.sandbox, tag)) != (known := ticket.conditions.images[tag]):
        raise InputError(f"node {socket.gethostname()}: image {tag} is {image}, but {known} on the other nodes")
    return _sandbox(ticket.sandbox)


@functools.cache
def _image(kind: str, tag: str) -> str:
    return _sandbox(kind).prepare(tag)
