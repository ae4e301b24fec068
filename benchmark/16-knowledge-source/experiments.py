"""Short experiments whose results the paper reports."""

import numpy as np
import pandas as pd
import torch
from src import config
from src.classification.classifier import perform_classification_by_relation_group
from src.classification.summary import summarise_layers
from src.context_knowledge import get_objects_to_first_token_id_dict
from src.data import (
    generate_counter_parametric_knowledge_dataset,
    load_relations,
    load_triplets,
    remove_entity_overlap_between_relation_groups,
    remove_object_subject_overlap,
)
from src.parametric_knowledge import (
    generate_parametric_knowledge_dataset,
    is_parametric_object_not_in_the_prompt,
    make_toy_lm,
)
from src.prompt_model import prompt_with_counter_knowledge
from threadpoolctl import threadpool_limits

#: Triplets of each relation in the random knowledge base, in the order of the relation table.
RANDOM_TRIPLETS = (84, 84, 56, 56, 42, 42, 28, 28, 21, 21, 14, 14)


def random_triplets(relations: pd.DataFrame) -> pd.DataFrame:
    """A random knowledge base in random order, with so few names that relation groups share many of them."""
    numbers = np.random.default_rng(0)
    rows = []
    for relation, size in zip(relations["relation"], RANDOM_TRIPLETS, strict=True):
        subjects, objects = numbers.choice(500, size, replace=False), numbers.integers(0, 400, size)
        rows += [(f"s{s}", relation, f"o{o}") for s, o in zip(subjects, objects, strict=True)]
    triplets = pd.DataFrame(rows, columns=["subject", "relation", "object"])
    return triplets.sample(frac=1, random_state=0).reset_index(drop=True)


def table_outcome() -> dict[str, dict[str, float]]:
    """Lower bounds of success rates (mean less standard error) in the layers that do not hold the gate, at the object.

    The offline model knows a random knowledge base. Its relation groups are made disjoint, and each triplet is
    contradicted by up to three objects.
    """
    threadpool_limits(1)  # of PyTorch and of the probes; more threads would cost more CPU time
    torch.set_default_dtype(torch.float64)
    relations = load_relations()
    triplets = random_triplets(relations)
    model = make_toy_lm(triplets, relations)
    knowledge = generate_parametric_knowledge_dataset(model, triplets, relations)
    knowledge = remove_entity_overlap_between_relation_groups(knowledge)
    counter = generate_counter_parametric_knowledge_dataset(knowledge, config.NB_COUNTER_PARAMETRIC_KNOWLEDGE)
    results = prompt_with_counter_knowledge(model, counter)
    table: dict[str, dict[str, float]] = {f"layer {layer}": {} for layer in (0, 1, 3)}
    for module, flags in {"mlp": (True, False, False), "mlp-l1": (False, True, False)}.items():
        records = perform_classification_by_relation_group(results, *flags, vertical=True, position="object")
        summary = summarise_layers(pd.DataFrame(records))
        for layer in (0, 1, 3):
            row = summary.loc[layer]
            table[f"layer {layer}"][module] = float(row["mean"] - row["standard_error"])
    return table


def table_sources() -> dict[str, dict[str, float]]:
    """How surprising contradictions are, and success rates of early and late layers, for each relation group.

    The triplets come in random order.
    Surprise is relative to its mean over all prompts. Rates and errors are in units of ten over that mean, in nats.
    """
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    relations = load_relations()
    triplets = load_triplets(relations)
    model = make_toy_lm(triplets, relations, seed=6)
    knowledge = generate_parametric_knowledge_dataset(model, triplets, relations)
    knowledge = remove_object_subject_overlap(knowledge, config.SUBJECT_OBJECT_SIMILARITY)
    objects = knowledge["parametric_object"]
    knowledge = knowledge[[is_parametric_object_not_in_the_prompt(object_, relations) for object_ in objects]]
    knowledge = remove_entity_overlap_between_relation_groups(knowledge.sample(frac=1, random_state=3))
    counter = generate_counter_parametric_knowledge_dataset(knowledge, 3)

    tokens = get_objects_to_first_token_id_dict(knowledge)
    answers = knowledge.set_index(["statement_subject", "rel_lemma"])["log_probability_parametric_object_first_token"]
    surprises = np.array(
        [
            answers[row.statement_subject, row.rel_lemma][tokens[row.parametric_knowledge_object]]
            - answers[row.statement_subject, row.rel_lemma][tokens[row.counter_knowledge_object]]
            for row in counter.itertuples()
        ]
    )
    unit = float(surprises.mean())
    results = prompt_with_counter_knowledge(model, counter)
    records = perform_classification_by_relation_group(results, True, False, False, vertical=True, position="object")
    metrics = pd.DataFrame(records)
    groups = relations["relation_group_id"].unique()
    table = {}
    for group in groups:
        rates = metrics[metrics["relation_group_id"] == group].dropna()["success_rate"].to_numpy(dtype=float)
        is_member = (counter["relation_group_id"] == group).to_numpy()
        table[str(group)] = {
            "surprise": float(surprises[is_member].mean()) / unit if is_member.any() else 0.0,
            "early layers": 10 * float(rates[:2].mean()) / unit if len(rates) else 0.0,
            "late layers": 10 * float(rates[2:].mean()) / unit if len(rates) else 0.0,
        }
    summary = summarise_layers(metrics)
    spread = {"all": float(np.median(surprises)), "standard error": float(surprises.std() / len(surprises) ** 0.5)}
    for row, column in (("all", "mean"), ("standard error", "standard_error")):
        values = 10 * summary[column].to_numpy(dtype=float) / unit
        table[row] = {
            "surprise": spread[row] / unit,
            "early layers": float(values[:2].mean()),
            "late layers": float(values[2:].mean()),
        }
    return table


def table_removal() -> dict[str, dict[str, float]]:
    """Triplets that are kept of random tables with few names: how many, and their mean place, counted from 0."""
    table = {}
    for number in range(1, 5):
        numbers = np.random.default_rng(number)
        columns = {"relation_group_id": (5, "group"), "statement_subject": (14, "s"), "parametric_object": (11, "o")}
        frame = pd.DataFrame(
            {name: [f"{word} {n}" for n in numbers.integers(0, most, 26)] for name, (most, word) in columns.items()}
        )
        kept = remove_entity_overlap_between_relation_groups(frame)
        table[f"random table {number}"] = {"kept": float(len(kept)), "mean place": float(np.mean(kept.index))}
    return table
