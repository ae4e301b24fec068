"""Lengthen or shorten the reasoning of a demonstration: count, merge and insert reasoning steps."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def count_steps(rationale: str) -> int:
    """Number of sentences in a rationale; a decimal point does not end one."""
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
    """Merge neighbouring steps into `count` longer sentences: all facts stay, the reasoning is in fewer pieces."""
    return ["; ".join(step.removesuffix(".") for step in group) + "." for group in even_groups(steps, count)]


def expand(steps: Sequence[str], count: int) -> list[str]:
    """Insert steps that say nothing new until there are `count`.

    The insertions go behind the first step, the second, and so on, then round again with the next strategy.
    """
    expanded = [[step] for step in steps]
    for extra in range(count - len(steps)):
        turn, position = divmod(extra, len(steps))
        strategy = EXPANSIONS[turn % len(EXPANSIONS)]
        expanded[position].append(strategy(steps[position]))
    return [step for group in expanded for step in group]


def repeat_state(step: str) -> str:
    """State again what has been found."""
    return f"So far we know this: {step}"


def verify_step(step: str) -> str:
    """Claim to check the step."""
    return f"We check that this step is right: {step}"


def reread_question(step: str) -> str:
    """Turn back to the question; the step itself is not used."""
    return "Let us read the question again before we go on."


EXPANSIONS: tuple[Callable[[str], str], ...] = (repeat_state, verify_step, reread_question)


def even_groups(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """Cut a sequence into `count` neighbouring groups whose sizes differ by at most one, larger ones first."""
    size, larger = divmod(len(items), count)
    starts = [group * size + min(group, larger) for group in range(count + 1)]
    return [items[start:end] for start, end in zip(starts, starts[1:], strict=False)]
