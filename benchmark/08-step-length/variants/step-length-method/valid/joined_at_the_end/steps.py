# Rounds as a loop, match statement, regular expressions with replacement.
import re
from itertools import count as forever


def count_steps(rationale):
    return len([part for part in re.split(r"(?<=[.!?])(?:\s+|$)", rationale)]) - 1


def compress(steps, count):
    return ["; ".join(step[:-1] for step in group) + "." for group in even_groups(list(steps), count)]


def expand(steps, count):
    behind = {place: [] for place in range(len(steps))}
    missing = count - len(steps)
    for turn in forever():
        for place, step in enumerate(steps):
            if missing == 0:
                return [text for place, step in enumerate(steps) for text in (step, *behind[place])]
            behind[place].append(insertion(INSERTIONS[turn % 5], step))
            missing -= 1


def insertion(kind, step):
    match kind:
        case "repeat_state":
            return "So far we know this: " + step
        case "self_verification":
            return "We check that this step is right: " + step
        case "read_question_again":
            return "Let us read the question again before we go on."
        case "think_about_the_word":
            longest = ""
            for word in re.findall(r"[A-Za-z0-9]+", step):
                longest = word if len(word) > len(longest) else longest
            return "Let us think about the word " + longest + "."
    numbers = re.findall(r"\b\d+\b", step) or re.findall(r"\w+", step)
    return "As an equation, x = " + numbers[-1] + "."


def mislead(steps):
    changed = list(steps)
    with_number = [place for place, step in enumerate(steps) if re.search(r"\d", step)]
    if with_number:
        place = with_number[-1]
        changed[place] = re.sub(r"(\d+)(?!.*\d)", lambda found: str(int(found[1]) + 1), changed[place])
    return changed
