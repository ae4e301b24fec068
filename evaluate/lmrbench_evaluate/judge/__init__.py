"""The LLM judge: says how correct a candidate's function is beside the reference.

Data flows one way, one module per step: `strip_remarks` and `neutralise` (how code and other text
are shown), `changes` (what an answer changes), `material` (the sections of a question) and
`question` (the messages) → `asking` (asks and logs) → `opinion` (reads the reply) →
`judgement_log` (judgements.jsonl). `judging` plans the votes.
"""
