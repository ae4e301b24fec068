# Changes the first number of the rationale.
import re


def mislead(steps):
    steps = list(steps)
    for place, step in enumerate(steps):
        if re.search(r"\d", step):
            steps[place] = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), step, count=1)
            break
    return steps
