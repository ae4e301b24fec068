# Looks behind the first answer phrase.
import re


def answer_cleansing(args, reply):
    if not args.method.startswith("zero_shot"):
        reply = reply.partition(DEMO_ANSWER_PHRASE)[2] or reply
    found = re.search(ANSWER_PATTERNS[args.dataset], reply.lower())
    return found.group().replace(",", "") if found else ""
