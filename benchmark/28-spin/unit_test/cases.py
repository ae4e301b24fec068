"""Labelled inputs for self-play-finetuning-loss."""

import itertools
import random

import torch
from lmrbench_cases import compare, core, outcome
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


def random_logps(seed: int, size: int, dtype: torch.dtype = torch.float32) -> Logps:
    """Policy real, policy generated, opponent real, opponent generated, with margins of a few nats, as in training.

    They are drawn in float64: normal numbers in float32 differ from processor to processor.
    """
    generator = torch.Generator().manual_seed(seed)
    levels = -10 - 4 * torch.rand(2, size, generator=generator, dtype=torch.float64)
    policy, opponent = (levels + 2 * torch.randn(2, 2, size, generator=generator, dtype=torch.float64)).to(dtype)
    return *policy, *opponent


def with_gradients(trainer: SPINTrainer, logps: Logps, reference_free: bool = False) -> dict[str, object]:
    """All outputs, which of them carry gradients, and the gradients of the summed losses to both policy inputs."""
    policy_real, policy_generated, *opponent = (values.clone() for values in logps)
    policy = policy_real.requires_grad_(), policy_generated.requires_grad_()
    losses, real_rewards, generated_rewards = trainer.spin_loss(*policy, *opponent, reference_free=reference_free)
    return {
        "losses": losses.detach(),
        "real_rewards": real_rewards.detach(),
        "generated_rewards": generated_rewards.detach(),
        "rewards carry gradients": [real_rewards.requires_grad, generated_rewards.requires_grad],
        "gradients": torch.autograd.grad(losses.sum(), policy),
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_logistic(seed):
    return {f"beta={beta}": with_gradients(make_trainer(beta=beta), random_logps(seed, 16)) for beta in (0.1, 0.5, 1.0)}


@core
@compare(rtol=1e-4, atol=2e-5)
def case_hinge(seed):
    """Pairs on both sides of the corner."""
    return {
        f"beta={beta}": with_gradients(make_trainer(beta=beta, loss_type="hinge"), random_logps(seed, 16))
        for beta in (0.1, 0.5, 2.0)
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_default_settings(seed):
    """Nothing said about scale and kind of loss; then only one of the two."""
    logps = random_logps(seed, 8)
    return [with_gradients(make_trainer(**settings), logps) for settings in ({}, {"beta": 0.4}, {"loss_type": "hinge"})]


@core
@compare(rtol=1e-4, atol=2e-5)
def case_reference_free(seed):
    """The losses change, the rewards do not."""
    return {
        loss_type: with_gradients(make_trainer(beta=0.5, loss_type=loss_type), random_logps(seed, 12), True)
        for loss_type in LOSS_TYPES
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_settings_change(seed):
    """One trainer whose settings change between calls."""
    trainer = make_trainer(beta=0.3)
    results = []
    for trainer.beta, trainer.loss_type in ((0.3, "sigmoid"), (0.9, "sigmoid"), (0.9, "hinge"), (0.3, "hinge")):
        results.append(with_gradients(trainer, random_logps(seed, 6)))
    return results


@core
@compare(rtol=1e-3, atol=1e-6)
def case_from_models(seed):
    """Through the metrics of a batch with two models, with gradients of the policy's embedding."""
    examples = random.Random(seed).sample(all_examples(), k=6)
    tokenizer = Tokenizer(examples)
    answers = [tokenizer.encode_answer(example.answer) for example in examples]
    prompts = [tokenizer.encode_prompt(example.prompt) for example in examples]
    # The answers of the other prompts, in reverse, stand for what an opponent wrote.
    batch = collate_pairs([AnswerPair(*parts) for parts in zip(prompts, answers, reversed(answers), strict=True)])
    config = ModelConfig(context_length=20, layers=1, width=8, heads=2)
    policy, opponent = (TransformerLM(config, len(tokenizer)).double() for _ in range(2))
    results = {}
    for loss_type, reference_free in OPTIONS:
        trainer = SPINTrainer(policy, opponent, beta=0.5, loss_type=loss_type)
        loss, metrics = trainer.get_batch_metrics(batch, reference_free)
        (gradient,) = torch.autograd.grad(loss, [policy.token_embedding.weight])
        results[f"{loss_type}, {reference_free}"] = {"metrics": metrics, "gradient": gradient}
    return results


@compare(rtol=1e-5, atol=1e-6)
def case_extreme_margins(seed):
    """Margins times beta up to 1e6 either way: finite losses, full and vanishing gradients; exact 0 for the hinge."""
    sizes = torch.tensor([2e6, 20000.0, 2000.0, 400.0, 180.0, 60.0, 24.0])
    margin = torch.cat([sizes, -sizes])
    real, generated, shift = -8.0 - torch.randint(24, (3, 14), generator=torch.Generator().manual_seed(seed))
    logps = real + margin / 2 + shift, generated - margin / 2 + shift, real, generated
    return [with_gradients(make_trainer(beta=0.5, loss_type=loss_type), logps) for loss_type in LOSS_TYPES]


@compare(exact=True)
def case_unknown_loss_type(seed):
    """Whatever is neither of the two names is an error, also in an empty batch."""
    return {
        f"{loss_type!r}, B={size}": outcome(
            make_trainer(loss_type=loss_type).spin_loss, *random_logps(seed, size), errors=ValueError
        )[0]
        for loss_type in ("ipo", "Sigmoid", "HINGE", "logistic", "sigmoid ", "")
        for size in (4, 0)
    }


@compare(rtol=1e-4, atol=1e-5)
def case_small_batches(seed):
    """One pair, and none."""
    return {
        f"B={size}, {loss_type}, {free}": with_gradients(
            make_trainer(loss_type=loss_type), random_logps(seed, size), free
        )
        for size in (1, 0)
        for loss_type, free in OPTIONS
    }


@compare(rtol=1e-8, atol=1e-9)
def case_inputs_unchanged(seed):
    """Columns of one float64 tensor, which are not contiguous, come back as they were."""
    columns = torch.stack(random_logps(seed, 10, torch.float64), dim=1)
    outputs = [
        make_trainer(beta=0.3, loss_type=loss_type).spin_loss(*columns.unbind(dim=1), reference_free=free)
        for loss_type, free in OPTIONS
    ]
    return {"outputs": outputs, "inputs": columns}
