"""The three prompts of the reasoning chain, and the single prompt that it is compared with."""

SYNTAX = """Step 1. You see a sentence and its dependency parse, one row a token.
Sentence: {sentence}
Parse:
{table}
Which words does the parse relate to the aspect "{aspect}"? Name those that could carry an opinion."""

OPINION = """Step 2. Sentence: {sentence}
Words that are related to the aspect "{aspect}": {relations}
What is the opinion on the aspect? Keep a negation."""

SENTIMENT = """Step 3. Sentence: {sentence}
Opinion on the aspect "{aspect}": {opinion}
Is the sentiment towards the aspect positive, negative or neutral?"""

DIRECT = """Step 0. Sentence: {sentence}
Is the sentiment towards the aspect "{aspect}" positive, negative or neutral?"""
