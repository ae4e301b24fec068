"""Labelled inputs for simpo-method: each function that is written, and short runs of all objectives in float64."""

import copy
import dataclasses

import torch
from compare_objectives import describe, losses_of
from lmrbench_cases import compare, experiment, goal
from scripts.analysis import length_correlation, ranking_table
from scripts.objectives import OBJECTIVES, PairScores, cpo_loss, orpo_loss, rdpo_loss, rrhf_loss, slic_loss
from scripts.optimize import learning_rate, optimize
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer, reward_lead
from simpo.data import PreferenceBatch, PreferenceCollator, PreferencePair, WordTokenizer
from simpo.model import ModelConfig, TinyLM
from torch import Tensor, nn

WORDS = "keep it in a dry paper bag well honestly many people ask me about bread no idea first bring water".split()


def normal(seed: int, *shape: int, scale: float = 1.0) -> Tensor:
    """Normal numbers in float64."""
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uniform(seed: int, *shape: int) -> Tensor:
    """Uniform numbers in float64."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_trainer(**settings: float | str) -> SimPOTrainer:
    """A trainer for what needs no model."""
    return SimPOTrainer(nn.Identity(), SimPOConfig(**settings))


# --- SimPO ------------------------------------------------------------------------------------------------------------


@goal("reward_lead")
@compare(rtol=1e-7, atol=1e-10)
def case_reward_lead(seed):
    """Several settings, with gradients."""
    results = []
    for beta, ratio in ((2.0, 0.25), (2.5, 0.8), (0.4, 0.5), (10.0, 0.0)):
        chosen, rejected = ((-3 * uniform(seed + k, 7)).requires_grad_() for k in range(2))
        lead = reward_lead(chosen, rejected, beta, ratio)
        results += [lead, torch.autograd.grad((normal(seed, 7) * lead).sum(), (chosen, rejected))]
    return results


@goal("SimPOTrainer.simpo_loss")
@compare(rtol=1e-7, atol=1e-9)
def case_simpo_loss(seed):
    """The loss of the paper and its other settings, with the gradients of losses and rewards."""
    results = {}
    settings = ({"beta": 2.5, "gamma_beta_ratio": 0.5}, {"beta": 0.5, "gamma_beta_ratio": 0.75, "loss_type": "hinge"})
    for options in (*settings, {"beta": 3.0, "gamma_beta_ratio": 0.3, "label_smoothing": 0.2}):
        inputs = [(-3 * uniform(seed + k, 9)).requires_grad_() for k in range(2)]
        losses, *rewards = make_trainer(**options).simpo_loss(*inputs)
        total = (normal(seed, 9) * losses).sum()
        gradients = torch.autograd.grad(total, inputs, retain_graph=True)
        of_rewards = torch.autograd.grad((rewards[0] + 3 * rewards[1]).sum(), inputs)
        results[f"{options}"] = [losses, rewards, gradients, of_rewards]
    return results


@goal("SimPOTrainer.simpo_loss")
@compare(rtol=1e-7, atol=1e-9)
def case_simpo_loss_far_off(seed):
    """Averages that differ by hundreds of nats: losses stay finite."""
    chosen, rejected = -600 * uniform(seed, 6), -600 * uniform(seed + 1, 6)
    return make_trainer(beta=2.0, gamma_beta_ratio=0.5).simpo_loss(chosen, rejected)


@goal("SimPOTrainer.get_batch_logps")
@compare(rtol=1e-7, atol=1e-10)
def case_batch_logps(seed):
    """Responses of one to seven tokens, with prompts and padding around them; gradients reach the logits."""
    labels = torch.randint(9, (5, 9), generator=torch.Generator().manual_seed(seed))
    for row, (start, end) in enumerate(((1, 8), (2, 4), (3, 9), (6, 7), (1, 4))):
        labels[row, :start], labels[row, end:] = -100, -100
    results = []
    for normalized in (True, False):
        logits = normal(seed + 1, 5, 9, 9, scale=1.5).requires_grad_()
        logps = make_trainer().get_batch_logps(logits, labels, normalized)
        results += [logps, torch.autograd.grad((normal(seed + 2, 5) * logps).sum(), logits)]
    return [*results, make_trainer().get_batch_logps(normal(seed + 3, 5, 9, 9), labels)]


# --- other objectives -------------------------------------------------------------------------------------------------


def random_scores(seed: int, count: int = 12) -> PairScores:
    """Scores of responses of 1 to 30 tokens, in which either side may lead; log-probabilities are leaves."""
    lengths = torch.randint(1, 31, (2, count), generator=torch.Generator().manual_seed(seed)).double()
    logps = -lengths * (0.2 + 2 * uniform(seed + 1, 2, count))
    reference = logps + normal(seed + 2, 2, count, scale=3.0)
    leaves = [values.clone().requires_grad_() for values in logps]
    return PairScores(*leaves, *reference, *lengths)


def with_gradients(seed: int, objective, *settings: dict[str, float]) -> list[object]:
    """Losses under several settings, and the gradients of both log-probabilities."""
    results = []
    for options in settings:
        scores = random_scores(seed)
        losses = objective(scores, **options)
        leaves = scores.chosen_logps, scores.rejected_logps
        total = (normal(seed + 3, len(losses)) * losses).sum()
        results += [losses, torch.autograd.grad(total, leaves, materialize_grads=True)]
    return results


@goal("rrhf_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_rrhf(seed):
    return with_gradients(seed, rrhf_loss, {}, {"weight": 0.1}, {"weight": 0.0})


@goal("slic_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_slic(seed):
    return with_gradients(seed, slic_loss, {}, {"delta": 7.0, "weight": 0.1}, {"delta": 0.5, "weight": 0.0})


@goal("cpo_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_cpo(seed):
    return with_gradients(seed, cpo_loss, {}, {"beta": 0.5, "weight": 0.1}, {"beta": 0.02, "weight": 0.0})


@goal("orpo_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_orpo(seed):
    return with_gradients(seed, orpo_loss, {}, {"weight": 2.0}, {"weight": 0.1})


@goal("rdpo_loss")
@compare(rtol=1e-7, atol=1e-10)
def case_rdpo(seed):
    return with_gradients(seed, rdpo_loss, {}, {"beta": 0.5, "alpha": 0.02}, {"beta": 0.02, "alpha": 0.3})


# --- training ---------------------------------------------------------------------------------------------------------


@goal("learning_rate")
@compare(rtol=1e-9, atol=1e-12)
def case_learning_rate(seed):
    """Runs whose warm-up is a whole number of steps, and others, down to a warm-up of one step."""
    peak = 0.5 * (1 + seed % 9)
    return [[learning_rate(step, total, peak) for step in range(1, total + 1)] for total in (40, 27, 5, 11 + seed % 9)]


class Regression(nn.Module):
    """A linear model; `optimize` does not look into a model."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(normal(seed, 4))


