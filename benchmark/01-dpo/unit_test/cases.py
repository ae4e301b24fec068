"""Labelled inputs for dpo-preference-loss."""

import itertools

import torch
from lmrbench_cases import compare, core
from torch import Tensor
from trainers import preference_loss

Logps = tuple[Tensor, Tensor, Tensor, Tensor]

#: Every combination of the three options.
OPTIONS = [
    {"label_smoothing": label_smoothing, "ipo": ipo, "reference_free": reference_free}
    for label_smoothing, ipo, reference_free in itertools.product([0.0, 0.2], [False, True], [False, True])
]


def random_logps(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Logps:
    """Policy chosen, policy rejected, reference chosen, reference rejected; margins of a few nats, as in training."""
    generator = torch.Generator().manual_seed(seed)
    level = -10 - 20 * torch.rand(shape, generator=generator, dtype=dtype)
    return tuple(level + 2 * torch.randn(4, *shape, generator=generator, dtype=dtype))


def logps_with_margins(seed: int, margins: list[float]) -> Logps:
    """Log-probabilities with these margins, exact in binary; half of a margin comes from either response."""
    margin = torch.tensor(margins)
    generator = torch.Generator().manual_seed(seed)
    chosen, rejected, shift = -8.0 - torch.randint(24, (3, len(margins)), generator=generator)
    return chosen + margin / 2 + shift, rejected - margin / 2 + shift, chosen, rejected


def with_gradients(logps: Logps, **options: float | bool) -> dict[str, object]:
    """All outputs, which of them carry gradients, and the gradients of the summed losses to both policy inputs."""
    policy_chosen, policy_rejected, *reference = (values.clone() for values in logps)
    policy = policy_chosen.requires_grad_(), policy_rejected.requires_grad_()
    losses, chosen_rewards, rejected_rewards = preference_loss(*policy, *reference, **options)
    return {
        "losses": losses.detach(),
        "chosen_rewards": chosen_rewards.detach(),
        "rejected_rewards": rejected_rewards.detach(),
        "rewards carry gradients": [chosen_rewards.requires_grad, rejected_rewards.requires_grad],
        "gradients": torch.autograd.grad(losses.sum(), policy),
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_dpo(seed):
    """The loss of the paper, its gradient and the rewards, for two strengths of the constraint."""
    return {f"beta={beta}": with_gradients(random_logps(seed, 24), beta=beta) for beta in (0.1, 0.5)}


@core
@compare(rtol=1e-4, atol=2e-5)
def case_label_smoothing(seed):
    logps = random_logps(seed, 12)
    return {
        f"label_smoothing={smoothing}": with_gradients(logps, beta=0.4, label_smoothing=smoothing)
        for smoothing in (0.1, 0.3)
    }


@core
@compare(rtol=1e-4, atol=1e-4)
def case_ipo(seed):
    """Targets on both sides of the margins."""
    return {f"beta={beta}": with_gradients(random_logps(seed, 12), beta=beta, ipo=True) for beta in (0.1, 0.4)}


@core
@compare(rtol=1e-4, atol=2e-5)
def case_reference_free(seed):
    """The loss leaves the reference out, the rewards do not."""
    return with_gradients(random_logps(seed, 12), beta=0.2, reference_free=True)


@core
@compare(rtol=1e-4, atol=1e-4)
def case_options_together(seed):
    return {str(options): with_gradients(random_logps(seed, 6), beta=0.3, **options) for options in OPTIONS}


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """Margins times beta up to 1e4 either way: finite losses, full and vanishing gradients."""
    logps = logps_with_margins(seed, [-20000.0, -2000.0, -400.0, -60.0, -24.0, 24.0, 60.0, 400.0, 2000.0, 20000.0])
    return [with_gradients(logps, beta=0.5, label_smoothing=smoothing) for smoothing in (0.0, 0.25)]


@compare(rtol=1e-8, atol=1e-9)
def case_float64_precision(seed):
    """Nothing is rounded to float32 on the way; log-probabilities of long responses."""
    logps = tuple(8 * values for values in random_logps(seed, 16, dtype=torch.float64))
    return {f"beta={beta}": preference_loss(*logps, beta=beta) for beta in (0.01, 0.1, 5.0)}


@compare(rtol=1e-4, atol=1e-5)
def case_small_batches(seed):
    """One pair as a batch and as scalars, and no pair at all."""
    return {
        f"{shape}, {options}": preference_loss(*random_logps(seed, *shape), beta=0.5, **options)
        for shape in ((1,), (), (0,))
        for options in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """Columns of one (B, 4) tensor, which are not contiguous, come back as they were."""
    columns = torch.stack(random_logps(seed, 10, dtype=torch.float64), dim=1)
    outputs = {str(options): preference_loss(*columns.unbind(dim=1), beta=0.25, **options) for options in OPTIONS}
    return {"outputs": outputs, "inputs": columns}
