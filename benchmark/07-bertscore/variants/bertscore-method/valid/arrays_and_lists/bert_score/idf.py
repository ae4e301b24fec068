# The table is made beforehand.
import math


def idf_weights(documents, special_ids):
    documents = [frozenset(document) for document in documents]
    vocabulary = frozenset().union(*documents)
    largest = math.log1p(len(documents))
    table = {token: largest - math.log1p(sum(token in document for document in documents)) for token in vocabulary}
    table.update(dict.fromkeys(special_ids, 0.0))
    return lambda token: table.get(token, largest)
