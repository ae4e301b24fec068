"""Sandboxes, named by their import path, that differ between the nodes of a Ray cluster: one node is odd."""

import os
import time
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.sandbox.base import Limits, Outcome
from lmrbench_evaluate.sandbox.local import LocalSandbox

#: Variable of the environment of an odd node: a folder of the test.
ODD = "LMRBENCH_TEST_ODD_NODE"


class OtherImage(LocalSandbox):
    """An odd node has another image."""

    name = "other_image"

    def prepare(self, tag: str) -> str:
        return "sha256:odd" if ODD in os.environ else "sha256:even"


class FailsOnOdd(LocalSandbox):
    """The engine of an odd node fails."""

    name = "fails_on_odd"

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        if ODD in os.environ:
            (Path(os.environ[ODD]) / "failed").touch()
            raise InfraError("the engine is gone")
        return super().run(image, workspace, limits)


class HangsOnOdd(LocalSandbox):
    """The engine of an odd node never answers; that of any other fails."""

    name = "hangs_on_odd"

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        if ODD in os.environ:
            (Path(os.environ[ODD]) / "hangs").touch()
            time.sleep(600)
        raise InfraError("the engine is gone")
