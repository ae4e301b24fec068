"""The analyses of the LMR-BENCH paper and a few more: one module each, on the original's facts or on any runs."""
