"""`lmrbench images`: the environments' images."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import BenchmarkFolder
from .output import Json, print_json, print_table, put, say

app = typer.Typer(help="List, build and push the environments' images.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(help="Environments; all by default.")]


@app.command("list")
def list_images(benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """List the environments and their images.

    Show content-hashed tags, sizes and whether the image is present.

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
    network: Annotated[str | None, typer.Option(help="Network of build steps, for example host.")] = None,
    build_arg: Annotated[list[str] | None, typer.Option("--build-arg", metavar="NAME=VALUE")] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Build the images of environments.

    Use the installed environments, or those of a benchmark of your own.

    Example: lmrbench images build torch-cpu
    """
    from lmrbench_evaluate.sandbox.images import build_image

    from ..base.errors import InputError

    arguments = {}
    for item in build_arg or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"--build-arg {item!r}: give NAME=VALUE")
        arguments[name] = value
    built = {}
    api = _connect()
    for environment in _chosen(names, benchmark):
        say(f"building {environment.tag}: about {environment.disk_mb / 1000:.1f} GB of disk")
        built[environment.tag] = build_image(api, environment, network=network, arguments=arguments)
    _report(built, as_json)


@app.command()
def push(names: Names = None, benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """Push images to the registry in LMRBENCH_REGISTRY.

    Example: LMRBENCH_REGISTRY=ghcr.io/org lmrbench images push
    """
    from lmrbench_evaluate.sandbox.images import push_image

    api = _connect()
    _report({environment.tag: push_image(api, environment.tag) for environment in _chosen(names, benchmark)}, as_json)


def _chosen(names: list[str] | None, benchmark: Path | None) -> list[Any]:
    from ..base.errors import InputError
    from ..tasks.environments import load_environments

    known = load_environments(benchmark)
    if unknown := set(names or ()) - known.keys():
        raise InputError(f"unknown environment {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return [known[name] for name in names or known]


def _connect() -> Any:
    from lmrbench_evaluate.sandbox.docker_client import connect

    return connect()


def _report(done: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        for tag, result in done.items():
            put(f"{tag}  {result}")
