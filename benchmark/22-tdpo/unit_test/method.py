"""Labelled inputs for tdpo-method: each function that is written, and a short frontier with all of them, in float64."""

import copy
import itertools
import random

import torch
from lmrbench_cases import compare, experiment, goal
from tdpo.batching import IGNORE_LABEL, Tokenizer, collate
from tdpo.data import generate_pairs, vocabulary
from tdpo.frontier import FrontierConfig, learning_rate, trace_frontier
from tdpo.logprobs import get_batch_statistics, position_divergence
from tdpo.model import ModelConfig, RecurrentLM
from tdpo.token_values import advantages, optimal_log_probs, preference_log_probability
from torch import Tensor
from trainers import LossConfig, OptimizerConfig, TDPOTrainer, divergence_term, pair_loss, response_reward, tdpo_loss


def normal(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    """Normal numbers in float64."""
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def log_probs(seed: int, *shape: int, scale: float = 1.5) -> Tensor:
    return normal(seed, *shape, scale=scale).log_softmax(dim=-1)


# --- the loss ---------------------------------------------------------------------------------------------------------


@goal("divergence_term")
@compare(rtol=1e-7, atol=1e-10)
def case_divergence_term(seed):
    """Both losses and several weights; the gradient of an input that does not matter counts as zero."""
    results = {}
    for alpha, if_tdpo2 in itertools.product((0.0, 0.5, 1.0, 1.7), (True, False)):
        inputs = [(8 * normal(seed + k, 7).abs()).requires_grad_() for k in range(2)]
        term = divergence_term(*inputs, alpha, if_tdpo2)
        gradients = torch.autograd.grad((normal(seed, 7) * term).sum(), inputs, materialize_grads=True)
        results[f"{alpha}, {if_tdpo2}"] = [term, gradients]
    return results


@goal("pair_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_pair_loss(seed):
    """Arguments around zero, and large ones whose losses stay finite; with gradients."""
    argument = torch.cat([normal(seed, 8, scale=3.0), 400 + 600 * normal(seed + 1, 3).abs(), normal(seed + 2, 3) - 400])
    argument.requires_grad_()
    losses = pair_loss(argument)
    return [losses, torch.autograd.grad((normal(seed + 3, 14) * losses).sum(), argument)]


@goal("response_reward")
@compare(rtol=1e-7, atol=1e-10)
def case_response_reward(seed):
    """Several strengths, with gradients."""
    results = []
    for beta in (0.05, 0.4, 3.0):
        inputs = [normal(seed, 6, scale=4.0).requires_grad_(), normal(seed + 1, 6).abs().requires_grad_()]
        rewards = response_reward(*inputs, beta)
        results += [rewards, torch.autograd.grad((normal(seed, 6) * rewards).sum(), inputs, materialize_grads=True)]
    return results


@goal("tdpo_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_tdpo_loss(seed):
    """Both losses, the defaults, and what carries gradients."""
    results = {}
    options = [{}, {"alpha": 0.0}, {"alpha": 1.3}, {"if_tdpo2": False}, {"alpha": 0.2, "if_tdpo2": False}]
    for beta, option in itertools.product((0.1, 0.6), options):
        margins, divergences = normal(seed, 2, 6, scale=4.0), 6 * normal(seed + 1, 2, 6).abs()
        inputs = [values.clone().requires_grad_() for values in (*margins, *divergences)]
        losses, *rewards = tdpo_loss(*inputs, beta=beta, **option)
        gradients = torch.autograd.grad((normal(seed + 2, 6) * losses).sum(), inputs, materialize_grads=True)
        results[f"{beta}, {option}"] = [losses, rewards, gradients, [reward.requires_grad for reward in rewards]]
    return results


# --- statistics of a batch --------------------------------------------------------------------------------------------


@goal("position_divergence")
@compare(rtol=1e-7, atol=1e-10)
def case_position_divergence(seed):
    """Flat and sharp distributions and several axes, with gradients to the policy's log-probabilities."""
    results = []
    for shape, scale in (((7,), 1.0), ((3, 5), 0.3), ((2, 4, 6), 3.0)):
        scores = normal(seed, *shape, scale=scale).requires_grad_()
        divergences = position_divergence(scores.log_softmax(dim=-1), log_probs(seed + 1, *shape))
        results += [divergences, torch.autograd.grad(divergences.square().sum(), scores)]
    return results


@goal("get_batch_statistics")
@compare(rtol=1e-7, atol=1e-10)
def case_batch_statistics(seed):
    """Responses of all lengths, with prompts and padding around them; gradients reach the logits."""
    labels = torch.randint(9, (5, 8), generator=torch.Generator().manual_seed(seed))
    for row, (start, end) in enumerate(((1, 8), (2, 4), (3, 3), (6, 7), (1, 4))):
        labels[row, :start], labels[row, end:] = IGNORE_LABEL, IGNORE_LABEL
    results = []
    for scale in (0.4, 2.5):
        logits = normal(seed + 1, 5, 8, 9, scale=scale).requires_grad_()
        margins, divergences = get_batch_statistics(logits, normal(seed + 2, 5, 8, 9), labels)
        weights = normal(seed + 3, 2, 5)
        gradient = torch.autograd.grad((weights[0] * margins + weights[1] * divergences).sum(), logits)
        results.append([margins, divergences, gradient])
    return results


# --- tokens as actions ------------------------------------------------------------------------------------------------


@goal("advantages")
@compare(rtol=1e-7, atol=1e-10)
def case_advantages(seed):
    return [
        advantages(normal(seed, *shape, scale=2.0), log_probs(seed + 1, *shape)) for shape in ((6,), (3, 4), (2, 3, 5))
    ]


@goal("optimal_log_probs")
@compare(rtol=1e-7, atol=1e-9)
def case_optimal_log_probs(seed):
    """Several strengths and shapes; values whose exponential overflows."""
    settings = itertools.product([(6,), (3, 4), (2, 3, 5)], [0.2, 1.0, 4.0])
    results = [optimal_log_probs(normal(seed, *shape), log_probs(seed + 1, *shape), beta) for shape, beta in settings]
    return [*results, optimal_log_probs(normal(seed + 2, 6, scale=40.0), log_probs(seed + 3, 6), 0.05)]


@goal("preference_log_probability")
@compare(rtol=1e-7, atol=1e-10)
def case_preference_log_probability(seed):
    """Several discounts, lengths that differ, and padding."""
    results = []
    for discount in (1.0, 0.9, 0.3):
        chosen, rejected = normal(seed, 5, 6), normal(seed + 1, 5, 4)
        chosen[1:3, 3:] = 0
        results.append(preference_log_probability(chosen, rejected, discount))
    return [*results, preference_log_probability(100 * normal(seed, 4, 3), 100 * normal(seed + 1, 4, 3))]


# --- training ---------------------------------------------------------------------------------------------------------


def make_trainer(seed: int, **options: float | bool) -> TDPOTrainer:
    """A trainer in float64 whose policy equals the reference; it scores words with some confidence."""
    tokenizer = Tokenizer(vocabulary())
    torch.manual_seed(seed)
    reference = RecurrentLM(ModelConfig(width=12, layers=1), len(tokenizer)).double()
    with torch.no_grad():
        for number, parameter in enumerate(reference.parameters()):
            parameter.add_(normal(100 * seed + number, *parameter.shape, scale=0.3))
    policy = copy.deepcopy(reference)
    return TDPOTrainer(policy, reference, tokenizer, OptimizerConfig(1, 4, 1e-3, 1), LossConfig(**options))


def move(trainer: TDPOTrainer, seed: int) -> None:
    """Change the policy's last layer."""
    with torch.no_grad():
        for number, parameter in enumerate(trainer.policy.head.parameters()):
            parameter.add_(normal(seed + number, *parameter.shape, scale=0.3))


@goal("TDPOTrainer.get_batch_metrics")
@compare(rtol=1e-7, atol=1e-10)
def case_batch_metrics(seed):
    """Loss, metrics, and gradients of the policy; the reference has none."""
    torch.set_default_dtype(torch.float64)
    results = {}
    for options in ({"beta": 0.3}, {"beta": 0.1, "alpha": 1.5}, {"beta": 0.2, "alpha": 0.3, "if_tdpo2": False}):
        trainer = make_trainer(seed, **options)
        move(trainer, seed + 7)
        batch = collate(generate_pairs(5, random.Random(seed)), trainer.tokenizer)
        loss, metrics = trainer.get_batch_metrics(batch)
        loss.backward()
        gradients = [trainer.policy.head.bias.grad, trainer.policy.recurrence.bias_ih_l0.grad]
        results[f"{options}"] = [loss, dict(metrics), gradients, trainer.reference.head.bias.grad]
    return results


@goal("learning_rate")
@compare(rtol=1e-9, atol=1e-15)
def case_learning_rate(seed):
    peak = 1e-3 * (1 + seed % 9)
    schedules = ((peak, 10), (0.3 * peak, 1), (2 * peak, 7 + seed % 9))
    return [[learning_rate(step, *schedule) for step in range(1, 25)] for schedule in schedules]


def frontier(trainer: TDPOTrainer, seed: int, config: FrontierConfig) -> list[object]:
    """Points, and a part of the weights afterwards."""
    rng = random.Random(seed)
    points = trace_frontier(trainer, generate_pairs(10, rng), generate_pairs(6, rng), config)
    values = [[point.step, point.sentiment, point.divergence] for point in points]
    return [values, trainer.policy.head.bias.detach().clone(), trainer.reference.head.bias.detach().clone()]


@goal("trace_frontier")
@compare(rtol=1e-5, atol=1e-8)
def case_trace_frontier(seed):
    """A run that ends in the warm-up, and one that ends between two points and goes over several epochs."""
    torch.set_default_dtype(torch.float64)
    results = []
    for steps, warmup, every in ((4, 6, 2), (7, 3, 3)):
        config = FrontierConfig(steps, 4, 1e-2, warmup, every, samples=8, seed=seed)
        trainer = make_trainer(seed, beta=0.3)
        move(trainer, seed + 3)
        results.append(frontier(trainer, seed, config))
    return results


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_losses_compared(seed):
    """DPO, TDPO1 and TDPO2 from one reference: their frontiers, and metrics on held-out pairs."""
    torch.set_default_dtype(torch.float64)
    results = {}
    runs = {"DPO": {"alpha": 0.0}, "TDPO1": {"if_tdpo2": False}, "TDPO2": {"alpha": 0.5}}
    held_out = generate_pairs(12, random.Random(seed + 50))
    for name, options in runs.items():
        trainer = make_trainer(seed, beta=0.2, **options)
        config = FrontierConfig(16, 6, 1e-2, 8, evaluate_every=8, samples=16, seed=seed)
        results[name] = [frontier(trainer, seed, config), trainer.evaluate(held_out)]
    return results


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_preferences_of_the_optimum(seed):
    """Random values of tokens: preferences from advantages, beside the losses of the optimal policy."""
    beta, pairs, length, words = 0.4, 6, 5, 7
    values, reference = normal(seed, 2 * pairs, length, words), normal(seed + 1, 2 * pairs, length, words)
    labels = torch.randint(words, (2 * pairs, length), generator=torch.Generator().manual_seed(seed))
    log_reference = reference.log_softmax(dim=-1)
    taken = advantages(values, log_reference)[:, :-1].gather(2, labels[:, 1:, None]).squeeze(2)
    optimum = optimal_log_probs(values, log_reference, beta)
    margins, divergences = get_batch_statistics(optimum, reference, labels)
    inputs = *margins.chunk(2), *divergences.chunk(2)
    losses = {f"{if_tdpo2}": tdpo_loss(*inputs, beta, if_tdpo2=if_tdpo2) for if_tdpo2 in (True, False)}
    return [losses, preference_log_probability(*taken.chunk(2)), preference_log_probability(*taken.chunk(2), 0.8)]
