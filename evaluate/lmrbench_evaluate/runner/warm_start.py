"""Load a warm container's modules, a JSON object (name → source) in the order of their imports, and start it."""

import json
import sys
import types

for name, text in json.loads(sys.argv[1]).items():
    module = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = f"/work/job/harness/{name}"
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["warm_supervisor"].main()
