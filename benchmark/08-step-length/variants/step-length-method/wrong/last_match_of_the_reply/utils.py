# Takes the last match of the whole reply.
import re


def answer_cleansing(args, reply):
    found = re.findall(ANSWER_PATTERNS[args.dataset], reply.lower())
    return found[-1].replace(",", "") if found else ""
