"""Labelled inputs for spin-method: each function through its interface, and a short game with all of them.

Models run in float64, so that no token is drawn otherwise because of rounding.
"""

import random

import torch
from lmrbench_cases import compare, experiment, goal
from spin.alignment.collate import LABEL_PAD_TOKEN, AnswerPair, collate_answers, collate_pairs
from spin.alignment.logps import get_batch_logps
from spin.alignment.trainer import SPINTrainer, TrainingConfig, convex_function, pair_margins
from spin.data import END_TOKEN
from spin.generate import generate_answers
from spin.model import ModelConfig, TransformerLM
from spin.optim import RMSProp, rate_at
from spin.self_play import IterationRecord, SelfPlayConfig, iteration_settings, self_play, training_pairs
from torch import Tensor, nn

VOCABULARY = 11


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tokens(rng: random.Random, count: int) -> list[int]:
    """Tokens other than the end token."""
    return [rng.randrange(1, VOCABULARY) for _ in range(count)]


def make_model(seed: int, scale: float = 0.2) -> TransformerLM:
    """A small model in float64; a larger scale makes it surer of the next token."""
    torch.manual_seed(seed)
    model = TransformerLM(ModelConfig(context_length=16, layers=1, width=8, heads=2), VOCABULARY).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(scale * normal(100 * seed + number, *parameter.shape))
    return model


def make_pairs(seed: int, count: int) -> list[AnswerPair]:
    """Pairs with answers of unequal lengths."""
    rng = random.Random(seed)
    return [
        AnswerPair(tokens(rng, 3), [*tokens(rng, rng.randrange(1, 5)), END_TOKEN], tokens(rng, rng.randrange(2, 7)))
        for _ in range(count)
    ]


def lists(pairs: list[AnswerPair]) -> list[list[list[int]]]:
    return [[list(pair.prompt), list(pair.real), list(pair.generated)] for pair in pairs]


# --- log-probabilities and the loss -----------------------------------------------------------------------------------


@goal("get_batch_logps")
@compare(rtol=1e-6, atol=1e-9)
def case_logps(seed):
    """Answers of several lengths behind prompts of several lengths; with gradients."""
    results = []
    for rows, length in ((3, 6), (5, 9), (2, 12)):
        rng = random.Random(100 * seed + rows)
        answers = [tokens(rng, rng.randrange(1, length - 3)) for _ in range(rows)]
        batch = collate_answers([tokens(rng, rng.randrange(1, 4)) for _ in range(rows)], answers)
        logits = (2 * normal(seed + rows, *batch.labels.shape, VOCABULARY)).requires_grad_()
        logps = get_batch_logps(logits, batch.labels)
        (logps * normal(seed, rows)).sum().backward()
        results.append([logps, logits.grad, (batch.labels == LABEL_PAD_TOKEN).sum().item()])
    return results


@goal("pair_margins")
@compare(rtol=1e-6, atol=1e-9)
def case_pair_margins(seed):
    """Several values of lambda; with gradients to the policy."""
    results = []
    for beta in (0.1, 0.7, 5.0):
        policy = [(3 * normal(seed + k, 9) - 12).requires_grad_() for k in range(2)]
        opponent = [3 * normal(seed + k, 9) - 12 for k in (2, 3)]
        margins = pair_margins(*policy, *opponent, beta)
        results.append([margins, torch.autograd.grad((margins * normal(seed + 4, 9)).sum(), policy)])
    return results


@goal("convex_function")
@compare(rtol=1e-6, atol=1e-9)
def case_convex_function(seed):
    """Both functions with their slopes, on both sides of their corners and far from them."""
    results = []
    for loss_type in ("sigmoid", "hinge"):
        for scale in (0.5, 3.0, 400.0):
            margins = (scale * normal(seed, 4, 6)).requires_grad_()
            values = convex_function(margins, loss_type)
            results.append([values, torch.autograd.grad(values.sum(), margins)[0]])
    return results


@goal("SPINTrainer.spin_loss")
@compare(rtol=1e-6, atol=1e-9)
def case_spin_loss(seed):
    """Losses, rewards and gradients, with and without the opponent, for both functions."""
    results = {}
    for number, loss_type in enumerate(("sigmoid", "hinge")):
        for free in (False, True):
            trainer = SPINTrainer(nn.Identity(), nn.Identity(), 0.4 + 0.5 * number, loss_type)
            policy = [(2 * normal(seed + k, 10) - 9).requires_grad_() for k in range(2)]
            opponent = [2 * normal(seed + k, 10) - 9 for k in (2, 3)]
            losses, *rewards = trainer.spin_loss(*policy, *opponent, reference_free=free)
            gradients = torch.autograd.grad((losses * normal(seed + 4, 10)).sum(), policy)
            results[f"{loss_type}, {free}"] = [losses, rewards, [x.requires_grad for x in rewards], gradients]
    return results


@goal("SPINTrainer.get_batch_metrics")
@compare(rtol=1e-6, atol=1e-9)
def case_batch_metrics(seed):
    """Two models; with gradients of the policy, and none of the opponent."""
    torch.set_default_dtype(torch.float64)
    results = {}
    for loss_type, free in (("sigmoid", False), ("hinge", False), ("sigmoid", True)):
        policy, opponent = make_model(seed), make_model(seed + 1)
        batch = collate_pairs(make_pairs(seed, 7))
        loss, metrics = SPINTrainer(policy, opponent, 0.6, loss_type).get_batch_metrics(batch, free)
        loss.backward()
        untouched = all(parameter.grad is None for parameter in opponent.parameters())
        results[f"{loss_type}, {free}"] = [loss, dict(sorted(metrics.items())), untouched, policy.head[1].weight.grad]
    return results


