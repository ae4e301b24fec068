"""The reasoning of a demonstration: count its steps, set their number, put in a wrong result."""

import re
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def count_steps(rationale: str) -> int:
    """Number of steps in a rationale."""
    return len(re.findall(r"[.!?](?=\s|$)", rationale))


def set_steps(steps: Sequence[str], count: int) -> list[str]:
    """Bring a rationale to `count` steps without adding or losing a fact.

    Args:
        steps: sentences that end with a full stop, one a step.
        count: the wanted number, at least 1.
    """
    if count < 1:
        raise ValueError(f"a rationale has at least one step, not {count}")
    return compress(steps, count) if count < len(steps) else expand(steps, count)


def compress(steps: Sequence[str], count: int) -> list[str]:
    """Shorten a rationale: all facts stay, the reasoning is in fewer steps.

    Args:
        steps: sentences that end with a full stop, one a step.
        count: the wanted number, from 1, less than that of the steps.
    """
    return ["; ".join(step.removesuffix(".") for step in group) + "." for group in even_groups(steps, count)]


def expand(steps: Sequence[str], count: int) -> list[str]:
    """Lengthen a rationale by insertions that say nothing new.

    Args:
        steps: sentences that end with a full stop, one a step.
        count: the wanted number, at least that of the steps; any number of insertions may be needed.
    """
    expanded = [[step] for step in steps]
    for extra in range(count - len(steps)):
        turn, position = divmod(extra, len(steps))
        kind = INSERTIONS[turn % len(INSERTIONS)]
        expanded[position].append(insertion(kind, steps[position]))
    return [step for group in expanded for step in group]


#: Kinds of insertion that the paper names, in the order in which they are used.
INSERTIONS = ("repeat_state", "self_verification", "read_question_again", "think_about_the_word", "make_equation")


def insertion(kind: str, step: str) -> str:
    """A sentence to insert behind a step.

    Args:
        kind: one of `INSERTIONS`.
        step: the sentence, which ends with a full stop.
    """
    if kind == "repeat_state":
        return f"So far we know this: {step}"
    if kind == "self_verification":
        return f"We check that this step is right: {step}"
    if kind == "read_question_again":
        return "Let us read the question again before we go on."
    words = re.findall(r"\w+", step)
    if kind == "think_about_the_word":
        return f"Let us think about the word {max(words, key=len)}."
    numbers = [word for word in words if word.isdigit()]
    return f"As an equation, x = {(numbers or words)[-1]}."


def mislead(steps: Sequence[str]) -> list[str]:
    """Put a wrong intermediate result into a rationale; the number of steps stays the same.

    Args:
        steps: sentences that end with a full stop, one a step. All numbers in them are whole and not negative.
    """
    steps = list(steps)
    for place in reversed(range(len(steps))):
        numbers = list(re.finditer(r"\d+", steps[place]))
        if numbers:
            last = numbers[-1]
            steps[place] = steps[place][: last.start()] + str(int(last.group()) + 1) + steps[place][last.end() :]
            break
    return steps


def even_groups(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """Cut a sequence into `count` neighbouring groups whose sizes differ by at most one, larger ones first."""
    size, larger = divmod(len(items), count)
    starts = [group * size + min(group, larger) for group in range(count + 1)]
    return [items[start:end] for start, end in zip(starts, starts[1:], strict=False)]
