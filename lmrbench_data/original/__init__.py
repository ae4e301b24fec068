"""The original benchmark, LMR-BENCH: its published results, as facts kept here and as a clone to import from."""
