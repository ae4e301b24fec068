"""Labelled inputs for syn-chain-method: each masked function, and a short distillation with the chain of the student.

Tables are compared without what is blank at the ends of lines, and words fit into their columns. Models run in float64.
"""

import json
import random
from pathlib import Path

import torch
from chain import read_label, run_chain
from conll_tree import spacy_result_to_conll
from distillation import (
    DistillConfig,
    Example,
    answer_loss,
    chain_loss,
    fit,
    learning_rate,
    make_examples,
)
from lmrbench_cases import compare, experiment, goal
from metrics import LABELS, macro_f1
from student import END, PAD, UNKNOWN, Codec, Student, StudentReader, write_answer
from torch import Tensor, nn
from toy_model import ToyReader

CLAUSES = ["the fish was fresh", "the waiter didn't smile", "we love the bright screen", "it cost $24.50 (or more)"]
CLAUSES += ["the keyboard feels cheap", "I recommend the chef's sushi", "the room was not very quiet"]


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def lines(text: str) -> list[str]:
    """Lines of a text that are not blank, without blanks at their ends."""
    return [line.rstrip(" ") for line in text.split("\n") if line.strip(" ")]


def reviews(seed: int, count: int) -> list[dict]:
    """Some of the bundled reviews."""
    every = json.loads(Path("data/reviews.json").read_text(encoding="utf-8"))
    return random.Random(seed).sample(every, count)


# --- the chain --------------------------------------------------------------------------------------------------------


@goal("spacy_result_to_conll")
@compare(exact=True)
def case_tables(seed):
    """Texts of one sentence and of several."""
    rng, tables = random.Random(seed), []
    for count in (1, 1, 2, 3):
        parts = [f"{clause[0].upper()}{clause[1:]}{rng.choice('.!?')}" for clause in rng.sample(CLAUSES, count)]
        tables.append(lines(spacy_result_to_conll(" ".join(parts))))
    return tables


@goal("read_label")
@compare(exact=True)
def case_labels(seed):
    """Answers with no label, one, or several, in capitals and inside of other words."""
    rng, read = random.Random(seed), []
    pieces = [
        "It is Positive.",
        "negative",
        "NEUTRAL!",
        "not positively",
        "neutrality",
        "so (negative)",
        "nothing said",
    ]
    pieces += ["positive, in the end,", "hard to tell", "Negative", "**neutral**", "impositive"]
    for count in (1, 1, 2, 2, 3, 4, 5, 3, 2, 4) * 3:
        read.append(read_label(" and ".join(rng.sample(pieces, count))))
    return [*read, read_label(""), read_label("Positive or negative?\nNegative, but mostly positive.")]


