"""The files that go into the sandbox beside the rebuilt repository; nothing here is imported by the harness.

`runner.py` runs the cases, `encoding.py` turns their outputs into bytes, `lmrbench_cases.py` is what cases import. They
need Python 3.11 and the standard library; torch, NumPy and pandas are used only where the task itself uses them.
"""
