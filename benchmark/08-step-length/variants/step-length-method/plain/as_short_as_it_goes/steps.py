# What the text says, a line each.
import re


def count_steps(rationale):
    return len(re.findall(r"[.!?](?:\s|$)", rationale))


def compress(steps, count):
    return ["; ".join(s.rstrip(".") for s in g) + "." for g in even_groups(steps, count)]


def expand(steps, count):
    out = [[s] for s in steps]
    n = len(steps)
    for i in range(count - n):
        out[i % n].append(insertion(INSERTIONS[i // n % len(INSERTIONS)], steps[i % n]))
    return sum(out, [])


def insertion(kind, step):
    words = re.findall(r"\w+", step)
    if kind == "repeat_state":
        return "So far we know this: " + step
    if kind == "self_verification":
        return "We check that this step is right: " + step
    if kind == "read_question_again":
        return "Let us read the question again before we go on."
    if kind == "think_about_the_word":
        return f"Let us think about the word {max(words, key=len)}."
    nums = re.findall(r"\d+", step)
    return f"As an equation, x = {nums[-1] if nums else words[-1]}."


def mislead(steps):
    steps = list(steps)
    for i in range(len(steps) - 1, -1, -1):
        if re.search(r"\d", steps[i]):
            m = re.match(r"(.*?)(\d+)(\D*)$", steps[i])
            steps[i] = m[1] + str(int(m[2]) + 1) + m[3]
            return steps
    return steps
