"""The code of the verdict as one reproducible zip, so that a verdict elsewhere comes from the same modules."""

import ast
import functools
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import lmrbench_evaluate
from lmrbench_evaluate import runner

_PACKAGES = {
    folder.name: folder
    for folder in (Path(__file__).resolve().parents[1], Path(lmrbench_evaluate.__file__).resolve().parent)
}
_VERIFIER = f"{__package__}.verifier"
#: The earliest time that a zip can state.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX, _FILE_MODE = 3, 0o100644 << 16


@functools.cache
def harness_zip() -> bytes:
    """Return the verifier, all modules that it imports, and the runner; equal code gives equal bytes."""
    found: dict[str, Path] = {}
    waiting = [_VERIFIER]
    while waiting:
        name = waiting.pop()
        if name not in found and (path := _file(name)):
            found[name] = path
            waiting += [name.rpartition(".")[0], *_imported(name, path)]
    paths = {*found.values(), *Path(runner.__file__).resolve().parent.glob("*.py")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, path in sorted((_member(path), path) for path in paths):
            info = zipfile.ZipInfo(member, _EPOCH)
            info.create_system, info.external_attr = _UNIX, _FILE_MODE
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def _file(module: str) -> Path | None:
    """Return the file of one of our modules; None for any other name."""
    top, *rest = module.split(".")
    if top not in _PACKAGES:
        return None
    path = _PACKAGES[top].joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _imported(name: str, path: Path) -> Iterator[str]:
    """Yield the names that a module imports when it is imported itself; some may not be modules."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _member(path: Path) -> str:
    package = next(folder for folder in _PACKAGES.values() if folder in path.parents)
    return path.relative_to(package.parent).as_posix()
