"""`lmrbench export`: the benchmark in the formats of other harnesses."""

import typer

from ..export.settings import ExportSettings, HarborSettings
from .options import options
from .output import Json, interruptible, print_json, put
from .progress import progress_bar

app = typer.Typer(help="Export tasks for Harbor, Inspect and SWE-bench agents.", no_args_is_help=True)


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

    finished = f"finished folders are in {settings.out}"
    with interruptible(finished), progress_bar("tasks", shown=not as_json) as progress:
        done = export_harbor(settings, progress)
    if as_json:
        print_json({"folder": str(settings.out), "instances": done.instances, "written": done.written})
    else:
        put(f"{settings.out}: {counted(len(done.instances), 'task')}, {done.written} written")
        put(f"run with: harbor run -p {settings.out} -a AGENT -m MODEL")


@app.command()
@options(ExportSettings)
def swebench(settings: ExportSettings, as_json: Json = False) -> None:
    """Write rows and repositories for SWE-bench agents.

    DIR/instances.jsonl has one row per instance with the columns of SWE-bench; DIR/repos has a git bundle for each
    masked repository. `lmrbench evaluate` reads the predictions. The rows hold the reference in `patch`.

    Example: lmrbench export swebench swebench --config function
    """
    from ..base.text import counted
    from ..export.swebench import INSTANCES, export_swebench

    with progress_bar("repositories", shown=not as_json) as progress:
        done = export_swebench(settings, progress)
    if as_json:
        print_json({"folder": str(settings.out), "instances": done.instances, "written": done.written})
    else:
        put(f"{settings.out / INSTANCES}: {counted(len(done.instances), 'row')}")
        config = f" --config {settings.config}" if settings.config else " --config CONFIG, one configuration at a time"
        put(f"evaluate the predictions with: lmrbench evaluate PREDICTIONS{config}")
