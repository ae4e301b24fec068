# Characters one by one, and a count of insertions for each step.
import itertools
from collections.abc import Sequence


def count_steps(rationale: str) -> int:
    following = rationale[1:] + " "
    return sum(mark in ".!?" and after.isspace() for mark, after in zip(rationale, following))


def compress(steps: Sequence[str], count: int) -> list[str]:
    left, merged = list(steps), []
    for groups in range(count, 0, -1):
        size = -(-len(left) // groups)
        group, left = left[:size], left[size:]
        merged.append("; ".join(step.rstrip(".") for step in group) + ".")
    return merged


def expand(steps: Sequence[str], count: int) -> list[str]:
    rounds, last = divmod(count - len(steps), len(steps))
    result = []
    for place, step in enumerate(steps):
        kinds = itertools.islice(itertools.cycle(INSERTIONS), rounds + (place < last))
        result += [step, *(insertion(kind, step) for kind in kinds)]
    return result


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()


def insertion(kind: str, step: str) -> str:
    words = _words(step)
    longest = sorted(words, key=len, reverse=True)[0]
    result = next((word for word in reversed(words) if word.isdigit()), words[-1])
    return {
        "repeat_state": "So far we know this: " + step,
        "self_verification": "We check that this step is right: " + step,
        "read_question_again": "Let us read the question again before we go on.",
        "think_about_the_word": f"Let us think about the word {longest}.",
        "make_equation": f"As an equation, x = {result}.",
    }[kind]


def mislead(steps: Sequence[str]) -> list[str]:
    found = [(place, word) for place, step in enumerate(steps) for word in _words(step) if word.isdigit()]
    if not found:
        return list(steps)
    place, number = found[-1]
    head, _, tail = steps[place].rpartition(number)
    return [*steps[:place], f"{head}{int(number) + 1}{tail}", *steps[place + 1 :]]
