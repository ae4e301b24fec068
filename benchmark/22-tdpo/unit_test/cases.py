"""Labelled inputs for token-level-dpo-loss."""

import random

import torch
from lmrbench_cases import compare, core
from tdpo.batching import Tokenizer, collate
from tdpo.data import generate_pairs, vocabulary
from tdpo.logprobs import get_batch_statistics
from torch import Tensor
from trainers import tdpo_loss

Statistics = tuple[Tensor, Tensor, Tensor, Tensor]

#: Both losses; three weights for the one that has a weight, and two that the other must ignore.
OPTIONS = [
    {"alpha": 0.0, "if_tdpo2": True},
    {"alpha": 0.3, "if_tdpo2": True},
    {"alpha": 2.0, "if_tdpo2": True},
    {"alpha": 0.3, "if_tdpo2": False},
    {"alpha": 0.0, "if_tdpo2": False},
]


def random_statistics(seed: int, size: int, dtype: torch.dtype = torch.float32) -> Statistics:
    """Chosen margin, rejected margin, chosen KL, rejected KL, as in training: margins of either sign, positive KL."""
    generator = torch.Generator().manual_seed(seed)
    margins = 4 * torch.randn(2, size, generator=generator, dtype=dtype)
    divergences = 0.5 + 8 * torch.rand(2, size, generator=generator, dtype=dtype)
    return *margins, *divergences


def with_gradients(statistics: Statistics, **options: float | bool) -> dict[str, object]:
    """All outputs, which of them carry gradients, and the gradients of the summed losses to all four inputs."""
    inputs = [values.clone().requires_grad_() for values in statistics]
    losses, chosen_rewards, rejected_rewards = tdpo_loss(*inputs, **options)
    return {
        "losses": losses.detach(),
        "chosen_rewards": chosen_rewards.detach(),
        "rejected_rewards": rejected_rewards.detach(),
        "rewards carry gradients": [chosen_rewards.requires_grad, rejected_rewards.requires_grad],
        # An input that the losses do not depend on counts as one with a gradient of 0.
        "gradients": torch.autograd.grad(losses.sum(), inputs, materialize_grads=True),
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_tdpo2(seed):
    return {
        f"beta={beta}, alpha={alpha}": with_gradients(
            random_statistics(seed, 16), beta=beta, alpha=alpha, if_tdpo2=True
        )
        for beta in (0.1, 0.4)
        for alpha in (0.3, 0.5, 2.0)
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_tdpo1(seed):
    return {
        f"beta={beta}": with_gradients(random_statistics(seed, 16), beta=beta, if_tdpo2=False) for beta in (0.1, 0.4)
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_defaults(seed):
    """Neither weight nor version given, and then the weight only."""
    statistics = random_statistics(seed, 8)
    return [with_gradients(statistics, beta=0.2), with_gradients(statistics, beta=0.2, alpha=0.9)]


@core
@compare(rtol=1e-4, atol=2e-5)
def case_weight_of_one(seed):
    """At this weight both losses have the same values; only the gradients tell them apart."""
    statistics = random_statistics(seed, 8)
    return [with_gradients(statistics, beta=0.2, alpha=1.0, if_tdpo2=if_tdpo2) for if_tdpo2 in (True, False)]


@core
@compare(rtol=1e-4, atol=2e-5)
def case_from_logits(seed):
    """Through the statistics of a batch with masked prompts and unequal lengths; gradients reach the logits."""
    tokenizer = Tokenizer(vocabulary())
    batch = collate(generate_pairs(2, random.Random(seed)), tokenizer)
    generator = torch.Generator().manual_seed(seed)
    reference_logits, change = torch.randn(2, *batch.labels.shape, len(tokenizer), generator=generator)
    results = {}
    for options in ({"alpha": 0.5, "if_tdpo2": True}, {"if_tdpo2": False}):
        logits = (reference_logits + 0.7 * change).requires_grad_()
        statistics = get_batch_statistics(logits, reference_logits, batch.labels)
        losses, *rewards = tdpo_loss(
            *statistics.logps_margin.chunk(2), *statistics.position_kl.chunk(2), beta=0.1, **options
        )
        (gradient,) = torch.autograd.grad(losses.mean(), logits)
        results[str(options)] = {"losses": losses.detach(), "rewards": rewards, "gradient": gradient}
    return results


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """The log-sigmoid at up to 1e4 either way: finite losses, full and vanishing gradients."""
    lead = torch.tensor([-20000.0, -2000.0, -400.0, -60.0, -24.0, 24.0, 60.0, 400.0, 2000.0, 20000.0])
    chosen_kl, rejected_kl = torch.randint(8, (2, 10), generator=torch.Generator().manual_seed(seed)).float()
    return {
        f"if_tdpo2={if_tdpo2}": with_gradients(
            (lead / 2 - 1, -lead / 2 - 1, chosen_kl, rejected_kl), beta=0.5, alpha=0.25, if_tdpo2=if_tdpo2
        )
        for if_tdpo2 in (True, False)
    }


@compare(rtol=3e-2, atol=3e-2)
def case_bfloat16_batch(seed):
    """Small whole numbers, exact in this dtype, as are their products with beta and alpha."""
    generator = torch.Generator().manual_seed(seed)
    margins = torch.randint(-8, 9, (2, 16), generator=generator).to(torch.bfloat16)
    divergences = torch.randint(0, 9, (2, 16), generator=generator).to(torch.bfloat16)
    return [tdpo_loss(*margins, *divergences, beta=0.25, alpha=0.5, if_tdpo2=if_tdpo2) for if_tdpo2 in (True, False)]


@compare(rtol=1e-4, atol=1e-5)
def case_small_batches(seed):
    """One pair, and none."""
    return {
        f"B={size}, {options}": with_gradients(random_statistics(seed, size), beta=0.3, **options)
        for size in (1, 0)
        for options in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """Columns of one float64 tensor, which are not contiguous, come back as they were."""
    columns = torch.stack(random_statistics(seed, 10, torch.float64), dim=1)
    outputs = {str(options): tdpo_loss(*columns.unbind(dim=1), beta=0.3, **options) for options in OPTIONS}
    return {"outputs": outputs, "inputs": columns}
