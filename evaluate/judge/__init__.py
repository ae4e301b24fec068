"""The LLM judge: reads a candidate's function beside the reference and says how far its logic and code are right.

Data flows one way, one module an arrow: `prose`, `untrusted` (what of an answer is not shown), `reach` (which files
are) and `prompt` (what the model is asked) → `client` (asks it) → `parse` (what it answered) → `store`
(judgements.jsonl) → `summary`; `run` wires them, `cache` and `prices` save money.
"""
