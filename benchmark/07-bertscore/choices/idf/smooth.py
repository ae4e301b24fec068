from collections import Counter


def idf_weights(documents, special_ids):
    containing = Counter(token for document in documents for token in set(document))

    def weight(token):
        return 0.0 if token in special_ids else 0.1 / (0.1 + containing[token] / len(documents))

    return weight
