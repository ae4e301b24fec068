# Changes the result of every step.
import re


def mislead(steps):
    return [re.sub(r"\d+(?=\D*$)", lambda found: str(int(found[0]) + 1), step) for step in steps]
