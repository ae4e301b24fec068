"""Tables of the study: loading, filters against shortcuts, and the counter-parametric knowledge dataset."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from src import config
from src.context_knowledge import (
    COUNTER_KNOWLEDGE_COLUMNS,
    build_counter_knowledge_record,
    get_objects_to_first_token_id_dict,
)
from src.string_similarity import jaro_winkler_similarity


def load_relations() -> pd.DataFrame:
    """The relation table: one row a relation with its group, its query and two examples."""
    relations = pd.read_csv(config.RELATIONS_FILE)
    if repeated := relations.loc[relations["relation"].duplicated(), "relation"].tolist():
        raise ValueError(f"relations that stand twice: {repeated}")
    return relations


def load_triplets(relations: pd.DataFrame) -> pd.DataFrame:
    """The knowledge base: columns subject, relation, object."""
    triplets = pd.read_csv(config.TRIPLETS_FILE)
    if unknown := set(triplets["relation"]) - set(relations["relation"]):
        raise ValueError(f"relations that the relation table does not have: {sorted(unknown)}")
    return triplets


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    """Drop the triplets whose generated object could be guessed from the look of their subject (Section 3.1.3).

    Args:
        parametric_knowledge_dataset: string columns statement_subject and parametric_object, and any others.
        string_similarity_ratio: similarity from which on two strings are too much alike; `run_all.py` takes that of
            `src.config`, which says more.

    Returns:
        The other rows, as they are in the input.

    Raises:
        AssertionError: a subject or an object is no string.
    """

    def overlap(entities: Sequence[str]) -> bool:
        assert all(isinstance(entity, str) for entity in entities), f"{entities} are not two strings"
        names = [entity.lower() for entity in entities]
        contained = all(name in max(names, key=len) for name in names)
        return contained or jaro_winkler_similarity(*entities) >= string_similarity_ratio

    pairs = parametric_knowledge_dataset[["statement_subject", "parametric_object"]].to_numpy()
    overlaps = np.fromiter(map(overlap, pairs), dtype=bool)
    return parametric_knowledge_dataset[~overlaps]


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> pd.DataFrame:
    """Make the relation groups disjoint, so that no probe is tested on entities that it was trained on (Section 4.3).

    Rows are looked at from top to bottom. One goes if its subject is the subject of a row of another group, or its
    object the object of one, among the rows that are left.

    Returns:
        The rows that are left, with their index labels.
    """
    rows_with: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    entities = [
        (group, (("subject", subject), ("object", object_)))
        for group, subject, object_ in parametric_knowledge_dataset[
            ["relation_group_id", "statement_subject", "parametric_object"]
        ].itertuples(index=False)
    ]
    for group, keys in entities:
        for key in keys:
            rows_with[key][group] += 1
    kept = []
    for position, (group, keys) in enumerate(entities):
        if all(rows_with[key].total() == rows_with[key][group] for key in keys):
            kept.append(position)
        else:
            for key in keys:
                rows_with[key][group] -= 1
    return parametric_knowledge_dataset.iloc[kept]


def return_entity_overlap_between_relation_groups(
    parametric_knowledge_dataset: pd.DataFrame,
) -> dict[Any, dict[Any, int]]:
    """Count how many triplets of each relation group would leak entities into each other group.

    What makes a row overlap is what `remove_entity_overlap_between_relation_groups` removes rows for.

    Args:
        parametric_knowledge_dataset: columns relation_group_id, statement_subject and parametric_object.

    Returns:
        Matrix of counts as a dict of dicts: first key the group whose rows are counted, second key the group that
        they are compared with.
    """
    rows_of = dict(list(parametric_knowledge_dataset.groupby("relation_group_id", sort=False)))
    overlap: dict[Any, dict[Any, int]] = {group: {} for group in rows_of}
    for group, rows in rows_of.items():
        for other, other_rows in rows_of.items():
            seen = rows["statement_subject"].isin(other_rows["statement_subject"])
            seen |= rows["parametric_object"].isin(other_rows["parametric_object"])
            overlap[group][other] = int(seen.sum())
    return overlap


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Choose for each triplet the objects of its relation that contradict the model's own object most.

    Args:
        parametric_knowledge: one row a triplet, as `generate_parametric_knowledge_dataset` returns it.
        nb_counter_parametric_knowledge: how many objects a triplet gets at most.

    Returns:
        One row a triplet and contradicting object, in the order of the triplets; the objects of a triplet from the one
        that contradicts most to the one that does least. Columns `COUNTER_KNOWLEDGE_COLUMNS`.
    """
    first_token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    objects_of = parametric_knowledge.groupby("rel_lemma")["parametric_object"].agg(set)
    records = []
    for row in parametric_knowledge.to_dict("records"):
        log_probabilities = row["log_probability_parametric_object_first_token"]
        rivals = objects_of[row["rel_lemma"]] - {row["parametric_object"]}
        ranked = sorted(
            (object_ for object_ in first_token_ids if object_ in rivals),
            key=lambda object_: log_probabilities[first_token_ids[object_]],
        )
        for rival in ranked[:nb_counter_parametric_knowledge]:
            records.append(build_counter_knowledge_record(row, rival))
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
