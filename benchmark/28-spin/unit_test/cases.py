"""Labelled inputs for self-play-finetuning-loss.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import itertools
import random

import torch
from lmrbench_cases import compare, outcome
from spin.alignment.collate import AnswerPair, collate_pairs
from spin.alignment.trainer import SPINTrainer
from spin.data import Tokenizer, all_examples
from spin.model import ModelConfig, TransformerLM
from torch import Tensor, nn

Logps = tuple[Tensor, Tensor, Tensor, Tensor]

LOSS_TYPES = ("sigmoid", "hinge")
#: Both losses, with and without the opponent.
OPTIONS = list(itertools.product(LOSS_TYPES, (False, True)))


def make_trainer(**settings: float | str) -> SPINTrainer:
    """A trainer of which only the settings matter: log-probabilities are given to its loss directly."""
    return SPINTrainer(nn.Identity(), nn.Identity(), **settings)


def random_logps(seed: int, size: int, dtype: torch.dtype = torch.float64) -> Logps:
    """Log-probabilities whose margins are a few nats, as in real training, of either sign.

    Policy real, policy generated, opponent real, opponent generated: the levels of real and generated answers differ
    much more than policy and opponent do.
    """
    generator = torch.Generator().manual_seed(seed)
    levels = -10 - 20 * torch.rand(2, size, generator=generator, dtype=dtype)
    policy, opponent = levels + 2 * torch.randn(2, 2, size, generator=generator, dtype=dtype)
    return *policy, *opponent


def logps_with_margins(margins: list[float]) -> Logps:
    """Float32 log-probabilities with these margins, exact in binary; both rewards and both log-ratios are non-zero."""
    margin = torch.tensor(margins)
    opponent_real = torch.full_like(margin, -24.0)
    opponent_generated = torch.full_like(margin, -16.0)
    # Half of the margin comes from either answer; the rest of each reward is common to both and cancels.
    return opponent_real + margin / 2 - 3, opponent_generated - margin / 2 - 3, opponent_real, opponent_generated


def with_gradients(trainer: SPINTrainer, logps: Logps, reference_free: bool) -> dict[str, object]:
    """All outputs, and the gradients of the summed losses with respect to both policy inputs."""
    policy_real, policy_generated, *opponent = logps
    policy = [policy_real.clone().requires_grad_(), policy_generated.clone().requires_grad_()]
    outputs = trainer.spin_loss(*policy, *opponent, reference_free=reference_free)
    gradients = torch.autograd.grad(outputs[0].sum(), policy)
    return {"outputs": tuple(output.detach() for output in outputs), "gradients": gradients}


@compare(rtol=1e-8, atol=1e-9)
def case_random_batches(seed):
    """Batches of several sizes, one of them a single pair, at weak and strong scales; both losses."""
    return {
        f"B={size}, beta={beta}, {loss_type}": make_trainer(beta=beta, loss_type=loss_type).spin_loss(
            *random_logps(seed + size, size)
        )
        for size in (1, 2, 33)
        for beta in (0.02, 0.1, 0.5, 5.0)
        for loss_type in LOSS_TYPES
    }


@compare(rtol=1e-8, atol=1e-9)
def case_default_settings(seed):
    """Nothing said about scale and kind of loss; then only one of the two."""
    logps = random_logps(seed, 8)
    settings = ({}, {"beta": 0.4}, {"loss_type": "hinge"})
    return {str(chosen): make_trainer(**chosen).spin_loss(*logps) for chosen in settings}


@compare(rtol=1e-8, atol=1e-9)
def case_reference_free(seed):
    """The losses change, the rewards do not: they still subtract the opponent."""
    logps = random_logps(seed, 12)
    return {
        f"beta={beta}, {loss_type}, {reference_free}": make_trainer(beta=beta, loss_type=loss_type).spin_loss(
            *logps, reference_free=reference_free
        )
        for beta in (0.1, 1.5)
        for loss_type, reference_free in OPTIONS
    }


@compare(rtol=1e-7, atol=1e-10)
def case_gradients(seed):
    """With respect to both policy inputs; the hinge has pairs on either side of its corner."""
    return {
        f"beta={beta}, {loss_type}, {reference_free}": with_gradients(
            make_trainer(beta=beta, loss_type=loss_type), random_logps(seed, 16), reference_free
        )
        for beta in (0.1, 0.7, 2.0)
        for loss_type, reference_free in OPTIONS
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_batch(seed):
    logps = random_logps(seed, 32, dtype=torch.float32)
    return {
        f"{loss_type}, {reference_free}": with_gradients(
            make_trainer(beta=0.2, loss_type=loss_type), logps, reference_free
        )
        for loss_type, reference_free in OPTIONS
    }


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """Margins times beta up to 1e6 either way, in float32: finite losses, full and vanishing gradients."""
    margins = [sign * size for sign in (-1, 1) for size in (2e6, 20000.0, 2000.0, 400.0, 180.0, 60.0, 24.0)]
    logps = logps_with_margins(margins)
    return {
        loss_type: with_gradients(make_trainer(beta=0.5, loss_type=loss_type), logps, False) for loss_type in LOSS_TYPES
    }


@compare(exact=True)
def case_hinge_corner(seed):
    """Exactly 0 at the corner and beyond; just below it, the small rest. All numbers are exact in binary."""
    margins = [-4.0, 0.0, 1.0, 3.5, 3.9375, 4.0, 4.0625, 8.0, 1024.0]
    trainer = make_trainer(beta=0.25, loss_type="hinge")
    logps = logps_with_margins(margins)
    zeros = torch.zeros_like(logps[0])
    return {
        "with opponent": trainer.spin_loss(*logps),
        "reference free": trainer.spin_loss(torch.tensor(margins), zeros, *logps[2:], reference_free=True),
    }


@compare(rtol=1e-6, atol=1e-7)
def case_policy_equals_opponent(seed):
    """The start of an iteration: every logistic loss is log 2, every hinge loss 1, every reward 0."""
    generator = torch.Generator().manual_seed(seed)
    real, generated = -torch.randint(8, 1600, (2, 16), generator=generator) / 8
    return {
        loss_type: make_trainer(beta=0.3, loss_type=loss_type).spin_loss(
            real, generated, real.clone(), generated.clone()
        )
        for loss_type in LOSS_TYPES
    }


@compare(exact=True)
def case_unknown_loss_type(seed):
    """Whatever is neither of the two names is an error, also without the opponent and in an empty batch."""
    facts = {}
    for loss_type in ("ipo", "Sigmoid", "HINGE", "logistic", "sigmoid ", "hinge_squared", ""):
        trainer = make_trainer(loss_type=loss_type)
        for size, reference_free in ((4, False), (4, True), (0, False)):
            kind, _ = outcome(trainer.spin_loss, *random_logps(seed, size), reference_free, errors=ValueError)
            facts[f"{loss_type!r}, B={size}, {reference_free}"] = kind
    return facts


@compare(rtol=1e-8, atol=1e-9)
def case_settings_change(seed):
    """One trainer whose settings change between calls."""
    logps = random_logps(seed, 6)
    trainer = make_trainer(beta=0.3)
    before = trainer.spin_loss(*logps)
    trainer.beta = 1.25
    scaled = trainer.spin_loss(*logps)
    trainer.loss_type = "hinge"
    hinge = trainer.spin_loss(*logps)
    trainer.loss_type, trainer.beta = "sigmoid", 0.3
    return {"before": before, "scaled": scaled, "hinge": hinge, "again": trainer.spin_loss(*logps)}


@compare(exact=True)
def case_what_requires_grad(seed):
    """Losses carry gradients and rewards never do, whichever inputs train; the settings stay as they were."""
    policy_real, policy_generated, *opponent = random_logps(seed, 4)
    facts = {}
    for loss_type, reference_free in OPTIONS:
        trainer = make_trainer(beta=0.1, loss_type=loss_type)
        for real_trains, generated_trains in ((True, True), (True, False), (False, True), (False, False)):
            outputs = trainer.spin_loss(
                policy_real.clone().requires_grad_(real_trains),
                policy_generated.clone().requires_grad_(generated_trains),
                *opponent,
                reference_free,
            )
            trained = f"{loss_type}, {reference_free}, {real_trains}, {generated_trains}"
            facts[trained] = [output.requires_grad for output in outputs]
        facts[f"settings, {loss_type}, {reference_free}"] = (trainer.beta, trainer.loss_type)
    return facts


@compare(rtol=1e-8, atol=1e-9)
def case_pairs_are_independent(seed):
    """One pair's loss has a gradient at that pair only, and other pairs do not change when one does."""
    trainer = make_trainer(beta=0.2)
    policy_real, policy_generated, *opponent = random_logps(seed, 5)
    policy = [policy_real.requires_grad_(), policy_generated.requires_grad_()]
    losses, _, _ = trainer.spin_loss(*policy, *opponent)
    gradients = torch.autograd.grad(losses[2], policy)

    shifted = policy_real.detach().clone()
    shifted[2] -= 7.5
    return {"gradients": gradients, "shifted": trainer.spin_loss(shifted, policy_generated.detach(), *opponent)}


