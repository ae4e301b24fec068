"""Serve LMR-Bench to OpenEnv clients: `python -m server.app`, or `uvicorn server.app:app`.

Environment variables are the settings; README.md lists them.
"""

import argparse
import os
import sys

import uvicorn
from fastapi import FastAPI

from lmrbench_data.base.errors import InputError, LMRBenchError
from lmrbench_data.openenv import open_server

#: Variable → argument of `open_server`.
TEXTS = {
    "LMRBENCH_DATASET": "dataset",
    "LMRBENCH_CONFIG": "config",
    "LMRBENCH_SETTING": "setting",
    "LMRBENCH_TRACK": "track",
    "LMRBENCH_PAPER": "paper",
}
NUMBERS = {"LMRBENCH_WORKERS": "workers", "LMRBENCH_SESSIONS": "sessions"}


def server_from_variables() -> FastAPI:
    """Return the application that the environment variables describe.

    Raises:
        InputError: A variable has an invalid value.
        InfraError: The sandbox does not work here, or an image is missing.
    """
    options: dict[str, object] = {argument: os.environ[name] for name, argument in TEXTS.items() if name in os.environ}
    for name, argument in NUMBERS.items():
        if value := os.environ.get(name, ""):
            if not (value.isdecimal() and int(value) >= 1):
                raise InputError(f"{name}: must be a whole number of at least 1, not {value!r}")
            options[argument] = int(value)
    names = os.environ.get("LMRBENCH_INSTANCES", "").split(",")
    return open_server(
        instances=[name.strip() for name in names if name.strip()],
        sandbox=os.environ.get("LMRBENCH_SANDBOX", "bwrap"),
        isolation=os.environ.get("LMRBENCH_ISOLATION", "container"),
        **options,  # type: ignore[arg-type]
    )


try:
    app = server_from_variables()
except LMRBenchError as error:
    sys.exit(f"error: {error}")


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    uvicorn.run(app, host=options.host, port=options.port)


if __name__ == "__main__":
    main()
