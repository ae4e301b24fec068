# Splits the answer into words from its end, and asks step by step.
import re


def read_label(reply):
    for word in reversed(re.split(r"\W+", reply.casefold())):
        if word in ("positive", "negative", "neutral"):
            return word
    return "neutral"


def run_chain(model, sentence, aspect):
    known = {"sentence": sentence, "aspect": aspect, "table": spacy_result_to_conll(sentence)}
    for prompt, name in ((SYNTAX, "relations"), (OPINION, "opinion"), (SENTIMENT, "sentiment")):
        known[name] = model.reply(prompt.format(**known))
    return ChainResult(known["relations"], known["opinion"], read_label(known["sentiment"]))
