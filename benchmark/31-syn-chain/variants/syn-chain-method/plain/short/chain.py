import re


def read_label(reply):
    words = re.findall(r"\w+", reply.lower())
    labels = [w for w in words if w in LABELS]
    return labels[-1] if labels else "neutral"


def run_chain(model, sentence, aspect):
    table = spacy_result_to_conll(sentence)
    r = model.reply(SYNTAX.format(sentence=sentence, table=table, aspect=aspect))
    o = model.reply(OPINION.format(sentence=sentence, aspect=aspect, relations=r))
    y = model.reply(SENTIMENT.format(sentence=sentence, aspect=aspect, opinion=o))
    return ChainResult(r, o, read_label(y))
