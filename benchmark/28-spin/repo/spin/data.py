"""Instructions with answers that people would write: reciting a part of a well-known sequence, upwards or downwards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

SEQUENCES = {
    "days": "monday tuesday wednesday thursday friday saturday sunday".split(),
    "months": "january february march april may june july august september october november december".split(),
    "numbers": "one two three four five six seven eight nine ten eleven twelve".split(),
    "letters": "a b c d e f g h i j k l".split(),
}
#: Words in the shortest and in the longest answer.
MIN_LENGTH, MAX_LENGTH = 2, 6

END_TOKEN = 0


@dataclass(frozen=True)
class Example:
    """An instruction and the real answer to it, as words."""

    prompt: Sequence[str]
    answer: Sequence[str]


def all_examples() -> list[Example]:
    """Every instruction that the sequences allow. All prompts have the same number of words."""
    examples = []
    for name, sequence in SEQUENCES.items():
        for length in range(MIN_LENGTH, MAX_LENGTH + 1):
            for start in range(len(sequence) - length + 1):
                part = sequence[start : start + length]
                for direction, answer in (("up", part), ("down", part[::-1])):
                    prompt = f"name the {name} from {answer[0]} {direction} to {answer[-1]} :"
                    examples.append(Example(prompt.split(), answer))
    return examples


def split_examples(examples: Sequence[Example], held_out: int, rng: Random) -> tuple[list[Example], list[Example]]:
    """Shuffle and split into training examples and `held_out` examples for evaluation."""
    shuffled = rng.sample(examples, k=len(examples))
    return shuffled[held_out:], shuffled[:held_out]


class Tokenizer:
    """One token a word, numbered by first appearance; token 0 ends an answer."""

    def __init__(self, examples: Iterable[Example]) -> None:
        words = dict.fromkeys(word for example in examples for word in (*example.prompt, *example.answer))
        self.words = ["<end>", *words]
        self._token_of = {word: token for token, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode_prompt(self, words: Sequence[str]) -> list[int]:
        """The tokens of a prompt."""
        return [self._token_of[word] for word in words]

    def encode_answer(self, words: Sequence[str]) -> list[int]:
        """The tokens of an answer, end token included."""
        return [*self.encode_prompt(words), END_TOKEN]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of some tokens, end tokens shown as they are."""
        return " ".join(self.words[token] for token in tokens)
