"""Starts Codex in the container: `python -I codex_process.py JSON`.

`installed.py` puts it into the box, with its settings in codex.toml. Standard output gets the
events of Codex, one JSON object per line; its exit status is that of this program.
"""

import json
import os
import shutil
import sys
from pathlib import Path

PROGRAM = "/opt/codex/bin/codex"
#: Codex adds its own tools to PATH, unless its home is in the folder for temporary files.
HOME = Path("/tmp/codex")
TEMPORARY = Path("/tmp/files")
OPTIONS = ["exec", "--strict-config", "--ephemeral", "--json", "--skip-git-repo-check"]


def main() -> None:
    """Replace this process with Codex, which reads the task from standard input."""
    options = json.loads(sys.argv[1])
    HOME.mkdir()
    TEMPORARY.mkdir()
    shutil.copy(Path(__file__).with_name("codex.toml"), HOME / "config.toml")
    path = f"/opt/codex/codex-path{os.pathsep}{os.environ['PATH']}"
    os.environ |= {"CODEX_HOME": str(HOME), "TMPDIR": str(TEMPORARY), "PATH": path}
    server = f'model_providers.relay.base_url="{options["base_url"]}"'
    os.dup2(os.open("TASK.md", os.O_RDONLY), 0)
    os.execv(PROGRAM, [PROGRAM, *OPTIONS, "-c", server, "-m", options["model"], "-"])


if __name__ == "__main__":
    main()
