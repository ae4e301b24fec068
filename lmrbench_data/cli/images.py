"""`lmrbench images`: the Docker images of the environments."""

from typing import Annotated, Any

import typer

from .options import BenchmarkFolder, BuildNetwork
from .output import Json, print_json, print_table, put, say

app = typer.Typer(help="List, build and push the Docker images of environments.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(help="Environments (default: all).")]


@app.command("list")
def list_images(benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """List the environments and their images.

    Shows the content-hashed tag, the size on disk and whether the image is present.

    Example: lmrbench images list
    """
    from lmrbench_evaluate.sandbox.images import image_id

    from ..base.errors import InfraError
    from ..tasks.environments import load_environments

    try:
        api = _connect()
    except InfraError as error:
        say(f"warning: {error}")
        api = None
    rows: list[dict[str, Any]] = [
        {
            "environment": environment.name,
            "tag": environment.tag,
            "disk_mb": environment.disk_mb,
            "image_id": image_id(api, environment.tag) if api else None,
            "description": environment.description,
        }
        for environment in load_environments(benchmark).values()
    ]
    if as_json:
        print_json(rows)
        return
    cells = [
        [row["environment"], row["tag"], f"{row['disk_mb']} MB", "yes" if row["image_id"] else "no", row["description"]]
        for row in rows
    ]
    print_table(("environment", "tag", "disk", "here", "description"), cells)


@app.command()
def build(
    names: Names = None,
    network: BuildNetwork = None,
    build_arg: Annotated[
        list[str] | None,
        typer.Option("--build-arg", metavar="NAME=VALUE", help="Build argument of the Dockerfiles (repeatable)."),
    ] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Build the images of environments.

    Builds the installed environments, or those of --benchmark.

    Example: lmrbench images build torch-cpu
    """
    from lmrbench_evaluate.sandbox.images import build_image

    from ..base.errors import InputError
    from ..tasks.environments import choose_environments

    arguments = {}
    for item in build_arg or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"--build-arg {item!r}: give NAME=VALUE")
        arguments[name] = value
    built = {}
    api = _connect()
    for environment in choose_environments(names or (), benchmark):
        say(f"building {environment.tag}: about {environment.disk_mb / 1000:.1f} GB of disk")
        built[environment.tag] = build_image(api, environment, network=network, arguments=arguments)
    _report(built, as_json)


@app.command()
def push(names: Names = None, benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """Push images to the registry in LMRBENCH_REGISTRY.

    Example: LMRBENCH_REGISTRY=ghcr.io/org lmrbench images push
    """
    from lmrbench_evaluate.sandbox.images import push_image

    from ..tasks.environments import choose_environments

    api, chosen = _connect(), choose_environments(names or (), benchmark)
    _report({environment.tag: push_image(api, environment.tag) for environment in chosen}, as_json)


def _connect() -> Any:
    from lmrbench_evaluate.sandbox.docker_client import connect

    return connect()


def _report(done: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        for tag, result in done.items():
            put(f"{tag}  {result}")
