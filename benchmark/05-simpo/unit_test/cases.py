"""Labelled inputs for simpo-loss.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import json

import torch
from lmrbench_cases import compare
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from torch import Tensor

Pair = tuple[Tensor, Tensor]

#: Settings that go through every branch of the loss; gamma is never 0 or equal to the ratio.
BRANCHES = [
    {"beta": 2.5, "gamma_beta_ratio": 0.5, "label_smoothing": 0.0, "loss_type": "sigmoid"},
    {"beta": 2.5, "gamma_beta_ratio": 0.5, "label_smoothing": 0.2, "loss_type": "sigmoid"},
    {"beta": 0.5, "gamma_beta_ratio": 0.75, "label_smoothing": 0.2, "loss_type": "hinge"},
]


def make_trainer(**settings: float | str) -> SimPOTrainer:
    """A trainer as its constructor makes it; the loss needs no model."""
    return SimPOTrainer(torch.nn.Identity(), SimPOConfig(**settings))


def average_logps(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Pair:
    """Average log-probabilities in [-5, 0]: chosen, rejected."""
    generator = torch.Generator().manual_seed(seed)
    chosen, rejected = -5 * torch.rand(2, *shape, generator=generator, dtype=dtype)
    return chosen, rejected


def logps_with_difference(differences: list[float], dtype: torch.dtype = torch.float32) -> Pair:
    """Pairs whose log-probabilities differ by these amounts, exact in binary."""
    difference = torch.tensor(differences, dtype=dtype)
    return -3.0 + difference / 2, -3.0 - difference / 2


def with_gradients(trainer: SimPOTrainer, chosen: Tensor, rejected: Tensor) -> dict[str, object]:
    """All three outputs, and the gradient of the sum of each with respect to both inputs; None for a detached output.

    Zeros stand for the missing gradient of an input that an output does not depend on, as if both were stacked.
    """
    inputs = [chosen.clone().requires_grad_(), rejected.clone().requires_grad_()]
    outputs = trainer.simpo_loss(*inputs)
    gradients = [
        torch.autograd.grad(output.sum(), inputs, retain_graph=True, allow_unused=True, materialize_grads=True)
        if output.requires_grad
        else None
        for output in outputs
    ]
    return {"outputs": tuple(output.detach() for output in outputs), "gradients": gradients}


@compare(rtol=1e-8, atol=1e-9)
def case_random_batches(seed):
    """Batches of several sizes, one of them a single pair, for weak and strong scales and margins."""
    return {
        f"B={size}, beta={beta}, ratio={ratio}": make_trainer(beta=beta, gamma_beta_ratio=ratio).simpo_loss(
            *average_logps(seed + size, size)
        )
        for size in (1, 3, 64)
        for beta in (1.0, 2.0, 2.5, 10.0)
        for ratio in (0.0, 0.25, 1.6)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_default_settings(seed):
    """As configured by default, and far from the margin on both sides."""
    chosen, rejected = average_logps(seed, 8)
    trainer = make_trainer()
    return {"forth": trainer.simpo_loss(chosen, rejected), "back": trainer.simpo_loss(rejected, chosen)}


@compare(rtol=1e-6, atol=1e-7)
def case_lead_equal_to_margin(seed):
    """The chosen response leads by exactly gamma, exact in binary: the loss is log 2, or 1 with the hinge."""
    generator = torch.Generator().manual_seed(seed)
    rejected = -torch.randint(8, 40, (16,), generator=generator) / 8
    return {
        f"{loss_type}, ratio={ratio}": make_trainer(
            beta=2.5, gamma_beta_ratio=ratio, loss_type=loss_type, label_smoothing=0.125
        ).simpo_loss(rejected + ratio, rejected)
        for loss_type in ("sigmoid", "hinge")
        for ratio in (0.0, 0.5, 1.25)
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_batch(seed):
    logps = average_logps(seed, 32, dtype=torch.float32)
    return {str(settings): with_gradients(make_trainer(**settings), *logps) for settings in BRANCHES}


@compare(rtol=1e-8, atol=1e-10)
def case_label_smoothing(seed):
    chosen, rejected = average_logps(seed, 12)
    return {
        f"label_smoothing={smoothing}, beta={beta}": make_trainer(
            beta=beta, gamma_beta_ratio=0.6, label_smoothing=smoothing
        ).simpo_loss(chosen, rejected)
        for smoothing in (0.05, 0.1, 0.3, 0.5)
        for beta in (0.8, 2.5)
    }


@compare(rtol=1e-6, atol=1e-9)
def case_hinge(seed):
    """Both sides of the kink and the kink itself, at a difference of 1; label smoothing makes no difference."""
    generator = torch.Generator().manual_seed(seed)
    differences = [-40.0, -2.0, -0.5, 0.0, 0.25, 0.5, 0.875, 1.0, 1.125, 2.0, 40.0]
    differences += (torch.randint(-64, 64, (8,), generator=generator) / 16).tolist()
    logps = logps_with_difference(differences, torch.float64)
    settings = {"beta": 2.0, "gamma_beta_ratio": 0.5, "loss_type": "hinge"}
    return {
        f"label_smoothing={smoothing}": make_trainer(label_smoothing=smoothing, **settings).simpo_loss(*logps)
        for smoothing in (0.0, 0.2)
    }


@compare(rtol=1e-7, atol=1e-10)
def case_gradients(seed):
    """Gradients of losses and rewards in every branch; no random pair meets the kink of the hinge."""
    logps = average_logps(seed, 8)
    results = {str(settings): with_gradients(make_trainer(**settings), *logps) for settings in BRANCHES}
    results["defaults"] = with_gradients(make_trainer(), *logps)
    return results


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_differences(seed):
    """Arguments of the log-sigmoid up to 1e5 either way, in float32: finite losses, full and vanishing gradients."""
    logps = logps_with_difference([-10000.0, -1000.0, -100.0, -12.0, -8.0, 0.0, 8.0, 12.0, 100.0, 1000.0, 10000.0])
    return {
        f"{loss_type}, label_smoothing={smoothing}": with_gradients(
            make_trainer(beta=10.0, gamma_beta_ratio=0.5, label_smoothing=smoothing, loss_type=loss_type), *logps
        )
        for loss_type in ("sigmoid", "hinge")
        for smoothing in (0.0, 0.25)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_pairs_are_independent(seed):
    """One pair's loss has a gradient at that pair only, and other pairs do not change when one does."""
    chosen, rejected = average_logps(seed, 5)
    results = {}
    for settings in BRANCHES:
        trainer = make_trainer(**settings)
        inputs = [chosen.clone().requires_grad_(), rejected.clone().requires_grad_()]
        gradients = torch.autograd.grad(trainer.simpo_loss(*inputs)[0][2], inputs)
        shifted = chosen.clone()
        shifted[2] -= 7.5
        results[str(settings)] = {"gradients": gradients, "shifted": trainer.simpo_loss(shifted, rejected)}
    return results


