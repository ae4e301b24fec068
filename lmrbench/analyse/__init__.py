"""The LMR-BENCH paper's analyses and a few more: a module each, on published facts or on runs."""
