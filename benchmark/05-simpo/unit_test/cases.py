"""Labelled inputs for simpo-loss."""

import torch
from lmrbench_cases import compare, core
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from torch import Tensor

#: Settings that go through every branch of the loss; gamma is never 0 or equal to the ratio.
BRANCHES = [
    {"beta": 2.5, "gamma_beta_ratio": 0.5, "label_smoothing": 0.0, "loss_type": "sigmoid"},
    {"beta": 2.5, "gamma_beta_ratio": 0.5, "label_smoothing": 0.2, "loss_type": "sigmoid"},
    {"beta": 0.5, "gamma_beta_ratio": 0.75, "label_smoothing": 0.2, "loss_type": "hinge"},
]


def make_trainer(**settings: float | str | None) -> SimPOTrainer:
    """A trainer as its constructor makes it; the loss needs no model."""
    return SimPOTrainer(torch.nn.Identity(), SimPOConfig(**settings))


def average_logps(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Average log-probabilities a token, as of a trained model: chosen, rejected."""
    generator = torch.Generator().manual_seed(seed)
    chosen, rejected = -0.5 - 2 * torch.rand(2, *shape, generator=generator, dtype=dtype)
    return chosen, rejected


def with_gradients(trainer: SimPOTrainer, *logps: Tensor) -> dict[str, object]:
    """All outputs, and the gradients of losses and rewards with respect to both inputs."""
    inputs = [values.clone().requires_grad_() for values in logps]
    losses, chosen_rewards, rejected_rewards = trainer.simpo_loss(*inputs)
    rewards_train = chosen_rewards.requires_grad and rejected_rewards.requires_grad
    return {
        "losses": losses.detach(),
        "chosen_rewards": chosen_rewards.detach(),
        "rejected_rewards": rejected_rewards.detach(),
        "gradients": torch.autograd.grad(losses.sum(), inputs, retain_graph=True),
        "gradients of rewards": torch.autograd.grad((chosen_rewards + 3 * rejected_rewards).sum(), inputs)
        if rewards_train
        else None,
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_simpo(seed):
    """The loss of the paper and its gradients, for scales and ratios of its Table 8."""
    return {
        f"beta={beta}, ratio={ratio}": with_gradients(
            make_trainer(beta=beta, gamma_beta_ratio=ratio), *average_logps(seed, 16)
        )
        for beta, ratio in ((2.0, 0.25), (2.5, 0.12), (2.5, 0.8))
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_default_settings(seed):
    """As configured by default, with the responses of each pair in either order."""
    chosen, rejected = average_logps(seed, 8)
    return [with_gradients(make_trainer(), chosen, rejected), with_gradients(make_trainer(), rejected, chosen)]


@core
@compare(rtol=1e-4, atol=2e-5)
def case_label_smoothing(seed):
    return {
        f"label_smoothing={smoothing}": with_gradients(
            make_trainer(beta=2.0, gamma_beta_ratio=0.6, label_smoothing=smoothing), *average_logps(seed, 12)
        )
        for smoothing in (0.1, 0.3)
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_hinge(seed):
    """Pairs on both sides of the kink, with and without a smoothing that makes no difference."""
    logps = average_logps(seed, 24)
    settings = {"beta": 2.5, "gamma_beta_ratio": 0.3, "loss_type": "hinge"}
    return [with_gradients(make_trainer(label_smoothing=smoothing, **settings), *logps) for smoothing in (0.0, 0.2)]


@core
@compare(rtol=1e-4, atol=2e-5)
def case_settings_changed_after_construction(seed):
    """The attributes of the trainer count."""
    trainer = make_trainer()
    results = []
    for settings in BRANCHES:
        for name, value in settings.items():
            setattr(trainer, name, value)
        results.append(with_gradients(trainer, *average_logps(seed, 6)))
    return results


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_differences(seed):
    """Arguments of the log-sigmoid up to 1e5 either way: finite losses, full and vanishing gradients."""
    differences = torch.tensor([-10000.0, -1000.0, -100.0, -12.0, -8.0, 8.0, 12.0, 100.0, 1000.0, 10000.0])
    middle = -torch.randint(2, 9, (10,), generator=torch.Generator().manual_seed(seed)) / 2
    logps = middle + differences / 2, middle - differences / 2
    return [
        with_gradients(make_trainer(beta=10.0, label_smoothing=smoothing, loss_type=loss_type), *logps)
        for loss_type, smoothing in (("sigmoid", 0.0), ("sigmoid", 0.25), ("hinge", 0.0))
    ]


@compare(exact=True)
def case_unknown_loss_types(seed):
    """A ValueError that names both losses, for B = 3 and B = 0."""
    results = {}
    for loss_type in ("ipo", "", None, "Sigmoid", "hinge ", "sigmoid_norm"):
        for size in (3, 0):
            raised, message = False, ""
            try:
                make_trainer(loss_type=loss_type).simpo_loss(*average_logps(seed, size))
            except ValueError as error:
                raised, message = True, str(error)
            results[f"{loss_type!r}, B={size}"] = [raised, "sigmoid" in message, "hinge" in message]
    return results


@compare(rtol=1e-4, atol=1e-5)
def case_small_batches(seed):
    """One pair as a batch and as scalars, and no pair at all."""
    return {
        f"{shape}, {settings}": with_gradients(make_trainer(**settings), *average_logps(seed, *shape))
        for shape in ((1,), (), (0,))
        for settings in BRANCHES
    }


@compare(rtol=3e-2, atol=3e-2)
def case_half_precision(seed):
    """The outputs keep the dtype of the inputs; the values are exact in it."""
    chosen, rejected = -torch.randint(2, 12, (2, 6), generator=torch.Generator().manual_seed(seed)) / 4
    return {
        f"{dtype}, {settings}": make_trainer(**settings).simpo_loss(chosen.to(dtype), rejected.to(dtype))
        for dtype in (torch.bfloat16, torch.float16)
        for settings in BRANCHES
    }


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """Non-contiguous float64 inputs come back as they were, and so does the trainer."""
    columns = torch.stack(average_logps(seed, 10, dtype=torch.float64), dim=1)
    trainers = [make_trainer(**settings) for settings in BRANCHES]
    outputs = [trainer.simpo_loss(*columns.unbind(dim=1)) for trainer in trainers]
    settings = [{name: getattr(trainer, name) for name in BRANCHES[0]} for trainer in trainers]
    return {"outputs": outputs, "inputs": columns, "settings": settings}
