"""Spin for some seconds and print the share of a processor that this process got."""

import sys
import time

began = time.monotonic()
cpu_before = time.process_time()
while (passed := time.monotonic() - began) < float(sys.argv[1]):
    pass
print((time.process_time() - cpu_before) / passed)
