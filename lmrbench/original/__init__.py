"""The published results of the original benchmark, LMR-BENCH, as facts."""
