"""Unpack the workspace from stdin into a folder and start the runner; sent as the `-c` argument of `python -I`.

Arguments: length of the tar in bytes, work folder, and (the `local` sandbox only) rlimits as JSON. The harness makes
the tar (`rebuild/workspace.py`): plain files only, with checked paths. The length is given because some engines do not
pass on the end of the input.
"""

import io
import json
import os
import runpy
import sys
import tarfile

size, work = int(sys.argv[1]), sys.argv[2]
content = sys.stdin.buffer.read(size)
if len(content) != size:
    sys.exit("bootstrap: the workspace arrived incomplete")
with tarfile.open(fileobj=io.BytesIO(content)) as tar:
    for member in tar:
        path = os.path.join(work, member.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(tar.extractfile(member).read())  # type: ignore[union-attr]  # all members are files
        os.chmod(path, member.mode)
del content, tar
if len(sys.argv) > 3:
    import resource

    for name, value in json.loads(sys.argv[3]).items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(getattr(resource, name), (value, value))
for name in ("home", "tmp"):
    os.makedirs(os.path.join(work, name), exist_ok=True)
os.environ.update(HOME=os.path.join(work, "home"), TMPDIR=os.path.join(work, "tmp"))
runpy.run_path(os.path.join(work, "harness", "runner.py"), run_name="__main__")
