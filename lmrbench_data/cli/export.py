"""`lmrbench export`: the benchmark as task folders for other harnesses."""

import typer

from ..export.settings import HarborSettings
from .options import options
from .output import Json, emit, progress_bar

app = typer.Typer(help="Export tasks for Harbor and Inspect.", no_args_is_help=True)


@app.command()
@options(HarborSettings)
def harbor(settings: HarborSettings, as_json: Json = False) -> None:
    """Write a task folder for Harbor per instance.

    Each folder has the workspace, the reference and a verifier that gives our verdict as rewards. The folders hold the
    hidden tests and the answers. Re-run the command to resume; it replaces only its own folders.

    Example: lmrbench export harbor tasks --config method
    """
    from ..base.text import counted
    from ..export.harbor import export_harbor

    kept = f"finished folders are in {settings.out}"
    with progress_bar("tasks", shown=not as_json, kept=kept) as progress:
        done = export_harbor(settings, progress)
    emit(
        {"folder": str(settings.out), "instances": done.instances, "written": done.written},
        as_json,
        f"{settings.out}: {counted(len(done.instances), 'task')}, {done.written} written",
        f"run with: harbor run -p {settings.out} -a AGENT -m MODEL",
    )
