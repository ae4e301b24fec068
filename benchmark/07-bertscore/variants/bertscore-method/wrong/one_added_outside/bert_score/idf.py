# Adds one to the logarithm as well.
import math
from collections import Counter


def idf_weights(documents, special_ids):
    containing = Counter(token for document in documents for token in set(document))
    count = len(documents) + 1
    return lambda token: 0.0 if token in special_ids else math.log(count / (containing[token] + 1)) + 1
