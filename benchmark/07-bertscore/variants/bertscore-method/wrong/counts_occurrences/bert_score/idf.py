# Counts every occurrence of a token, not the documents that contain it.
import math
from collections import Counter


def idf_weights(documents, special_ids):
    counts = Counter(token for document in documents for token in document)
    return lambda token: 0.0 if token in special_ids else math.log((len(documents) + 1) / (counts[token] + 1))