class Echo:
    """In place of a model: gives answers that tell what was asked, and keeps the prompts."""

    def __init__(self, seed: int, last: str) -> None:
        self.rng, self.last, self.prompts = random.Random(seed), last, []

    def reply(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if prompt.startswith("Step 3"):
            return self.last
        return f" Answer {len(self.prompts)}: {self.rng.choice(['{bright}', 'not; clean', 'Dull,'])} "


@goal("run_chain", "spacy_result_to_conll")
@compare(exact=True)
def case_prompts(seed):
    """All prompts of some chains, and what comes out."""
    results, rng = [], random.Random(seed)
    for review in reviews(seed, 3):
        for aspect in review["aspects"]:
            label = rng.choice(LABELS)
            echo = Echo(seed, label)
            result = run_chain(echo, review["sentence"], aspect)
            results.append(
                [[lines(prompt) for prompt in echo.prompts], result.relations, result.opinion, result.sentiment]
            )
    return results


@goal("run_chain", "read_label")
@compare(exact=True)
def case_sentiments(seed):
    """Chains whose last answer is a sentence."""
    last = ["The sentiment is Negative.", "Not negative, but positive!", "Who knows?", "It is positive; no, neutral."]
    results = []
    for number, review in enumerate(reviews(seed + 5, 8)):
        aspect = next(iter(review["aspects"]))
        results.append(run_chain(Echo(seed, last[(number + seed) % 4]), review["sentence"], aspect).sentiment)
    return results


@goal("macro_f1")
@compare(rtol=1e-7, atol=1e-10)
def case_macro_f1(seed):
    """Answers that are mostly right or at random; labels that are rare, that nobody gives, or that do not occur."""
    rng, scores = random.Random(seed), []
    for size in (5, 12, 40):
        for weights in ((1, 1, 1), (6, 3, 1), (3, 1, 0)):
            labels = rng.choices(LABELS, weights, k=size)
            answers = [label if rng.random() < 0.6 else rng.choice(LABELS) for label in labels]
            scores.append(float(macro_f1(labels, answers)))
            scores.append(float(macro_f1(labels, [answer.replace("neutral", "negative") for answer in answers])))
    return scores


# --- distillation -----------------------------------------------------------------------------------------------------


class Teacher(ToyReader):
    """Answers some of the last prompts with another label or with a sentence."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def reply(self, prompt: str) -> str:
        answer = super().reply(prompt)
        if not prompt.startswith("Step 3"):
            return answer
        return self.rng.choice([answer, f"Not neutral: {answer}", "It is positive"])


@goal("make_examples", "run_chain", "read_label")
@compare(exact=True)
def case_examples(seed):
    """Which chains are kept, and what they give."""
    examples = make_examples(Teacher(seed), reviews(seed, 14))
    return [len(examples), [[example.step, lines(example.prompt), example.answer] for example in examples]]


def answers_of(seed: int, lengths: tuple[int, ...], words: int) -> Tensor:
    """Ids of answers of some lengths, END included, filled up with PAD."""
    answers = torch.full((len(lengths), max(lengths)), PAD)
    generator = torch.Generator().manual_seed(seed)
    for row, length in zip(answers, lengths, strict=True):
        row[:length] = torch.randint(UNKNOWN, words, (length,), generator=generator)
        row[length - 1] = END
    return answers


@goal("answer_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_answer_loss(seed):
    """Answers of equal and of unequal length, one of them END alone; with gradients."""
    results = []
    for number, lengths in enumerate(((3, 3), (1, 4, 2), (6,), (2, 5, 5, 1))):
        answers = answers_of(10 * seed + number, lengths, 9)
        logits = (2 * normal(10 * seed + number, *answers.shape, 9)).requires_grad_()
        losses = answer_loss(logits, answers)
        (losses * normal(seed, len(lengths))).sum().backward()
        results.append([losses, logits.grad])
    return results


@goal("chain_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_chain_loss(seed):
    """Batches in which steps are rare or missing, and several weights; with gradients."""
    results = []
    for number, steps in enumerate(([0, 1, 2], [2, 2, 0, 1, 2, 2], [1, 1, 0], [2], [0, 0, 0, 2, 0])):
        for weights in ((1.0, 1.0, 1.0), (0.5, 2.0, 1.0 + seed % 9)):
            losses = normal(10 * seed + number, len(steps)).abs().requires_grad_()
            loss = chain_loss(losses, torch.tensor(steps), weights)
            loss.backward()
            results.append([loss, losses.grad])
    return results


@goal("learning_rate")
@compare(rtol=1e-7, atol=1e-12)
def case_learning_rate(seed):
    """All steps of trainings with a warm-up and without."""
    settings = (
        (12 + seed % 9, 4, 0.1),
        (9, 0, 1.0 + seed % 9),
        (7, 1, 0.02 * (1 + seed % 9)),
        (20, 15 - seed % 9, 3e-4),
    )
    return [[float(learning_rate(step, *setting)) for step in range(1, setting[0] + 1)] for setting in settings]


class Scripted(nn.Module):
    """In place of a student: logits of a word depend on the prompt and on the words before it."""

    def __init__(self, seed: int, words: int) -> None:
        super().__init__()
        self.seed, self.words = seed, words

    def forward(self, prompts: Tensor, answers: Tensor) -> Tensor:
        rows = []
        for prompt, answer in zip(prompts.tolist(), answers.tolist(), strict=True):
            keys = [hash((self.seed, *prompt, *answer[:place])) % 2**40 for place in range(len(answer))]
            rows.append(torch.stack([normal(key, self.words) for key in keys]))
        logits = torch.stack(rows)
        logits[..., PAD] = logits[..., 2] = -9.0
        return logits


@goal("write_answer")
@compare(exact=True)
def case_answers(seed):
    """Answers that end by themselves, and answers that the limit ends."""
    model = Scripted(seed, 7)
    return [
        [int(word) for word in write_answer(model, [4 + number, 9, 5], limit)]
        for number in range(10)
        for limit in (1, 4, 25)
    ]


class Bigram(nn.Module):
    """In place of a student: logits by the word before and the prompt's mean id; notes the sizes of batches."""

    def __init__(self, seed: int, words: int) -> None:
        super().__init__()
        self.table = nn.Parameter(normal(seed, words, words))
        self.slope = nn.Parameter(normal(seed + 1, words))
        self.seen: list[list[int]] = []

    def forward(self, prompts: Tensor, answers: Tensor) -> Tensor:
        self.seen.append([*prompts.shape, *answers.shape, int(prompts.sum()), int(answers.sum())])
        before = torch.cat([torch.zeros_like(answers[:, :1]), answers[:, :-1]], dim=1)
        mean = prompts.double().sum(dim=1) / (prompts != PAD).sum(dim=1) / len(self.table)
        return self.table[before] + (mean[:, None] * self.slope)[:, None]


@goal("fit")
@compare(rtol=1e-6, atol=1e-9)
def case_fit(seed):
    """Orders, sizes of batches and learning rates, as they move parameters."""
    rng = random.Random(seed)
    words = [f"word{number}" for number in range(8)]
    text = lambda most: " ".join(rng.choices(words, k=rng.randint(1, most)))  # noqa: E731
    examples = [Example(number % 3, text(6), text(1)) for number in range(11)]
    codec, results = Codec([" ".join(words)]), []
    for epochs, batch_size, warmup in ((3, 4, 5), (2, 11, 0), (4, 1, 10)):
        model = Bigram(seed, len(codec))
        config = DistillConfig(epochs, batch_size, 0.05, warmup, (1.0, 0.5, 2.0))
        losses = [float(loss) for loss in fit(model, codec, examples, config, seed + 7)]
        results.append([losses, model.seen, [parameter.detach().clone() for parameter in model.parameters()]])
    return results


@experiment
@compare(rtol=1e-6, atol=1e-8)
def case_distillation(seed):
    """Distil the teacher's chains, some of which are wrong; then let the student answer chains of its own."""
    chosen = reviews(seed + 20, 10)
    examples = make_examples(Teacher(seed), chosen)
    codec = Codec([text for example in examples for text in (example.prompt, example.answer)])
    torch.set_default_dtype(torch.float64)  # normal numbers in float32 differ from processor to processor
    torch.manual_seed(seed)
    student = Student(len(codec), width=12)
    losses = fit(student, codec, examples, DistillConfig(5, 6, 0.02, 4, (0.5, 1.0, 2.0)), seed + 1)
    own = []
    for example in examples[:12]:
        prompt = torch.tensor([codec.encode(example.prompt)])
        answer = torch.tensor([[*codec.encode(example.answer), END]])
        own.append(answer_loss(student(prompt, answer), answer).detach())
    questions = [(r["sentence"], aspect, label) for r in chosen for aspect, label in r["aspects"].items()]
    scores = []
    for model in (Teacher(seed + 1), StudentReader(student, codec, 8)):
        answers = [run_chain(model, sentence, aspect).sentiment for sentence, aspect, _ in questions]
        scores.append(float(macro_f1([label for *_, label in questions], answers)))
    return {"losses": losses, "own": own, "scores": scores}
