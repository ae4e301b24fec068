"""The original benchmark, LMR-BENCH: what it published, as facts kept here and as a clone to import from."""
