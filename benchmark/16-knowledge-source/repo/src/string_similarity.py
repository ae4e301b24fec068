"""Jaro and Jaro-Winkler similarity of two strings, 0 (nothing in common) to 1 (equal). Case matters."""

#: Weight of each character of the common prefix.
PREFIX_WEIGHT = 0.1
#: Longest common prefix that counts.
MAX_PREFIX = 4
#: The prefix counts only if the Jaro similarity is above this.
BOOST_FLOOR = 0.7


def jaro_similarity(first: str, second: str) -> float:
    """Jaro similarity: equal characters that are not far apart, less those that are out of order."""
    if not first or not second:
        return float(first == second)
    reach = max(max(len(first), len(second)) // 2 - 1, 0)
    taken = [False] * len(second)
    matched_first = []
    for i, character in enumerate(first):
        for j in range(max(i - reach, 0), min(i + reach + 1, len(second))):
            if second[j] == character and not taken[j]:
                taken[j] = True
                matched_first.append(character)
                break
    matched_second = [character for character, is_taken in zip(second, taken, strict=True) if is_taken]
    matches = len(matched_first)
    if matches == 0:
        return 0.0
    out_of_order = sum(a != b for a, b in zip(matched_first, matched_second, strict=True)) // 2
    return (matches / len(first) + matches / len(second) + (matches - out_of_order) / matches) / 3


def jaro_winkler_similarity(first: str, second: str) -> float:
    """Jaro similarity, raised for strings that begin alike."""
    similarity = jaro_similarity(first, second)
    if similarity <= BOOST_FLOOR:
        return similarity
    prefix = 0
    for a, b in zip(first[:MAX_PREFIX], second[:MAX_PREFIX], strict=False):
        if a != b:
            break
        prefix += 1
    return similarity + prefix * PREFIX_WEIGHT * (1 - similarity)
