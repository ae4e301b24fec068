"""Error analysis (LMR-BENCH, Section 5.3): why failed answers fail, by a model and by people, with evidence."""