def case_empty_batch(seed):
    """No pairs in, no pairs out, and gradients of no pairs, in both dtypes."""
    return {
        f"{dtype}, {loss_type}, {reference_free}": with_gradients(
            make_trainer(loss_type=loss_type), (torch.empty(0, dtype=dtype),) * 4, reference_free
        )
        for dtype in (torch.float32, torch.float64)
        for loss_type, reference_free in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """Columns of one (B, 4) tensor, by keyword in another order than the signature's; they come back as they were."""
    results = {}
    for loss_type, reference_free in OPTIONS:
        columns = torch.stack(random_logps(seed, 10), dim=1)
        policy_real, policy_generated, opponent_real, opponent_generated = columns.unbind(dim=1)
        outputs = make_trainer(beta=0.3, loss_type=loss_type).spin_loss(
            reference_free=reference_free,
            opponent_generated_logps=opponent_generated,
            policy_generated_logps=policy_generated,
            opponent_real_logps=opponent_real,
            policy_real_logps=policy_real,
        )
        results[f"{loss_type}, {reference_free}"] = {"outputs": outputs, "inputs": columns}
    return results


@compare(rtol=1e-7, atol=1e-9)
def case_from_models(seed):
    """Through the metrics of a batch with two models, with gradients of the policy's embedding."""
    examples = random.Random(seed).sample(all_examples(), k=6)
    tokenizer = Tokenizer(examples)
    answers = [tokenizer.encode_answer(example.answer) for example in examples]
    prompts = [tokenizer.encode_prompt(example.prompt) for example in examples]
    # The answers of the other prompts, in reverse, stand for what an opponent wrote.
    batch = collate_pairs([AnswerPair(*parts) for parts in zip(prompts, answers, reversed(answers), strict=True)])

    torch.manual_seed(seed)
    config = ModelConfig(context_length=20, layers=1, width=8, heads=2)
    policy, opponent = (TransformerLM(config, len(tokenizer)).double() for _ in range(2))
    results = {}
    for loss_type, reference_free in OPTIONS:
        trainer = SPINTrainer(policy, opponent, beta=0.5, loss_type=loss_type)
        loss, metrics = trainer.get_batch_metrics(batch, reference_free)
        (gradient,) = torch.autograd.grad(loss, [policy.token_embedding.weight])
        results[f"{loss_type}, {reference_free}"] = {"metrics": metrics, "gradient": gradient}
    return results
