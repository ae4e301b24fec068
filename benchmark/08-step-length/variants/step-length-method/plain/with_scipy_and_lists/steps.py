# Another style: more names, fewer expressions on a line.
import re
from collections.abc import Sequence

TEMPLATES = {
    "repeat_state": "So far we know this: {step}",
    "self_verification": "We check that this step is right: {step}",
    "read_question_again": "Let us read the question again before we go on.",
    "think_about_the_word": "Let us think about the word {word}.",
    "make_equation": "As an equation, x = {result}.",
}


def count_steps(rationale: str) -> int:
    sentence_end = re.compile(r"[.!?](?=\s|\Z)")
    return sum(1 for _ in sentence_end.finditer(rationale))


def compress(steps: Sequence[str], count: int) -> list[str]:
    merged = []
    for group in even_groups(steps, count):
        bare = []
        for step in group:
            bare.append(step[:-1] if step.endswith(".") else step)
        merged.append("; ".join(bare) + ".")
    return merged


def expand(steps: Sequence[str], count: int) -> list[str]:
    insertions = [[] for _ in steps]
    number_of_insertions = count - len(steps)
    for index in range(number_of_insertions):
        round_number = index // len(steps)
        position = index % len(steps)
        kind = INSERTIONS[round_number % len(INSERTIONS)]
        insertions[position].append(insertion(kind, steps[position]))
    result = []
    for step, added in zip(steps, insertions):
        result.append(step)
        result.extend(added)
    return result


def insertion(kind: str, step: str) -> str:
    words = re.findall(r"[^\W_]+", step)
    numbers = [word for word in words if re.fullmatch(r"\d+", word)]
    longest = max(words, key=lambda word: len(word))
    result = numbers[-1] if numbers else words[-1]
    return TEMPLATES[kind].format(step=step, word=longest, result=result)


def mislead(steps: Sequence[str]) -> list[str]:
    result = list(steps)
    for index in range(len(result) - 1, -1, -1):
        matches = list(re.finditer(r"\d+", result[index]))
        if not matches:
            continue
        start, end = matches[-1].span()
        wrong = int(matches[-1].group()) + 1
        result[index] = f"{result[index][:start]}{wrong}{result[index][end:]}"
        break
    return result
