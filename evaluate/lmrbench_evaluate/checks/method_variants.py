"""Read the variants of a method: folders with the goal functions that differ, put in place of the reference's."""

from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import SourceError, parse
from lmrbench_data.base.splice import defines, splice_functions
from lmrbench_data.tasks.task import Method, Task


def variant_files(task: Task, method: Method, folder: Path) -> dict[str, str]:
    """Return the goal files of the reference with the functions of a variant in them.

    Raises:
        InputError: a file of the variant is not a goal file, is not Python, or defines no goal function.
    """
    files = task.golden_files(method)
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).as_posix()
        if path not in files:
            raise InputError(f"{file}: {path} is not a goal file; known are {', '.join(files)}")
        try:
            source = file.read_text(encoding="utf-8")
            tree = parse(source)
            names = [name for name in method.goals[path] if defines(tree, name, method.goals[path])]
            if not names:
                raise InputError(f"{file}: defines none of the goal functions of {path}")
            files[path] = splice_functions(files[path], names, source)
        except (SourceError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from error
    return files
