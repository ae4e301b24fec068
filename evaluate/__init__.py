"""LMR-Bench's evaluation side: prediction rows in, verdicts out.

Data flows one way, one module an arrow: `predictions` → `answer` and `workspace` (rebuild the repository) → `sandbox`
(run it) → `decode` and `compare` → `verdict` → `run` (results.jsonl) → `report`.
"""
