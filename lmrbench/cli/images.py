"""`lmrbench images` and `doctor`: the Docker images of environments, and checks of the machine."""

from typing import Annotated

import typer

from lmrbench_data.tasks.environments import choose_environments
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.images import build_image

from ..doctor import DoctorSettings, Finding, examine
from .options import BenchmarkFolder, options
from .output import Json, emit, print_err, print_rich

app = typer.Typer(help="Build the Docker images of environments.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(help="Environments (default: all).")]


@app.callback()
def _images() -> None:
    """Keep the name of the only command."""


@app.command()
def build(
    names: Names = None,
    agent: Annotated[
        str, typer.Option(help="Add this agent (such as codex or mini-swe-agent) to the images.")
    ] = "",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Build the images of environments.

    Builds the installed environments, or those of --benchmark; with --agent, an image for an agent
    on each of them. If builds cannot reach a package index, set LMRBENCH_BUILD_NETWORK=host.

    Example: lmrbench images build torch-cpu
    """
    from ..generation.agents.agent_image import build_agent_images

    environments = choose_environments(names or (), benchmark)
    if agent:
        tags = [environment.tag for environment in environments]
        built = build_agent_images(agent, tags, benchmark)
    else:
        api = connect()
        built = {}
        for environment in environments:
            size = environment.disk_mb / 1000
            print_err(f"building {environment.tag}: about {size:.1f} GB of disk")
            built[environment.tag] = build_image(api, environment)
    emit(built, as_json, *(f"{tag}  {identity}" for tag, identity in built.items()))


_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@options(DoctorSettings)
def doctor(settings: DoctorSettings, as_json: Json = False) -> None:
    """Examine this machine: can evaluation work here?

    Checks versions, engine, images, sandbox, disk, memory and the Hub's token. With --model it also
    asks this model for one token. Each line says how to fix the problem.

    The exit status is 1 if evaluation, or the model that was named, cannot work.

    Example: lmrbench doctor --model my-model --base-url http://localhost:8000/v1
    """
    findings = []
    for finding in examine(settings):
        findings.append(finding)
        if not as_json:
            _print_finding(finding)
    works = all(finding.severity != "problem" for finding in findings)
    verdict = "\nEvaluation can work here." if works else "\nFix the problems above first."
    emit([finding._asdict() for finding in findings], as_json, verdict)
    if not works:
        raise typer.Exit(1)


def _print_finding(finding: Finding) -> None:
    from rich.text import Text

    text = Text.assemble(
        (f"{finding.severity:8} ", _COLOURS[finding.severity]), f"{finding.check:12} {finding.text}"
    )
    if finding.fix:
        text.append(f"\n{' ' * 22}\N{RIGHTWARDS ARROW} {finding.fix}")
    print_rich(text)
