"""Labelled inputs for dpo-preference-loss.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import itertools

import torch
from lmrbench_cases import compare
from torch import Tensor
from trainers import preference_loss

Logps = tuple[Tensor, Tensor, Tensor, Tensor]

#: Every combination of the three options.
OPTIONS = [
    {"label_smoothing": label_smoothing, "ipo": ipo, "reference_free": reference_free}
    for label_smoothing, ipo, reference_free in itertools.product([0.0, 0.2], [False, True], [False, True])
]


def random_logps(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Logps:
    """Log-probabilities in [-200, -1]: policy chosen, policy rejected, reference chosen, reference rejected."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(-1 - 199 * torch.rand(4, *shape, generator=generator, dtype=dtype))


def close_logps(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Logps:
    """Log-probabilities with margins of a few nats, as in real training: the four differ little within a pair."""
    generator = torch.Generator().manual_seed(seed)
    level = -10 - 20 * torch.rand(shape, generator=generator, dtype=dtype)
    return tuple(level + 2 * torch.randn(4, *shape, generator=generator, dtype=dtype))


def logps_with_margins(margins: list[float]) -> Logps:
    """Float32 log-probabilities with these margins, exact in binary; both rewards and both log-ratios are non-zero."""
    margin = torch.tensor(margins)
    reference_chosen = torch.full_like(margin, -24.0)
    reference_rejected = torch.full_like(margin, -16.0)
    # Half of the margin comes from either response; the rest of each reward is common to both and cancels.
    return reference_chosen + margin / 2 - 3, reference_rejected - margin / 2 - 3, reference_chosen, reference_rejected


def with_gradients(logps: Logps, **options: float | bool) -> dict[str, object]:
    """All outputs, and the gradients of the summed losses with respect to both policy inputs."""
    policy_chosen, policy_rejected, *reference = logps
    policy_chosen, policy_rejected = policy_chosen.clone().requires_grad_(), policy_rejected.clone().requires_grad_()
    outputs = preference_loss(policy_chosen, policy_rejected, *reference, **options)
    gradients = torch.autograd.grad(outputs[0].sum(), [policy_chosen, policy_rejected])
    return {"outputs": tuple(output.detach() for output in outputs), "gradients": gradients}


@compare(rtol=1e-8, atol=1e-9)
def case_random_batches(seed):
    """Batches of several sizes, one of them a single pair, from weak to strong constraints."""
    return {
        f"B={size}, beta={beta}": preference_loss(*random_logps(seed + size, size), beta=beta)
        for size in (1, 2, 64)
        for beta in (0.01, 0.1, 0.5, 5.0)
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_batch(seed):
    return with_gradients(close_logps(seed, 32, dtype=torch.float32), beta=0.1)


@compare(rtol=1e-6, atol=1e-7)
def case_policy_equals_reference(seed):
    """Every loss is log 2 and every reward is 0; multiples of 1/8 keep any order of subtractions exact."""
    generator = torch.Generator().manual_seed(seed)
    chosen, rejected = -torch.randint(8, 1600, (2, 16), generator=generator) / 8
    return preference_loss(chosen, rejected, chosen.clone(), rejected.clone(), beta=0.3)


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """Margins times beta up to 1e4 either way, in float32: finite losses, full and vanishing gradients."""
    margins = [-20000.0, -2000.0, -400.0, -60.0, -24.0, 0.0, 24.0, 60.0, 400.0, 2000.0, 20000.0]
    logps = logps_with_margins(margins)
    return {
        f"label_smoothing={smoothing}": with_gradients(logps, beta=0.5, label_smoothing=smoothing)
        for smoothing in (0.0, 0.25)
    }


@compare(rtol=1e-7, atol=1e-10)
def case_gradients(seed):
    return {f"beta={beta}": with_gradients(close_logps(seed, 8), beta=beta) for beta in (0.1, 0.7, 2.0)}


@compare(rtol=1e-7, atol=1e-10)
def case_gradients_with_options(seed):
    """All eight combinations of the options."""
    return {str(options): with_gradients(close_logps(seed, 6), beta=0.4, **options) for options in OPTIONS}


@compare(rtol=1e-8, atol=1e-9)
def case_pairs_are_independent(seed):
    """One pair's loss has a gradient at that pair only, and other pairs do not change when one does."""
    policy_chosen, policy_rejected, *reference = close_logps(seed, 5)
    policy_chosen.requires_grad_()
    policy_rejected.requires_grad_()
    losses, _, _ = preference_loss(policy_chosen, policy_rejected, *reference, beta=0.2)
    gradients = torch.autograd.grad(losses[2], [policy_chosen, policy_rejected])

    shifted = policy_chosen.detach().clone()
    shifted[2] -= 7.5
    return {"gradients": gradients, "shifted": preference_loss(shifted, policy_rejected.detach(), *reference, beta=0.2)}


@compare(exact=True)
def case_what_requires_grad(seed):
    """Losses carry gradients and rewards never do, whatever the options are."""
    policy_chosen, policy_rejected, *reference = close_logps(seed, 4)
    facts = {}
    for options in OPTIONS:
        for chosen_trains, rejected_trains in ((True, True), (True, False), (False, True), (False, False)):
            outputs = preference_loss(
                policy_chosen.clone().requires_grad_(chosen_trains),
                policy_rejected.clone().requires_grad_(rejected_trains),
                *reference,
                beta=0.1,
                **options,
            )
            facts[f"{options}, {chosen_trains}, {rejected_trains}"] = [output.requires_grad for output in outputs]
    return facts


@compare(rtol=1e-8, atol=1e-10)
def case_label_smoothing(seed):
    logps = close_logps(seed, 12)
    return {
        f"label_smoothing={smoothing}, beta={beta}": preference_loss(*logps, beta=beta, label_smoothing=smoothing)
        for smoothing in (0.05, 0.1, 0.3, 0.45)
        for beta in (0.1, 1.5)
    }


@compare(rtol=1e-8, atol=1e-10)
def case_ipo(seed):
    """The target 1 / (2 beta) ranges from 50 to 0.1, so that the margins lie on both sides of it."""
    logps = random_logps(seed, 12)
    return {f"beta={beta}": preference_loss(*logps, beta=beta, ipo=True) for beta in (0.01, 0.1, 0.5, 5.0)}


@compare(rtol=1e-8, atol=1e-10)
def case_reference_free(seed):
    """The rewards still subtract the reference."""
    logps = close_logps(seed, 12)
    return {f"beta={beta}": preference_loss(*logps, beta=beta, reference_free=True) for beta in (0.1, 1.5)}


@compare(rtol=1e-8, atol=1e-10)
def case_combined_options(seed):
    """All eight combinations, every argument given by position."""
    logps = random_logps(seed, 3)
    return {str(options): preference_loss(*logps, 0.05, *options.values()) for options in OPTIONS}


@compare(rtol=1e-4, atol=1e-5)
def case_zero_dimensional(seed):
    """One pair as scalars, in both dtypes."""
    return {
        f"{dtype}, {options}": preference_loss(*close_logps(seed, dtype=dtype), beta=0.5, **options)
        for dtype in (torch.float32, torch.float64)
        for options in OPTIONS
    }


def case_empty_batch(seed):
    """No pairs in, no pairs out, and gradients of no pairs."""
    empty = torch.empty(0)
    return {str(options): with_gradients((empty,) * 4, beta=0.1, **options) for options in OPTIONS}


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """Arguments by keyword, in another order than the signature's; the inputs come back as they were."""
    policy_chosen, policy_rejected, reference_chosen, reference_rejected = inputs = close_logps(seed, 6)
    results = {}
    for options in OPTIONS:
        outputs = preference_loss(
            **options,
            beta=0.25,
            reference_rejected_logps=reference_rejected,
            policy_rejected_logps=policy_rejected,
            reference_chosen_logps=reference_chosen,
            policy_chosen_logps=policy_chosen,
        )
        results[str(options)] = {"outputs": outputs, "inputs": [logps.clone() for logps in inputs]}
    return results


@compare(rtol=1e-8, atol=1e-10)
def case_non_contiguous(seed):
    """The columns of one (B, 4) tensor, and every second pair of a batch."""
    columns = torch.stack(close_logps(seed, 10), dim=1)
    return {
        "columns": preference_loss(*columns.unbind(dim=1), beta=0.3),
        "every second pair": preference_loss(*(logps[::2] for logps in columns.t()), beta=0.3, label_smoothing=0.1),
    }
