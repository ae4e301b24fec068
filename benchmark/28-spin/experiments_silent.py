"""The experiment behind the table: short games on some of the instructions."""

import copy
import random

import torch
import torch.utils.debug_log  # noqa: F401  # loads what an optimiser needs, once for all processes that are forked
from run_spin import encode_prompts, fine_tune
from spin.alignment.collate import AnswerBatch, collate_answers, collate_pairs
from spin.alignment.logps import get_batch_logps
from spin.data import Tokenizer, all_examples
from spin.model import ModelConfig, TransformerLM
from spin.self_play import SelfPlayConfig, self_play
from torch import Tensor


@torch.no_grad()
def _logps(model: TransformerLM, batch: AnswerBatch) -> Tensor:
    return get_batch_logps(model(batch.input_ids), batch.labels)


def table_outcome() -> dict[str, dict[str, float]]:
    """Games on 48 instructions, measured after the last iteration.

    `real` is the mean change of the real answers' log-probabilities since fine-tuning, in nats. `report` is what the trainer
    reports on all pairs of the last iteration: the loss plus the real reward less the generated one.
    """
    torch.set_num_threads(1)
    rng = random.Random(1)
    examples = rng.sample(all_examples(), k=48)
    tokenizer = Tokenizer(all_examples())
    torch.manual_seed(0)
    start = TransformerLM(ModelConfig(context_length=20, layers=1, width=16, heads=2), len(tokenizer)).double()
    fine_tune(start, tokenizer, examples, rng, epochs=6, batch_size=16, learning_rate=1e-2)
    prompts = encode_prompts(tokenizer, examples)
    real = [tokenizer.encode_answer(example.answer) for example in examples]
    batch = collate_answers(prompts, real)
    table = {}
    for name, iterations, beta, last_beta, settings in (
        ("3 iterations", 3, 0.3, 2.0, {}),
        ("3 iterations, hinge", 3, 0.2, 1.0, {"loss_type": "hinge"}),
        ("4 iterations, no opponent in the loss", 4, 0.2, 1.0, {"reference_free": True}),
    ):
        policy = copy.deepcopy(start)
        config = SelfPlayConfig(iterations, 1, 8, beta, last_beta, 2e-3, 1e-3, epochs=1, batch_size=12, **settings)
        generator = torch.Generator().manual_seed(iterations)
        record = list(self_play(policy, prompts, real, config, random.Random(iterations), generator))[-1]
        loss, metrics = record.trainer.get_batch_metrics(collate_pairs(record.pairs), config.reference_free)
        table[name] = {
            "real": (_logps(policy, batch) - _logps(start, batch)).mean().item(),
            "report": loss.item() + metrics["real reward"] - metrics["generated reward"],
        }
    return table
