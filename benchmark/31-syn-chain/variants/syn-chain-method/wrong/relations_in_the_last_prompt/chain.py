# Passes the related words on to the last prompt, together with the opinion.
def run_chain(model, sentence, aspect):
    table = spacy_result_to_conll(sentence)
    relations = model.reply(SYNTAX.format(sentence=sentence, table=table, aspect=aspect))
    opinion = model.reply(OPINION.format(sentence=sentence, aspect=aspect, relations=relations))
    sentiment = model.reply(SENTIMENT.format(sentence=sentence, aspect=aspect, opinion=f"{relations}\n{opinion}"))
    return ChainResult(relations, opinion, read_label(sentiment))
