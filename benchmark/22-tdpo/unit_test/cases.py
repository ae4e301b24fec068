"""Labelled inputs for token-level-dpo-loss.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import random

import torch
from lmrbench_cases import compare
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


def random_statistics(seed: int, size: int, dtype: torch.dtype = torch.float64) -> Statistics:
    """Chosen margin, rejected margin, chosen KL, rejected KL, as in training: margins of either sign, positive KL."""
    generator = torch.Generator().manual_seed(seed)
    margins = 5 * torch.randn(2, size, generator=generator, dtype=dtype)
    divergences = 0.5 + 8 * torch.rand(2, size, generator=generator, dtype=dtype)
    return *margins, *divergences


def statistics_with_margins(margins: list[float], dtype: torch.dtype = torch.float32) -> Statistics:
    """Statistics whose chosen margin leads by these numbers; KL of 3 and 7. All of it is exact in binary."""
    lead = torch.tensor(margins, dtype=dtype)
    return lead / 2 - 1, -lead / 2 - 1, torch.full_like(lead, 3.0), torch.full_like(lead, 7.0)


def with_gradients(statistics: Statistics, **options: float | bool) -> dict[str, object]:
    """All outputs, and the gradients of the summed losses with respect to all four inputs; no gradient counts as 0."""
    inputs = [values.clone().requires_grad_() for values in statistics]
    outputs = tdpo_loss(*inputs, **options)
    gradients = torch.autograd.grad(outputs[0].sum(), inputs, materialize_grads=True)
    return {"outputs": tuple(output.detach() for output in outputs), "gradients": gradients}


@compare(rtol=1e-8, atol=1e-9)
def case_random_batches(seed):
    """Batches of several sizes, one of them a single pair, from weak to strong constraints; both losses."""
    return {
        f"B={size}, beta={beta}, {options}": tdpo_loss(*random_statistics(seed + size, size), beta=beta, **options)
        for size in (1, 2, 33)
        for beta in (0.01, 0.1, 0.5, 5.0)
        for options in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-9)
def case_defaults(seed):
    """Neither weight nor version given: TDPO2 with a weight of a half. Then only one of the two."""
    statistics = random_statistics(seed, 8)
    return {
        "neither": with_gradients(statistics, beta=0.3),
        "alpha": with_gradients(statistics, beta=0.3, alpha=0.9),
        "tdpo1": with_gradients(statistics, beta=0.3, if_tdpo2=False),
    }


@compare(rtol=1e-7, atol=1e-10)
def case_gradients(seed):
    """With respect to all four inputs; that of the chosen KL vanishes in TDPO2 and does not in TDPO1."""
    return {
        f"beta={beta}, {options}": with_gradients(random_statistics(seed, 6), beta=beta, **options)
        for beta in (0.1, 0.7, 2.0)
        for options in OPTIONS
    }


@compare(rtol=1e-7, atol=1e-10)
def case_weight_of_one(seed):
    """At this weight both losses have the same values; only the gradients tell them apart."""
    statistics = random_statistics(seed, 8)
    return [with_gradients(statistics, beta=0.2, alpha=1.0, if_tdpo2=if_tdpo2) for if_tdpo2 in (True, False)]


@compare(rtol=1e-4, atol=1e-5)
def case_float32_batch(seed):
    statistics = random_statistics(seed, 32, dtype=torch.float32)
    return {f"{options}": with_gradients(statistics, beta=0.1, **options) for options in OPTIONS}


@compare(rtol=3e-2, atol=3e-2)
def case_bfloat16_batch(seed):
    """Small whole numbers, exact in this dtype, as are their products with beta and alpha."""
    generator = torch.Generator().manual_seed(seed)
    margins = torch.randint(-8, 9, (2, 16), generator=generator).to(torch.bfloat16)
    divergences = torch.randint(0, 9, (2, 16), generator=generator).to(torch.bfloat16)
    return {
        f"if_tdpo2={if_tdpo2}": tdpo_loss(*margins, *divergences, beta=0.25, alpha=0.5, if_tdpo2=if_tdpo2)
        for if_tdpo2 in (True, False)
    }


@compare(rtol=1e-6, atol=1e-7)
def case_policy_equals_reference(seed):
    """The state at the start of training: every loss is log 2 and every reward is 0."""
    zeros = torch.zeros(5 + seed)
    return [with_gradients((zeros,) * 4, beta=0.3, **options) for options in OPTIONS]


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """The log-sigmoid at up to 1e4 either way, in float32: finite losses, full and vanishing gradients."""
    margins = [-20000.0, -2000.0, -400.0, -60.0, -24.0, 0.0, 24.0, 60.0, 400.0, 2000.0, 20000.0]
    statistics = statistics_with_margins(margins)
    return {
        f"if_tdpo2={if_tdpo2}": with_gradients(statistics, beta=0.5, alpha=0.25, if_tdpo2=if_tdpo2)
        for if_tdpo2 in (True, False)
    }


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_divergences(seed):
    """A large KL on one side or on both, where it decides the loss alone."""
    zeros = torch.zeros(4)
    chosen_kl = torch.tensor([16000.0, 0.0, 64.0, 500.0])
    rejected_kl = torch.tensor([0.0, 16000.0, 64.0, 200.0])
    return [with_gradients((zeros, zeros, chosen_kl, rejected_kl), beta=0.5, **options) for options in OPTIONS]


@compare(rtol=1e-8, atol=1e-9)
def case_pairs_are_independent(seed):
    """One pair's loss has a gradient at that pair only, and other pairs do not change when one does."""
    statistics = random_statistics(seed, 5)
    inputs = [values.clone().requires_grad_() for values in statistics]
    losses, _, _ = tdpo_loss(*inputs, beta=0.2, if_tdpo2=False)
    gradients = torch.autograd.grad(losses[2], inputs)

    shifted = [values.clone() for values in statistics]
    for values in shifted:
        values[2] += 7.5
    shifted[0][2] += 2.0
    return {"gradients": gradients, "shifted": tdpo_loss(*shifted, beta=0.2, alpha=0.8)}


