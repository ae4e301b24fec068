"""The LLM judge: compares a candidate's function with the reference and says how correct its logic and code are.

Data flows one way, one module per step: `bare` and `neutralise` (how an answer is shown), `goal_files` and `material`
(the parts of the repository shown beside it) and `question` (the messages) → `asking` (asks and logs) → `opinion`
(reads the reply) → `judgement_log` (judgements.jsonl) → `summary`. `judging` plans the votes.
"""
