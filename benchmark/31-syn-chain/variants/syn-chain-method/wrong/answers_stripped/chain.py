# Strips the answers before they go into the next prompt.
def run_chain(model, sentence, aspect):
    table = spacy_result_to_conll(sentence)
    relations = model.reply(SYNTAX.format(sentence=sentence, table=table, aspect=aspect)).strip()
    opinion = model.reply(OPINION.format(sentence=sentence, aspect=aspect, relations=relations)).strip()
    sentiment = model.reply(SENTIMENT.format(sentence=sentence, aspect=aspect, opinion=opinion))
    return ChainResult(relations, opinion, read_label(sentiment))
