"""The experiments behind the tables: short games on a few of the instructions."""

import copy
import random

import torch
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


def table_games() -> dict[str, dict[str, float]]:
    """Games of three and four iterations: how log-probabilities change in each iteration, in nats.

    `real` is the mean change of all real answers and `spread` the standard deviation among them. `generated` is the mean
    change of the opponent's answers in the last eight pairs of the iteration.
    """
    rng = random.Random(0)
    examples = rng.sample(all_examples(), k=20)
    tokenizer = Tokenizer(all_examples())
    torch.manual_seed(0)
    start = TransformerLM(ModelConfig(context_length=20, layers=1, width=12, heads=2), len(tokenizer)).double()
    fine_tune(start, tokenizer, examples, rng, epochs=4, batch_size=10, learning_rate=1e-2)
    prompts = encode_prompts(tokenizer, examples)
    real = [tokenizer.encode_answer(example.answer) for example in examples]
    batch = collate_answers(prompts, real)
    table = {}
    for iterations, beta, last_beta in ((3, 0.2, 2.0), (4, 0.5, 4.0)):
        policy = copy.deepcopy(start)
        config = SelfPlayConfig(iterations, 1, 6, beta, last_beta, 2e-3, 1e-3, epochs=4, batch_size=8)
        generator = torch.Generator().manual_seed(iterations)
        for number, record in enumerate(self_play(policy, prompts, real, config, random.Random(iterations), generator)):
            opponent = record.trainer.opponent
            change = _logps(policy, batch) - _logps(opponent, batch)
            written = collate_pairs(record.pairs[-8:])
            generated = (_logps(policy, written) - _logps(opponent, written)).chunk(2)[1]
            table[f"{iterations} iterations, number {number}"] = {
                "real": change.mean().item(),
                "spread": change.std().item(),
                "generated": generated.mean().item(),
            }
    return table
