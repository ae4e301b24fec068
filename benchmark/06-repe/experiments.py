"""Short experiments whose results the paper reports."""

import copy

import torch
from repe.data import lessons, load_statements, make_contrasts, make_pairs
from repe.lorra import LorraConfig, adapt, add_adapters
from repe.model import CausalLM, Tokenizer, train
from repe.rep_readers import PCARepReader
from repe.rep_reading import get_hidden_states, pair_differences

LAYERS = (-2, -1)
STATEMENTS = load_statements()


def table_adaptation() -> dict[str, dict[str, float]]:
    """Reading vectors from the first pairs, and adapters trained with them: scores, losses and answers."""
    torch.set_num_threads(1)
    texts = lessons(STATEMENTS)
    tokenizer = Tokenizer(texts)
    model = CausalLM(len(tokenizer), layers=3, width=16, heads=2, seed=3).double()
    train(model, tokenizer, texts, steps=40, batch_size=32)
    pairs = make_pairs(STATEMENTS[:64], seed=5)
    states = get_hidden_states(model, tokenizer, pairs.prompts, LAYERS)
    rows = {layer: pair_differences(states[layer]) for layer in LAYERS}
    held_out = [item.prompt for item in STATEMENTS[64:]]
    size = float(abs(states[-1]).mean())
    answers = [tokenizer.ids["true"], tokenizer.ids["false"]]

    def margin(candidate: CausalLM) -> float:
        """Mean logit of "true" minus that of "false"."""
        with torch.no_grad():
            logits = candidate(tokenizer(held_out)).logits[:, -1, answers]
        return float((logits[:, 0] - logits[:, 1]).mean())

    table = {}
    # Odd numbers of pairs: a vote on a sign cannot end in a tie.
    for count, steps in ((9, 3), (17, 6), (25, 9), (33, 12)):
        reader = PCARepReader()
        first = {layer: rows[layer][:count] for layer in LAYERS}
        reader.directions = reader.get_rep_directions(model, tokenizer, first, LAYERS)
        seen = {layer: states[layer][: 2 * count] for layer in LAYERS}
        reader.direction_signs = reader.get_signs(seen, pairs.labels[:count], LAYERS)
        scores = reader.transform(get_hidden_states(model, tokenizer, held_out, LAYERS), LAYERS)

        adapted = copy.deepcopy(model)
        add_adapters(adapted, [1, 2], rank=2, seed=1)
        config = LorraConfig(LAYERS, alpha=1.5, beta=0.8, steps=steps, batch_size=8, learning_rate=1e-2, seed=2)
        vectors = {
            layer: torch.tensor(reader.direction_signs[layer][0] * reader.directions[layer][0], dtype=torch.float64)
            for layer in LAYERS
        }
        losses = adapt(adapted, model, tokenizer, make_contrasts(STATEMENTS[:64]), config, vectors)
        after = get_hidden_states(adapted, tokenizer, held_out, [-1])[-1]
        before = get_hidden_states(model, tokenizer, held_out, [-1])[-1]
        table[f"{count} pairs, {steps} steps"] = {
            "score -2": float(scores[-2].mean()) / size,
            "score -1": float(scores[-1].mean()) / size,
            "loss": losses[-1] / (losses[0] + size),
            "shift": float(((after - before) @ vectors[-1].numpy()).mean()) / size,
            "answers": margin(adapted) - margin(model),
        }
    return table
