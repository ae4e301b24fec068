# Leaves out every token that consists of punctuation, such as `...`.
import string


def is_counted(token: str) -> bool:
    return not all(letter in string.punctuation for letter in token) and "##" not in token
