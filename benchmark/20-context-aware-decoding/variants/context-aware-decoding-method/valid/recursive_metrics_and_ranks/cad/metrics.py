# A recursive subsequence, and words from a table of characters.
import string
from functools import lru_cache


def exact_match(prediction: str, reference: str) -> float:
    table = str.maketrans("", "", string.punctuation)
    sides = [
        " ".join(w for w in text.lower().translate(table).split() if w not in ("a", "an", "the"))
        for text in (prediction, reference)
    ]
    return 1.0 if sides[0] == sides[1] else 0.0


def rouge_l(prediction: str, reference: str) -> float:
    a, b = prediction.lower().split(), reference.lower().split()

    @lru_cache(maxsize=None)
    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        if a[i] == b[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return 2 * longest(0, 0) / (len(a) + len(b)) if a and b else 0.0