# --- the opponent's answers -------------------------------------------------------------------------------------------


@goal("generate_answers")
@compare(exact=True)
def case_generate_answers(seed):
    """A flat model and a sharper one; some answers end, others are cut off."""
    results = []
    for scale, count, length in ((0.05, 24, 8), (0.4, 24, 8), (0.7, 30, 3)):
        model = make_model(seed, scale)
        rng = random.Random(seed)
        prompts = [tokens(rng, 4) for _ in range(count)]
        numbers = torch.rand(count, length, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
        results.append(generate_answers(model, prompts, length, numbers))
    return results


# --- optimisation -----------------------------------------------------------------------------------------------------


@goal("RMSProp.step")
@compare(rtol=1e-6, atol=1e-9)
def case_rmsprop(seed):
    """Parameters and squares after each of some steps, at a changing rate; tiny gradients, and none at times."""
    parameters = [nn.Parameter(normal(seed + number, *shape)) for number, shape in enumerate(((4, 3), (5,), (2, 2, 2)))]
    optimizer = RMSProp(parameters)
    results = []
    for step in range(5):
        for number, parameter in enumerate(parameters):
            gradient = 10.0 ** (-4 * number) * normal(1000 * seed + 10 * step + number, *parameter.shape)
            parameter.grad = None if (step, number) == (2, 1) else gradient
        optimizer.step(0.1 / (1 + step))
        results.append([[p.detach().clone(), optimizer.squares[p].clone()] for p in parameters])
    return results, [parameter.grad for parameter in parameters]


@goal("rate_at")
@compare(rtol=1e-9, atol=1e-12)
def case_rate_at(seed):
    """All steps of iterations of several lengths."""
    return [
        [rate_at(step, 0.3 + seed % 9, total) for step in range(1, total + 1)]
        for total in (1, 2, 9, 10, 11, 37 + seed % 9)
    ]


@goal("SPINTrainer.train")
@compare(rtol=1e-6, atol=1e-9)
def case_train(seed):
    """Losses, the policy, and the opponent, which stays; a last batch that is smaller; two trainings in a row."""
    torch.set_default_dtype(torch.float64)
    results = {}
    for epochs, batch_size, loss_type in ((1, 4, "sigmoid"), (3, 5, "hinge")):
        trainer = SPINTrainer(make_model(seed), make_model(seed + 1), 0.5, loss_type)
        config = TrainingConfig(epochs, batch_size, learning_rate=5e-3)
        rng = random.Random(seed)
        losses = [trainer.train(make_pairs(seed + k, 13), config, rng) for k in range(2)]
        weights = [model.head[1].weight.detach().clone() for model in (trainer.policy, trainer.opponent)]
        results[f"{epochs}, {batch_size}"] = [losses, weights, rng.random()]
    return results


# --- iterations -------------------------------------------------------------------------------------------------------


def settings(seed: int, iterations: int, **others) -> SelfPlayConfig:
    defaults = {"beta": 0.3 + 0.1 * (seed % 9), "last_beta": 1.7, "learning_rate": 6e-3, "later_learning_rate": 2e-3}
    return SelfPlayConfig(iterations, 2, 6, **(defaults | {"epochs": 1, "batch_size": 6} | others))


@goal("iteration_settings")
@compare(rtol=1e-9, atol=1e-12)
def case_iteration_settings(seed):
    """Games of one iteration to seven."""
    return [[iteration_settings(t, settings(seed, count)) for t in range(count)] for count in range(1, 8)]


@goal("training_pairs")
@compare(exact=True)
def case_training_pairs(seed):
    """After one iteration to five; opponents that wrote unequally many pairs."""
    written = [make_pairs(10 * seed + t, 3 + (t + seed) % 3) for t in range(5)]
    return [lists(training_pairs(written[:count])) for count in range(1, 6)]


def play(policy: TransformerLM, seed: int, config: SelfPlayConfig) -> list[IterationRecord]:
    """A game on a few prompts with short answers."""
    rng = random.Random(seed)
    prompts = [tokens(rng, 3) for _ in range(7)]
    real = [[*tokens(rng, 1 + k % 3), END_TOKEN] for k in range(7)]
    generator = torch.Generator().manual_seed(seed)
    return list(self_play(policy, prompts, real, config, random.Random(seed + 1), generator))


def summary(records: list[IterationRecord], seed: int) -> list[list[object]]:
    """What the records say, and what models and trainers are at the end."""
    batch = collate_pairs(make_pairs(seed + 30, 6))
    results = []
    for record in records:
        with torch.no_grad():
            logps = [
                record.trainer.concatenated_forward(m, batch) for m in (record.trainer.policy, record.trainer.opponent)
            ]
        results.append(
            [record.beta, record.learning_rate, lists(record.pairs), record.losses, record.trainer.beta, logps]
        )
    return results


@goal("self_play")
@compare(rtol=1e-5, atol=1e-8)
def case_self_play(seed):
    """Two iterations with the hinge, and two without the opponent in the loss."""
    torch.set_default_dtype(torch.float64)
    results = []
    for others in ({"loss_type": "hinge"}, {"reference_free": True, "epochs": 2}):
        results.append(summary(play(make_model(seed, 0.4), seed, settings(seed, 2, **others)), seed))
    return results


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_game(seed):
    """Four iterations: pairs, losses, opponents, and the model that comes out."""
    torch.set_default_dtype(torch.float64)
    policy = make_model(seed, 0.4)
    records = play(policy, seed + 5, settings(seed, 4, epochs=2))
    return summary(records, seed), policy.head[1].weight.detach()
