"""Labelled inputs for dpo-method: each function that is written, and a short controlled experiment with all of them."""

import copy
import itertools

import torch
from closed_form import optimal_log_policy
from controlled import ControlledRun, FrontierConfig, SentimentTask, learning_rate, preference_pairs, sequence_kl
from frontier import best_reward, make_reference, ranking_fit
from lmrbench_cases import compare, experiment, goal
from model import LanguageModelOutput, ModelConfig, TransformerLM
from preference_datasets import IGNORE_LABEL, PreferencePair, collate
from rankings import ranking_loss
from torch import Tensor, nn
from trainers import LossConfig, concatenated_forward, implicit_reward, pair_loss, preference_loss, reward_margin


def normal(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    """Normal numbers in float64."""
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def log_probabilities(seed: int, count: int) -> list[Tensor]:
    """Policy chosen, policy rejected, reference chosen, reference rejected: leaves that require gradients."""
    level = -10 - 20 * torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return [values.requires_grad_() for values in level + normal(seed + 1, 4, count, scale=2.0)]


# --- log-probabilities, rewards and losses ----------------------------------------------------------------------------


@goal("concatenated_forward")
@compare(rtol=1e-6, atol=1e-8)
def case_concatenated_forward(seed):
    """Pairs of unequal lengths, and the gradient of each side; as a batch and pair by pair."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    model = TransformerLM(ModelConfig(256, 64, layers=1, width=16, heads=2)).double()
    texts = [("Tea?", "Yes, with milk.", "No."), ("Cake?", "Gladly.", "Go away, please!"), ("Go?", "Indeed" * 3, "-")]
    pairs = [PreferencePair(*text) for text in texts]
    chosen, rejected = concatenated_forward(model, collate(pairs))
    weights = normal(seed, 2, 3)
    (weights[0] * chosen + weights[1] * rejected).sum().backward()
    alone = [concatenated_forward(model, collate([pair])) for pair in pairs]
    return {"together": [chosen, rejected], "alone": alone, "gradient": model.head.weight.grad[97:123].clone()}


class Unigram(nn.Module):
    """Scores that do not depend on the tokens before, and a count of forward passes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.scores = nn.Parameter(normal(seed, 256))
        self.calls = 0

    def forward(self, input_ids: Tensor) -> LanguageModelOutput:
        self.calls += 1
        return LanguageModelOutput(self.scores.expand(*input_ids.shape, 256))


@goal("concatenated_forward")
@compare(rtol=1e-6, atol=1e-8)
def case_one_forward_pass(seed):
    model = Unigram(seed)
    pairs = [PreferencePair("Why?", "abc" * length, "d" * (7 - length)) for length in range(1, 5)]
    return [concatenated_forward(model, collate(pairs)), model.calls]


@goal("implicit_reward")
@compare(rtol=1e-7, atol=1e-10)
def case_implicit_reward(seed):
    """Several strengths of the constraint, with gradients to the policy."""
    results = []
    for beta in (0.05, 0.4, 3.0):
        policy, _, reference, _ = log_probabilities(seed, 6)
        rewards = implicit_reward(policy, reference, beta)
        results += [rewards, torch.autograd.grad((normal(seed, 6) * rewards).sum(), policy)]
    return results


@goal("reward_margin")
@compare(rtol=1e-7, atol=1e-9)
def case_reward_margin(seed):
    """Margins with the gradients of both policy inputs."""
    results = []
    for count in (1, 7):
        logps = log_probabilities(seed + count, count)
        margins = reward_margin(*logps)
        results += [margins, torch.autograd.grad((normal(seed, count) * margins).sum(), logps[:2])]
    return results


@goal("pair_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_pair_loss(seed):
    """Margins around zero, and large ones whose losses stay finite; with gradients."""
    margins = torch.cat([normal(seed, 8, scale=3.0), 400 + 600 * normal(seed + 1, 3).abs(), -400 + normal(seed + 2, 3)])
    margins.requires_grad_()
    losses = pair_loss(margins)
    return [losses, torch.autograd.grad((normal(seed + 3, 14) * losses).sum(), margins)]


@goal("preference_loss")
@compare(rtol=1e-7, atol=1e-9)
def case_preference_loss(seed):
    """The loss of the paper: values, gradients, and what carries gradients."""
    results = {}
    for beta in (0.1, 0.5):
        logps = log_probabilities(seed, 9)
        logps = logps[:2] + [values.detach() for values in logps[2:]]
        losses, chosen, rejected = preference_loss(*logps, beta=beta)
        gradients = torch.autograd.grad((normal(seed + 5, 9) * losses).sum(), logps[:2])
        results[f"{beta}"] = [losses, chosen, rejected, gradients, chosen.requires_grad, rejected.requires_grad]
    return results


@goal("preference_loss")
@compare(rtol=1e-7, atol=1e-9)
def case_preference_loss_options(seed):
    """Every combination of the options in the README."""
    results = {}
    for smoothing, ipo, reference_free in itertools.product([0.0, 0.2], [False, True], [False, True]):
        logps = [values.detach() for values in log_probabilities(seed, 5)]
        outputs = preference_loss(*logps, 0.3, label_smoothing=smoothing, ipo=ipo, reference_free=reference_free)
        results[f"{smoothing}, {ipo}, {reference_free}"] = outputs
    return results


@goal("ranking_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_ranking_loss(seed):
    """Rankings of two to six responses, in agreement with the rewards or not; with gradients."""
    results = []
    for count, scale in ((2, 1.0), (3, 2.0), (6, 0.5), (4, 300.0)):
        rewards = normal(seed + count, 5, count, scale=scale).requires_grad_()
        losses = ranking_loss(rewards)
        results += [losses, torch.autograd.grad((normal(seed, 5) * losses).sum(), rewards)]
    return results


# --- the closed form --------------------------------------------------------------------------------------------------


def references(seed: int, *shape: int) -> Tensor:
    """Log-probabilities of all responses."""
    return normal(seed, *shape, scale=1.5).log_softmax(dim=-1)


@goal("optimal_log_policy")
@compare(rtol=1e-7, atol=1e-9)
def case_optimal_log_policy(seed):
    """Several strengths and shapes; rewards whose exponential overflows."""
    settings = itertools.product([(7,), (3, 5), (2, 2, 4)], [0.2, 1.0, 4.0])
    results = [optimal_log_policy(references(seed, *shape), normal(seed + 1, *shape), beta) for shape, beta in settings]
    return [*results, optimal_log_policy(references(seed, 6), normal(seed + 2, 6, scale=40.0), 0.05)]


# --- the controlled experiment ----------------------------------------------------------------------------------------


@goal("preference_pairs")
@compare(exact=True)
def case_preference_pairs(seed):
    """Rewards without ties and with some, as sorted rows."""
    results = []
    for prompts, completions in ((1, 2), (4, 4), (3, 6), (5, 3)):
        rewards = normal(seed + prompts, prompts, completions)
        results.append(sorted(preference_pairs(rewards).tolist()))
        results.append(sorted(preference_pairs((1.5 * rewards).round()).tolist()))
    return results


@goal("learning_rate")
@compare(rtol=1e-9, atol=1e-15)
def case_learning_rate(seed):
    peak = 1e-3 * (1 + seed % 9)
    schedules = ((peak, 10), (0.3 * peak, 1), (2 * peak, 7 + seed % 9))
    return [[learning_rate(step, *schedule) for step in range(1, 25)] for schedule in schedules]


@goal("sequence_kl")
@compare(rtol=1e-7, atol=1e-10)
def case_sequence_kl(seed):
    """Responses of all lengths, the empty one included, with prompts and padding around them."""
    labels = torch.randint(9, (5, 7), generator=torch.Generator().manual_seed(seed))
    for row, (start, end) in enumerate(((1, 7), (2, 4), (3, 3), (5, 6), (1, 3))):
        labels[row, :start], labels[row, end:] = IGNORE_LABEL, IGNORE_LABEL
    results = []
    for scale in (0.5, 3.0):
        policy, reference = normal(seed + 1, 5, 7, 9, scale=scale), normal(seed + 2, 5, 7, 9)
        results += [sequence_kl(policy, reference, labels), sequence_kl(reference, reference + 0.1 * policy, labels)]
    return results


def make_run(seed: int, beta: float, **options: float) -> ControlledRun:
    """A run whose reference model differs from seed to seed."""
    task = SentimentTask(seed=seed)
    reference = make_reference(task, seed + 10)
    config = FrontierConfig(train_prompts=6, test_prompts=12, seed=seed + 3, **options)
    return ControlledRun(copy.deepcopy(reference), reference, task, LossConfig(beta), config)


def weights_of(model: nn.Module) -> list[Tensor]:
    """A copy of some of the weights."""
    weights = [model.head.weight, model.token_embedding.weight, model.blocks[0].perceptron[1].bias]
    return [weight.detach().clone() for weight in weights]


@goal("ControlledRun.fit_reference")
@compare(rtol=1e-5, atol=1e-8)
def case_fit_reference(seed):
    """Weights of both models, with and without steps after the warm-up."""
    torch.set_default_dtype(torch.float64)
    results = []
    for steps, warmup, beta in ((3, 5, 0.5), (6, 2, 0.1)):
        run = make_run(seed, beta, reference_steps=steps, warmup_steps=warmup, batch_size=8)
        run.fit_reference()
        results.append([weights_of(run.policy), weights_of(run.reference), run.reference.head.weight.requires_grad])
    return results


@goal("ControlledRun.train")
@compare(rtol=1e-5, atol=1e-8)
def case_train(seed):
    """Points and weights: of a run that ends in the warm-up, and of one that ends between two points."""
    torch.set_default_dtype(torch.float64)
    results = []
    for steps, warmup, every, beta in ((4, 6, 2, 0.5), (7, 3, 3, 0.1), (3, 1, 1, 2.0)):
        run = make_run(seed, beta, steps=steps, warmup_steps=warmup, evaluate_every=every, batch_size=8)
        with torch.no_grad():
            run.reference.head.weight.add_(normal(seed, *run.reference.head.weight.shape, scale=0.1))
        points = [[point.step, point.reward, point.kl] for point in run.train()]
        results.append([points, weights_of(run.policy), weights_of(run.reference)])
    return results


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_frontier(seed):
    """Two values of beta: the points of the frontier, the fit of the rankings, and the closed-form optimum."""
    torch.set_default_dtype(torch.float64)
    results = {}
    for beta in (0.2, 1.0):
        run = make_run(seed, beta, reference_steps=6, steps=30, warmup_steps=12, evaluate_every=10, batch_size=12)
        run.fit_reference()
        before, points = ranking_fit(run), run.train()
        frontier = [[point.step, point.reward, point.kl] for point in points]
        results[f"{beta}"] = [len(run.pairs), before, frontier, ranking_fit(run), run.completion_rewards()]
        results[f"{beta}, optimum"] = best_reward(run, beta)
    return results