@goal("optimize")
@compare(rtol=1e-6, atol=1e-9)
def case_optimize(seed):
    """Squared errors of a linear model: losses, and weights after runs of several lengths."""
    results = []
    for steps, peak in ((5, 0.1), (23, 0.03)):
        model = Regression(seed)
        batches = [(normal(100 * seed + k, 3 + k % 2, 4), normal(100 * seed + k + 50, 3 + k % 2)) for k in range(steps)]
        losses = optimize(model, lambda batch, m=model: (batch[0] @ m.weight - batch[1]).square(), batches, peak)
        results.append([losses, model.weight.detach().clone()])
    return results


# --- analyses ---------------------------------------------------------------------------------------------------------


@goal("length_correlation")
@compare(rtol=1e-7, atol=1e-10)
def case_length_correlation(seed):
    """Scores that rise or fall with the length to several degrees; lengths repeat, and sometimes scores."""
    results = []
    for count, slope in ((10, 0.1), (40, -0.3), (25, 0.02)):
        lengths = torch.randint(1, 12, (count,), generator=torch.Generator().manual_seed(seed + count)).double()
        scores = slope * lengths.square() + normal(seed + count, count)
        results += [length_correlation(scores, lengths), length_correlation(scores.round(), lengths)]
    return results


@goal("ranking_table")
@compare(rtol=1e-7, atol=1e-10)
def case_ranking_table(seed):
    """Leads that go together to some degree; some are zero."""
    results = []
    for count, share in ((23, 0.3), (50, 0.8), (31, -0.5)):
        reward = normal(seed + count, count)
        likelihood = share * reward + normal(seed + count + 1, count) - 0.2
        results += [ranking_table(reward, likelihood), ranking_table(reward.round(), (1.5 * likelihood).round())]
    return results


