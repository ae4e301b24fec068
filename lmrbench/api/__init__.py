"""The Python API: evaluate, judge and report without writing a file by hand; see `lmrbench`."""
