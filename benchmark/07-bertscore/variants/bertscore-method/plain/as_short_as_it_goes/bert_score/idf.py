# The formula of the paper.
import math
from collections import Counter


def idf_weights(documents, special_ids):
    n = Counter(t for d in documents for t in set(d))
    return lambda t: 0.0 if t in special_ids else math.log((len(documents) + 1) / (n[t] + 1))
