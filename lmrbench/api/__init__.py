"""The Python API: evaluate, judge and report without writing a file by hand; `lmrbench_data` lists its names."""
