"""Tables of a small replication: a briefly trained toy model, its layers, and the answers of decoding by contrast."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from dola.decoding import divergence, dola_greedy_decode
from dola.filters import RepetitionPenalty
from dola.model import EarlyExitLM, GenerationConfig, LMConfig
from dola.tokenizer import WordTokenizer
from dola.training import CARELESS, Fact, TrainConfig, all_texts, load_facts, train
from torch import Tensor

LAYERS = 6
#: Row -> arguments of the decoder, and theta.
SETTINGS = {
    "layer 1, alpha 0.003": ({"base_layer": 1, "relative_top": 0.003}, 1.0),
    "layer 1, alpha 0.1": ({"base_layer": 1, "relative_top": 0.1}, 1.0),
    "layer 4, alpha 0.03": ({"base_layer": 4, "relative_top": 0.03}, 1.0),
    "layers 0, 2, 4, alpha 0.01": ({"candidate_premature_layers": [0, 2, 4], "relative_top": 0.01}, 1.0),
    "layer 2, alpha 0.03, theta 1.5": ({"base_layer": 2, "relative_top": 0.03}, 1.5),
}


@cache
def trained() -> tuple[EarlyExitLM, WordTokenizer, Sequence[Fact]]:
    """The toy model after a short training in float64, its tokenizer and the facts."""
    torch.set_num_threads(1)
    torch.manual_seed(7)
    facts = load_facts(Path(__file__).parent / "data" / "facts.jsonl")
    tokenizer = WordTokenizer(all_texts(facts))
    config = LMConfig(vocab_size=len(tokenizer), width=24, layers=LAYERS, heads=3)
    model = EarlyExitLM(config, GenerationConfig(tokenizer.pad_token_id, tokenizer.eos_token_id)).double()
    train(model, tokenizer, facts, TrainConfig(steps=30, batch_size=32, learning_rate=8e-3, seed=7))
    return model, tokenizer, facts


def by_kind(facts: Sequence[Fact], values: Tensor) -> dict[str, float]:
    """Means of values (facts,) over the facts of each kind."""
    return {kind: values[[fact.kind == kind for fact in facts]].mean().item() for kind in CARELESS}


def normalised(table: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Divide each column by its mean over the rows."""
    columns = next(iter(table.values()))
    means = {column: sum(row[column] for row in table.values()) / len(table) for column in columns}
    return {name: {column: row[column] / means[column] for column in columns} for name, row in table.items()}


def table_layers() -> dict[str, dict[str, float]]:
    """Weights of the layers before each kind of answer: a softmax of d over layers, relative to the column's mean."""
    model, tokenizer, facts = trained()
    ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in facts])
    with torch.no_grad():
        logits, _ = model(ids, mask, early_exit_layers=range(LAYERS + 1))
        distances = [divergence(logits[LAYERS][:, -1], logits[layer][:, -1]) for layer in range(LAYERS)]
    weights = torch.stack(distances).softmax(0)
    return normalised({f"layer {layer}": by_kind(facts, weights[layer]) for layer in range(LAYERS)})


def table_answers() -> dict[str, dict[str, float]]:
    """Mean probability of the true answer after decoding by contrast, relative to the column's mean."""
    model, tokenizer, facts = trained()
    ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in facts])
    answers = torch.tensor([tokenizer.encode(fact.answer)[-1] for fact in facts])
    table = {}
    for name, (setting, theta) in SETTINGS.items():
        output = dola_greedy_decode(
            model,
            ids,
            LAYERS,
            logits_processor=RepetitionPenalty(theta),
            max_length=ids.shape[-1] + 1,
            output_scores=True,
            return_dict_in_generate=True,
            attention_mask=mask,
            **setting,
        )
        probabilities = output.scores[0].softmax(-1)[torch.arange(len(facts)), answers]
        table[name] = by_kind(facts, probabilities)
    return normalised(table)
