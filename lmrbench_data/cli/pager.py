"""Show long text through the user's pager, as git does: in a terminal, if it is longer than the screen."""

import os
import shutil
import subprocess
import sys

from .output import write

#: Options of `less` if the user has set none: quit if all fits, keep colours, leave the text on the screen.
LESS = "FRX"


def page(text: str) -> None:
    """Print text with its colours: through $PAGER (`less` if unset) where it helps, else directly.

    Pipes, CI and a dumb terminal never see a pager, nor does a user whose PAGER is empty or `cat`.
    """
    command = os.environ.get("PAGER", "less").strip()
    is_long = text.count("\n") >= shutil.get_terminal_size().lines
    wanted = sys.stdout.isatty() and not os.environ.get("CI") and os.environ.get("TERM", "dumb") != "dumb"
    if not (wanted and is_long and command not in ("", "cat") and _ran(command, text)):
        write(text)


def _ran(command: str, text: str) -> bool:
    """Run the pager; return whether it exists."""
    environment = {"LESS": LESS, "LESSCHARSET": "utf-8", **os.environ}
    # Through a shell, like git: PAGER may hold options.
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment) as pager:
        try:
            pager.communicate(text.encode("utf-8", "replace"))  # the user may leave before the end
        except KeyboardInterrupt:
            pager.wait()  # Ctrl-C belongs to the pager, which stays
        return pager.returncode != 127  # the shell's status for a missing command
