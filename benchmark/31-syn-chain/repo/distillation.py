"""Distillation: a small model is trained on the answers that a larger one gives along its chains."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from chain import LanguageModel, run_chain
from metrics import accuracy, macro_f1
from student import END, PAD, Codec, Student, StudentReader
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from toy_model import ToyReader

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """What a student is trained on.

    Attributes:
        step: 0 for syntax, 1 for opinion, 2 for sentiment.
        prompt: what the student is given.
        answer: what it should answer.
    """

    step: int
    prompt: str
    answer: str


@dataclass(frozen=True)
class DistillConfig:
    """How a student is trained.

    Attributes:
        epochs: passes over all examples.
        batch_size: examples of a batch; the last one of an epoch may be smaller.
        peak: largest learning rate, eta in the paper.
        warmup: w of the paper, in gradient steps.
        weights: weights of the three steps, lambda in the paper.
    """

    epochs: int = 60
    batch_size: int = 16
    peak: float = 1e-2
    warmup: int = 20
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Recorder:
    """Passes prompts on to a model, and keeps them with its answers in `exchanges`, in order."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.exchanges: list[tuple[str, str]] = []

    def reply(self, prompt: str) -> str:
        """Answer one prompt."""
        answer = self.model.reply(prompt)
        self.exchanges.append((prompt, answer))
        return answer


def make_examples(teacher: LanguageModel, reviews: Sequence[dict]) -> list[Example]:
    """Training examples from a teacher's chains, which `run_chain` runs.

    Args:
        teacher: answers the prompts.
        reviews: each has a "sentence", and "aspects" with their labels, as in data/reviews.json.

    Returns:
        Examples in the order of the reviews, their aspects, and the steps.
    """
    examples = []
    for review in reviews:
        for aspect, label in review["aspects"].items():
            recorder = Recorder(teacher)
            if run_chain(recorder, review["sentence"], aspect).sentiment == label:
                examples += [Example(step, *exchange) for step, exchange in enumerate(recorder.exchanges)]
    return examples


def answer_loss(logits: Tensor, answers: Tensor) -> Tensor:
    """Loss of each answer of a batch.

    Args:
        logits: (b, a, V), as a student returns them.
        answers: (b, a), ids; each answer ends with END and is filled up with PAD.

    Returns:
        (b,), in the dtype of the logits.
    """
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    real = answers != PAD
    return -(log_probabilities * real).sum(dim=1) / real.sum(dim=1)


def chain_loss(losses: Tensor, steps: Tensor, weights: Sequence[float]) -> Tensor:
    """Loss of a batch, a scalar.

    Args:
        losses: (b,), loss of each answer.
        steps: (b,), int64, which step each answer belongs to: 0, 1 or 2.
        weights: lambda of each step.
    """
    total = losses.new_zeros(())
    for step, weight in enumerate(weights):
        own = steps == step
        if own.any():
            total = total + weight * losses[own].mean()
    return total


def learning_rate(step: int, total: int, warmup: int, peak: float) -> float:
    """Learning rate of a gradient step: t of T, both counted from 1, with w and eta of the paper."""
    if step <= warmup:
        return peak * step / warmup
    return peak * (total - step + 1) / (total - warmup)


def collate(examples: Sequence[Example], codec: Codec) -> tuple[Tensor, Tensor, Tensor]:
    """Prompts (b, p), answers (b, a) that end with END, and steps (b,) of a batch; filled up with PAD."""
    prompts = [torch.tensor(codec.encode(example.prompt)) for example in examples]
    answers = [torch.tensor([*codec.encode(example.answer), END]) for example in examples]
    steps = torch.tensor([example.step for example in examples])
    return pad_sequence(prompts, batch_first=True), pad_sequence(answers, batch_first=True), steps


def fit(student: Student, codec: Codec, examples: Sequence[Example], config: DistillConfig, seed: int) -> list[float]:
    """Train all parameters of a student on examples.

    Each epoch visits the examples batch by batch, in the order of one call of `torch.randperm` with a generator that
    is seeded once with `seed`. The optimiser is Adam, with torch's defaults for all but the learning rate.

    Returns:
        The loss of each gradient step, before the parameters change.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(student.parameters())
    batches = -(-len(examples) // config.batch_size)
    student.train()
    losses: list[float] = []
    for _ in range(config.epochs):
        for order in torch.randperm(len(examples), generator=generator).split(config.batch_size):
            prompts, answers, steps = collate([examples[index] for index in order.tolist()], codec)
            loss = chain_loss(answer_loss(student(prompts, answers), answers), steps, config.weights)
            rate = learning_rate(len(losses) + 1, config.epochs * batches, config.warmup, config.peak)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=DistillConfig.epochs)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small: more threads cost more than they bring
    torch.manual_seed(arguments.seed)
    reviews = json.loads((ROOT / "data" / "reviews.json").read_text(encoding="utf-8"))
    examples = make_examples(ToyReader(), reviews)
    codec = Codec([text for example in examples for text in (example.prompt, example.answer)])
    student = Student(len(codec))
    losses = fit(student, codec, examples, DistillConfig(epochs=arguments.epochs), arguments.seed)
    print(f"{len(examples)} examples, loss {losses[0]:.3f} in the first step, {losses[-1]:.3f} in the last one\n")
    questions = [(r["sentence"], aspect, label) for r in reviews for aspect, label in r["aspects"].items()]
    labels = [label for _, _, label in questions]
    print(f"{'on the training set':<20}{'accuracy':>10}{'macro F1':>10}")
    for name, model in (("teacher", ToyReader()), ("student", StudentReader(student, codec))):
        answers = [run_chain(model, sentence, aspect).sentiment for sentence, aspect, _ in questions]
        print(f"{name:<20}{accuracy(labels, answers):>10.3f}{macro_f1(labels, answers):>10.3f}")


if __name__ == "__main__":
    main()
