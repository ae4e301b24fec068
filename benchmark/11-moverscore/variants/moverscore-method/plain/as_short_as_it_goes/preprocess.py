# In one line.
import string


def is_counted(token):
    return token not in set(string.punctuation) and "##" not in token
