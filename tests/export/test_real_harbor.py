"""Harbor and Inspect themselves run the exported tasks: the reference gets the reward, an idle agent does not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lmrbench.export.harbor import harbor_task
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import write_files
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.images import BUILD_NETWORK_VARIABLE

pytestmark = [pytest.mark.docker, pytest.mark.agents, pytest.mark.timeout(1800)]

IMAGE = "lmrbench/test-harbor"
#: Inspect refuses older engines.
INSPECT_ENGINE = (24, 0, 6)


class Tool:
    """A container with Harbor, in a folder that the engine knows by the same path."""

    def __init__(self, client: Any, folder: Path) -> None:
        self._client, self.folder = client, folder

    def run(self, command: str) -> str:
        """Run a command in the folder and return its output."""
        mounts = {name: {"bind": name, "mode": "rw"} for name in ("/var/run/docker.sock", str(self.folder))}
        # The files that it leaves belong to root: whoever runs the tests has to be able to remove them.
        line = f"{command}; status=$?; chmod -R a+rwX .; exit $status"
        output: bytes = self._client.containers.run(
            IMAGE, ["sh", "-c", line], volumes=mounts, working_dir=str(self.folder), network_mode="host", remove=True
        )
        return output.decode()

    def write(self, name: str, rows: list[DatasetRow], network: str) -> Path:
        """Export rows into a folder below its own."""
        for row in rows:
            write_files(harbor_task(row, network=network), self.folder / name / row["instance_id"])
        return self.folder / name


@pytest.fixture(scope="module")
def tool(docker_sandbox: Sandbox, toy_row: DatasetRow, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """The image of Harbor, and that of the tasks."""
    import docker

    client = docker.from_env()
    docker_sandbox.prepare(toy_row["docker_image"])
    build = Path(__file__).parents[1] / "support" / "harbor"
    client.images.build(path=str(build), tag=IMAGE, network_mode=os.environ.get(BUILD_NETWORK_VARIABLE), rm=True)
    return Tool(client, tmp_path_factory.mktemp("harbor"))


def test_harbor_rewards_the_reference_alone(
    tool: Tool, toy_row: DatasetRow, method_row: DatasetRow, counterfactual_row: DatasetRow
) -> None:
    tasks = tool.write("tasks", [toy_row, method_row, counterfactual_row], "public")
    for agent, reward in (("oracle", 1), ("nop", 0)):
        tool.run(f"harbor run -p {tasks} -a {agent} -o jobs --job-name {agent} -n 3 -q -y")
        results = [json.loads(path.read_text()) for path in (tasks.parent / "jobs" / agent).glob("*/result.json")]
        found = {result["task_name"]: result["verifier_result"]["rewards"] for result in results}
        assert {name: rewards["reward"] for name, rewards in found.items()} == {
            f"lmr-bench/{row['instance_id']}": reward for row in (toy_row, method_row, counterfactual_row)
        }
        assert found["lmr-bench/toy-scale"]["robust"] == reward
        assert found[f"lmr-bench/{counterfactual_row['instance_id']}"]["stated"] == reward


def test_inspect_rewards_the_reference_alone(tool: Tool, toy_row: DatasetRow) -> None:
    import docker

    version = docker.from_env().version()["Version"].partition("+")[0]
    if tuple(map(int, version.split("."))) < INSPECT_ENGINE:
        pytest.skip(f"Inspect refuses Docker {version}")
    tasks = tool.write("isolated", [toy_row], "none")
    found = json.loads(tool.run(f"python /opt/inspect_tasks.py {tasks} logs").splitlines()[-1])
    assert found == {
        agent: {"lmr-bench/toy-scale": {"reward": reward, "core_cases": reward, "robust": reward}}
        for agent, reward in (("oracle", 1), ("nop", 0))
    }
