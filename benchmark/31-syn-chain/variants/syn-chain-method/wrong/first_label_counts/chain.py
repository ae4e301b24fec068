# Takes the label that an answer names first.
import re


def read_label(reply):
    found = re.findall(rf"\b({'|'.join(LABELS)})\b", reply.lower())
    return found[0] if found else "neutral"
