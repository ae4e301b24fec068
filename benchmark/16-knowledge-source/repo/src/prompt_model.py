"""Ask the model where context and parametric knowledge disagree; note its choice and its activations (Section 4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from src import config
from src.prompts import make_probe_prompt
from src.toy_lm import ToyLM


@contextmanager
def record_activations(model: ToyLM) -> Iterator[dict[str, list[Tensor]]]:
    """While open, every forward pass appends the output (T, width) of each module, layer by layer."""
    recorded: dict[str, list[Tensor]] = {module: [] for module in config.MODULES}
    hooks = []
    for block in model.blocks:
        modules = dict(zip(config.MODULES, (block.mhsa, block.mlp, block.l1), strict=True))
        for name, module in modules.items():
            hooks.append(module.register_forward_hook(lambda *args, name=name: recorded[name].append(args[-1])))
    try:
        yield recorded
    finally:
        for hook in hooks:
            hook.remove()


def find_positions(model: ToyLM, statement_query: str, counter_object: str, subject: str) -> dict[str, int]:
    """Token index of each of `config.POSITIONS` in a probe prompt; of several words the last one counts.

    `relation_query` is the last token of the prompt. The subject of the query is searched from its end.
    """
    query, object_, subject_ids = (model.tokenizer.encode(text) for text in (statement_query, counter_object, subject))
    offset = len(query) + len(object_) + 1  # the counter statement with its full stop
    starts = range(len(query) - len(subject_ids), -1, -1)
    start = next((i for i in starts if query[i : i + len(subject_ids)] == subject_ids), 0)
    indices = (0, len(query) + len(object_) - 1, offset + start + len(subject_ids) - 1, offset + len(query) - 1)
    return dict(zip(config.POSITIONS, indices, strict=True))


def label_answer(answer: str, counter_object: str, parametric_object: str) -> str:
    """Knowledge source of an answer, "CK", "PK" or "ND".

    Args:
        answer: text that the model generated; the tokenizer lower-cases it, as it does both objects.
        counter_object: object of the contradicting statement.
        parametric_object: the model's own object, another one.
    """
    return {counter_object: "CK", parametric_object: "PK"}.get(answer, "ND")


def prompt_with_counter_knowledge(model: ToyLM, counter_knowledge: pd.DataFrame) -> pd.DataFrame:
    """Run the model on the probe prompt of every record.

    Args:
        counter_knowledge: the counter-parametric knowledge dataset.

    Returns:
        One row a record with the columns knowledge_source (CK, PK or ND), relation_group_id, rel_lemma, and one column
        a module. A cell of the latter is a dict from position to a list over layers; its items are lists of one vector.
    """
    rows = []
    for record in counter_knowledge.itertuples(index=False):
        query, counter_object = record.statement_query, record.counter_knowledge_object
        with record_activations(model) as recorded:
            generation = model.generate(make_probe_prompt(query, counter_object))
        answer = model.tokenizer.decode(map(int, generation.token_ids))
        row: dict[str, Any] = {
            "knowledge_source": label_answer(answer, counter_object, record.parametric_knowledge_object),
            "relation_group_id": record.relation_group_id,
            "rel_lemma": record.rel_lemma,
        }
        positions = find_positions(model, query, counter_object, record.statement_subject)
        for module, layers in recorded.items():
            row[module] = {
                position: [[vector.tolist()] for vector in torch.stack(layers)[:, index]]
                for position, index in positions.items()
            }
        rows.append(row)
    return pd.DataFrame(rows)
