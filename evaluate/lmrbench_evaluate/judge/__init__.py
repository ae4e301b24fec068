"""The LLM judge: compares a candidate's function with the reference and says how correct its logic and code are.

Data flows one way, one module an arrow: `bare` and `neutralise` (how an answer is shown), `reach` (which of its files
are shown), `definitions` (the parts of the repository shown beside it) and `question` (the messages) → `client` (asks)
→ `parse` (reads the reply) → `judgement_log` (judgements.jsonl) → `summary`. `asking` and `judging` wire them; `cache`
saves money.
"""
