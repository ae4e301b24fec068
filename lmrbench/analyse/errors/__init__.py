"""Error analysis (LMR-BENCH, Section 5.3): why failed answers fail, by a model, with evidence."""
