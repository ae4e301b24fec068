# Decides by length first.
from string import punctuation


def is_counted(token: str) -> bool:
    if len(token) == 1:
        return token not in punctuation
    return token.find("##") < 0