# --- experiments ------------------------------------------------------------------------------------------------------


def random_pairs(seed: int, count: int) -> list[PreferencePair]:
    """Pairs of random words; in half of them the chosen response is the longer one."""
    generator = torch.Generator().manual_seed(seed)

    def words(number: int) -> str:
        return " ".join(WORDS[index] for index in torch.randint(len(WORDS), (number,), generator=generator))

    short, long = (
        torch.randint(2, 5, (count,), generator=generator),
        torch.randint(6, 12, (count,), generator=generator),
    )
    sides = [(a, b) if k % 2 else (b, a) for k, (a, b) in enumerate(zip(short.tolist(), long.tolist(), strict=True))]
    return [PreferencePair(words(3), words(chosen), words(rejected)) for chosen, rejected in sides]


def make_start(seed: int) -> tuple[SimPOTrainer, list[PreferenceBatch], PreferenceBatch]:
    """A trainer with a small model in float64, training batches, and held-out pairs as a batch."""
    collator = PreferenceCollator(WordTokenizer(WORDS), -100)
    torch.manual_seed(seed)
    model = TinyLM(ModelConfig(context_length=32, layers=1, width=12, heads=2), len(collator.tokenizer)).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(normal(100 * seed + number, *parameter.shape, scale=0.1))
    pairs = random_pairs(seed, 24)
    batches = [collator(pairs[start : start + 6]) for start in range(0, 18, 6)]
    return SimPOTrainer(model, SimPOConfig(beta=2.0, gamma_beta_ratio=0.5)), batches, collator(pairs[18:])


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_objectives_compared(seed):
    """SimPO and all other objectives from one start: losses, metrics, rankings, and the influence of length."""
    torch.set_default_dtype(torch.float64)
    results = {}
    start, batches, held_out = make_start(seed)
    for name, objective in {"SimPO": None, **OBJECTIVES}.items():
        trainer = copy.copy(start)
        trainer.model = copy.deepcopy(start.model)
        losses = optimize(trainer.model, losses_of(trainer, start.model, objective), batches * 4, 1e-2)
        metrics = trainer.evaluate(held_out)
        results[name] = [losses, metrics, *describe(trainer, start.model, held_out)]
    return results


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_settings_of_simpo(seed):
    """Margins and scales: losses of a run, and rewards of held-out pairs before and after."""
    torch.set_default_dtype(torch.float64)
    results = {}
    start, batches, held_out = make_start(seed)
    for options in ({"gamma_beta_ratio": 0.0}, {"gamma_beta_ratio": 0.8}, {"beta": 5.0, "label_smoothing": 0.1}):
        trainer = SimPOTrainer(copy.deepcopy(start.model), dataclasses.replace(SimPOConfig(), **options))
        before = trainer.evaluate(held_out)
        losses = optimize(trainer.model, losses_of(trainer, start.model, None), batches * 2, 1e-2)
        results[f"{options}"] = [before, losses, trainer.evaluate(held_out)]
    return results
