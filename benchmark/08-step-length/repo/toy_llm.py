"""An offline stand-in for a language model that takes more care, the more reasoning steps its prompt makes it write.

It sees nothing but the prompt. From the demonstrations and the trigger it takes how many steps to write, spreads the
operations of the question over them, and forgets an operation the more easily the more of them share a step.
"""

import random
import re

from steps import count_steps, even_groups
from toy_problems import Problem, answer_text, read_problem
from triggers import DEMO_ANSWER_PHRASE

#: Probability of forgetting an operation that has a step of its own; grows in proportion to the operations per step.
SLIP_RATE = 0.12
MAX_SLIP_RATE = 0.5

#: Steps that a phrase of the trigger adds to what the demonstrations show.
ASKED_STEPS = {"step by step": 2, "more steps": 3}


class ToyLLM:
    """Completes prompts of the form "Q: ... A: ...", the last answer being open.

    Args:
        seed: decides which operations slip; the same question under the same seed draws the same numbers in every
            prompt, so that two prompts are compared on equal luck.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def complete(self, prompt: str) -> str:
        """The continuation of a prompt, with a leading blank."""
        *demos, (question, opening) = re.findall(r"Q: (.*?)\nA:(.*?)(?=\n\nQ: |\Z)", prompt, flags=re.DOTALL)
        problem = read_problem(question)
        known_states = re.findall(r"so we have (\S+)\.", opening)
        if known_states:  # second turn: the reasoning is in the prompt already
            return f" {answer_text(known_states[-1])}."

        budget = self._step_budget([answer for _, answer in demos], opening)
        rationale, state = self._reason(question, problem, max(budget, 1))
        if opening.endswith(" is"):
            return f" {answer_text(state)}."
        reply = f" {rationale}" if budget else ""
        if demos or not budget:  # without demonstrations, nothing says how to close the reasoning
            reply += f" {DEMO_ANSWER_PHRASE} {answer_text(state)}."
        return reply

    def reliability(self, prompt: str) -> float:
        """Probability that a reply to this prompt forgets none of the operations."""
        *demos, (question, opening) = re.findall(r"Q: (.*?)\nA:(.*?)(?=\n\nQ: |\Z)", prompt, flags=re.DOTALL)
        operations = len(read_problem(question).operations)
        budget = self._step_budget([answer for _, answer in demos], opening)
        return (1 - self._slip_rate(operations, max(budget, 1))) ** operations

    @staticmethod
    def _slip_rate(operations: int, step_count: int) -> float:
        """Probability of forgetting one of the operations that are spread over some steps."""
        return min(SLIP_RATE * operations / step_count, MAX_SLIP_RATE)

    @staticmethod
    def _step_budget(demo_answers: list[str], trigger: str) -> int:
        """Steps to write: the demonstrations' mean, plus what the trigger asks for; 0 means the answer alone."""
        shown = [count_steps(answer.partition(DEMO_ANSWER_PHRASE)[0]) for answer in demo_answers]
        asked = sum(steps for phrase, steps in ASKED_STEPS.items() if phrase in trigger)
        return round(sum(shown) / max(len(shown), 1)) + asked

    def _reason(self, question: str, problem: Problem, step_count: int) -> tuple[str, str]:
        """Work through the operations in `step_count` steps; returns the rationale and the final state."""
        draws = random.Random(f"{self.seed} {question}")
        slip_rate = self._slip_rate(len(problem.operations), step_count)
        state = problem.start
        sentences = []
        for group in even_groups(problem.operations, step_count):
            reported = []
            for operation in group:
                if draws.random() >= slip_rate:
                    state = operation.apply(state)
                    reported.append(operation.words)
            words = ", ".join(reported) or "look at it again"
            sentences.append(f"{words[0].upper()}{words[1:]}, so we have {state or 'nothing'}.")
        return " ".join(sentences), state
