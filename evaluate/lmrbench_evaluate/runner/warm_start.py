"""Load the modules of a warm container and start it; sent as the `-c` argument of `python`.

Argument: a JSON object, name → source, in the order in which the modules import each other.
"""

import json
import sys
import types

for name, text in json.loads(sys.argv[1]).items():
    module = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = f"/work/job/harness/{name}"
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["warm_supervisor"].main()