@compare(exact=True)
def case_what_requires_grad(seed):
    """Losses are on the graph if either input is, rewards if both are; nothing is if neither is."""
    chosen, rejected = average_logps(seed, 4)
    facts = {}
    for settings in BRANCHES:
        for chosen_trains, rejected_trains in ((True, True), (True, False), (False, True), (False, False)):
            losses, *rewards = make_trainer(**settings).simpo_loss(
                chosen.clone().requires_grad_(chosen_trains), rejected.clone().requires_grad_(rejected_trains)
            )
            facts[f"losses, {settings}, {chosen_trains}, {rejected_trains}"] = losses.requires_grad
            if chosen_trains == rejected_trains:
                facts[f"rewards, {settings}, {chosen_trains}"] = [reward.requires_grad for reward in rewards]
    return facts


@compare(exact=True)
def case_unknown_loss_types(seed):
    """A ValueError that names both losses, for B = 3 and B = 0, given to the constructor or set later."""
    results = {}
    for loss_type in ("ipo", "", None, "Sigmoid", "hinge ", "sigmoid_norm", 0):
        given, changed = make_trainer(loss_type=loss_type), make_trainer()
        changed.loss_type = loss_type
        for origin, trainer in (("given", given), ("changed", changed)):
            for size in (3, 0):
                raised, message = False, ""
                try:
                    trainer.simpo_loss(*average_logps(seed, size))
                except ValueError as error:
                    raised, message = True, str(error)
                results[f"{loss_type!r} {origin}, B={size}"] = [raised, "sigmoid" in message, "hinge" in message]
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_settings_changed_after_construction(seed):
    """The trainer's attributes count, not what the constructor was given; the function leaves them alone."""
    logps = average_logps(seed, 6)
    trainer = make_trainer()
    results = {}
    for settings in BRANCHES:
        # Through JSON, as from a file of settings: strings are then equal to literals, but not the same objects.
        for name, value in json.loads(json.dumps(settings)).items():
            setattr(trainer, name, value)
        results[str(settings)] = trainer.simpo_loss(*logps)
        results[f"{settings}, after"] = {name: getattr(trainer, name) for name in settings}
        results[f"{settings}, attributes"] = sorted(vars(trainer))
    return results


@compare(rtol=1e-4, atol=1e-5)
def case_zero_dimensional(seed):
    """One pair as scalars, in both dtypes."""
    return {
        f"{dtype}, {settings}": with_gradients(make_trainer(**settings), *average_logps(seed, dtype=dtype))
        for dtype in (torch.float32, torch.float64)
        for settings in BRANCHES
    }


@compare(rtol=3e-2, atol=3e-2)
def case_half_precision(seed):
    """The outputs keep the dtype of the inputs, for bfloat16 and float16 as well."""
    logps = logps_with_difference([-4.0, -1.0, 0.5, 2.0, 3.0], torch.float64)
    return {
        f"{dtype}, {settings}": make_trainer(**settings).simpo_loss(*(values.to(dtype) for values in logps))
        for dtype in (torch.bfloat16, torch.float16)
        for settings in BRANCHES
    }


def case_empty_batch(seed):
    """No pairs in, no pairs out, and gradients of no pairs."""
    return {
        f"{dtype}, {settings}": with_gradients(
            make_trainer(**settings), torch.empty(0, dtype=dtype), torch.empty(0, dtype=dtype)
        )
        for dtype in (torch.float32, torch.float64)
        for settings in BRANCHES
    }


@compare(rtol=1e-8, atol=1e-10)
def case_layout_and_inputs(seed):
    """Non-contiguous inputs, given by keyword in the other order, come back as they were; a second call agrees."""
    columns = torch.stack(average_logps(seed, 10), dim=1)
    chosen, rejected = columns.unbind(dim=1)
    results = {}
    for settings in BRANCHES:
        trainer = make_trainer(**settings)
        first = trainer.simpo_loss(policy_rejected_logps=rejected, policy_chosen_logps=chosen)
        copies = tuple(output.clone() for output in first)
        second = trainer.simpo_loss(chosen[::2], rejected[::2])
        results[str(settings)] = {"first": copies, "second": second, "inputs": columns.clone()}
    return results
