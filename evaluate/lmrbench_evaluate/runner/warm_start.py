"""Load the modules of a warm container from stdin and start it; sent as the `-c` argument of `python`.

Argument: the size of a JSON object, name → source, in the order in which the modules import each other.
"""

import json
import os
import sys
import types

content, size = b"", int(sys.argv[1])
while len(content) < size:  # not `sys.stdin`, which would read ahead
    content += os.read(0, size - len(content))
for name, text in json.loads(content).items():
    module = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = f"/work/job/harness/{name}"
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["warm_supervisor"].main()
