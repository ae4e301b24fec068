# Writes the equation with the first number, and thinks about the last word.
import re


def insertion(kind, step):
    words = re.findall(r"\w+", step)
    numbers = re.findall(r"\d+", step)
    return {
        "repeat_state": f"So far we know this: {step}",
        "self_verification": f"We check that this step is right: {step}",
        "read_question_again": "Let us read the question again before we go on.",
        "think_about_the_word": f"Let us think about the word {words[-1]}.",
        "make_equation": f"As an equation, x = {(numbers or words)[0]}.",
    }[kind]
