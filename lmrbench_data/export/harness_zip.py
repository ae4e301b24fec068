"""The code of both packages as one reproducible zip, so that a verdict elsewhere comes from the same modules."""

import functools
import io
import zipfile
from pathlib import Path

import lmrbench_evaluate

#: The earliest time that a zip can state.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX, _FILE_MODE = 3, 0o100644 << 16
#: Folders of an installed package that are data.
_DATA = ("benchmark", "cards")


@functools.cache
def harness_zip() -> bytes:
    """Return all modules of both packages; equal code gives equal bytes."""
    modules = {}
    for package in (Path(__file__).resolve().parents[1], Path(lmrbench_evaluate.__file__).resolve().parent):
        for path in package.rglob("*.py"):
            if path.relative_to(package).parts[0] not in _DATA:
                modules[path.relative_to(package.parent).as_posix()] = path
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, path in sorted(modules.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = _UNIX, _FILE_MODE
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
