# Keeps the pieces that continue a word.
import string


def is_counted(token: str) -> bool:
    return token not in set(string.punctuation)
