"""A small model that learns to answer the prompts of the chain, and how it writes an answer."""

import torch
from nlp.tokenizer import tokenize
from torch import Tensor, nn

#: Ids that are not words: what fills up a batch, what ends an answer, what an answer starts from, an unknown word.
PAD, END, START, UNKNOWN = range(4)


class Codec:
    """Turns texts into ids of words and back.

    Args:
        texts: all words of these get an id.
    """

    def __init__(self, texts: list[str]) -> None:
        words = sorted({word for text in texts for word in self.words(text)})
        self._words = ["", "", "", "?", *words]
        self._ids = {word: number for number, word in enumerate(self._words) if number > UNKNOWN}

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, text: str) -> list[int]:
        """Ids of the words of a text, without START and END."""
        return [self._ids.get(word, UNKNOWN) for word in self.words(text)]

    def decode(self, ids: list[int]) -> str:
        """Words of some ids, with blanks between them."""
        return " ".join(self._words[number] for number in ids).replace(" ,", ",")

    @staticmethod
    def words(text: str) -> list[str]:
        """Words of a text without white space."""
        return [word for word in tokenize(text)[0] if not word.isspace()]


class Student(nn.Module):
    """Reads a prompt as a bag of words, and writes an answer word by word.

    Args:
        vocabulary: V, number of ids.
        width: size of its vectors.
    """

    def __init__(self, vocabulary: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.read = nn.Linear(width, width)
        self.write = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, prompts: Tensor, answers: Tensor) -> Tensor:
        """Logits of the next words of answers.

        Args:
            prompts: (b, p), ids, filled up with PAD.
            answers: (b, a), ids, filled up with PAD.

        Returns:
            (b, a, V). Those at position t are for the word at position t of the answer: they depend on the prompt and
            on the words before t, and not on the word at t.
        """
        real = (prompts != PAD).unsqueeze(-1)
        mean = (self.embed(prompts) * real).sum(dim=1) / real.sum(dim=1)
        start = answers.new_full((len(answers), 1), START)
        hidden, _ = self.write(self.embed(torch.cat([start, answers[:, :-1]], dim=1)), self.read(mean).tanh()[None])
        return self.head(hidden)


@torch.no_grad()
def write_answer(student: Student, prompt: list[int], limit: int) -> list[int]:
    """Let a student answer one prompt.

    Args:
        student: any module that is called as `Student.forward` describes.
        prompt: ids of the prompt.
        limit: at most so many words.

    Returns:
        Ids of the words of the answer, without START and END.
    """
    answer: list[int] = []
    while len(answer) < limit:
        # A last word that nobody has chosen yet: its place is the one whose logits are wanted.
        logits = student(torch.tensor([prompt]), torch.tensor([[*answer, END]]))
        word = int(logits[0, -1].argmax())
        if word == END:
            break
        answer.append(word)
    return answer


class StudentReader:
    """A student behind the interface of a language model."""

    def __init__(self, student: Student, codec: Codec, limit: int = 12) -> None:
        self.student, self.codec, self.limit = student.eval(), codec, limit

    def reply(self, prompt: str) -> str:
        """Answer one prompt."""
        return self.codec.decode(write_answer(self.student, self.codec.encode(prompt), self.limit))