@compare(exact=True)
def case_what_requires_grad(seed):
    """Losses carry gradients and rewards never do, whichever inputs train."""
    facts = {}
    for options in OPTIONS:
        for trained in (0, 1):
            inputs = list(random_statistics(seed, 4))
            inputs[trained].requires_grad_()
            outputs = tdpo_loss(*inputs, beta=0.1, **options)
            facts[f"margin {trained} trains, {options}"] = [output.requires_grad for output in outputs]
        inputs = [values.requires_grad_() for values in random_statistics(seed, 4)]
        facts[f"all train, {options}"] = [output.requires_grad for output in tdpo_loss(*inputs, beta=0.1, **options)]
    facts["none trains"] = [output.requires_grad for output in tdpo_loss(*random_statistics(seed, 4), beta=0.1)]
    return facts


@compare(rtol=1e-8, atol=1e-10)
def case_positional_arguments(seed):
    """Every argument by position, then by keyword in another order than the signature's."""
    chosen_margin, rejected_margin, chosen_kl, rejected_kl = statistics = random_statistics(seed, 6)
    return {
        str(options): (
            tdpo_loss(*statistics, 0.05, *options.values()),
            tdpo_loss(
                **options,
                beta=0.05,
                rejected_position_kl=rejected_kl,
                rejected_logps_margin=rejected_margin,
                chosen_position_kl=chosen_kl,
                chosen_logps_margin=chosen_margin,
            ),
        )
        for options in OPTIONS
    }


def case_empty_batch(seed):
    """No pairs in, no pairs out, and gradients of no pairs, in both dtypes."""
    return {
        f"{dtype}, {options}": with_gradients((torch.empty(0, dtype=dtype),) * 4, beta=0.1, **options)
        for dtype in (torch.float32, torch.float64)
        for options in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-10)
def case_inputs_unchanged(seed):
    """The inputs come back as they were; they are columns of one (B, 4) tensor, so no one of them is contiguous."""
    results = {}
    for options in OPTIONS:
        columns = torch.stack(random_statistics(seed, 10), dim=1)
        outputs = tdpo_loss(*columns.unbind(dim=1), beta=0.3, **options)
        results[str(options)] = {"outputs": outputs, "inputs": columns}
    return results


@compare(rtol=1e-7, atol=1e-9)
def case_from_logits(seed):
    """Through the statistics of a batch with masked prompts and unequal lengths; gradients reach the logits."""
    tokenizer = Tokenizer(vocabulary())
    batch = collate(generate_pairs(2, random.Random(seed)), tokenizer)
    generator = torch.Generator().manual_seed(seed)
    reference_logits, change = torch.randn(
        2, *batch.labels.shape, len(tokenizer), generator=generator, dtype=torch.float64
    )
    results = {}
    for options in ({"alpha": 0.5, "if_tdpo2": True}, {"if_tdpo2": False}):
        logits = (reference_logits + 0.7 * change).requires_grad_()
        statistics = get_batch_statistics(logits, reference_logits, batch.labels)
        outputs = tdpo_loss(*statistics.logps_margin.chunk(2), *statistics.position_kl.chunk(2), beta=0.1, **options)
        (gradient,) = torch.autograd.grad(outputs[0].mean(), logits)
        results[str(options)] = {"outputs": tuple(output.detach() for output in outputs), "gradient": gradient}
    return results
