"""Tables of the study: loading, filters against shortcuts, and the counter-parametric knowledge dataset."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
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


def names_overlap(subject: str, object_: str, threshold: float) -> bool:
    """Whether an object is too much like its subject, with tau of the paper for `threshold` (Section 3.1.3)."""
    names = sorted((subject.lower(), object_.lower()), key=len)
    return names[0] in names[1] or jaro_winkler_similarity(subject, object_) >= threshold


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    """Drop the triplets whose generated object could be guessed from the look of their subject (Section 3.1.3).

    Args:
        parametric_knowledge_dataset: string columns statement_subject and parametric_object, and any others.
        string_similarity_ratio: tau of the paper; `run_all.py` takes that of `src.config`.

    Returns:
        The other rows, as they are in the input.

    Raises:
        AssertionError: a subject or an object is no string.
    """
    pairs = parametric_knowledge_dataset[["statement_subject", "parametric_object"]].to_numpy()
    for pair in pairs:
        assert all(isinstance(entity, str) for entity in pair), f"{pair} are not two strings"
    overlaps = np.fromiter((names_overlap(*pair, string_similarity_ratio) for pair in pairs), dtype=bool)
    return parametric_knowledge_dataset[~overlaps]


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> pd.DataFrame:
    """Make the relation groups disjoint, so that no probe is tested on entities that it was trained on (Section 4.3).

    Args:
        parametric_knowledge_dataset: columns relation_group_id, statement_subject and parametric_object, and any
            others. It is not changed.

    Returns:
        The rows that are left, as they are in the input, in its order.
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
    """Overlap matrix of the relation groups: how much of a group would leak into each other one (Section 4.3).

    Args:
        parametric_knowledge_dataset: columns relation_group_id, statement_subject and parametric_object.

    Returns:
        A of the paper as a dict of dicts of integers: g is the first key and h the second one. Both have all groups, in
        the order of first appearance.
    """
    rows_of = dict(list(parametric_knowledge_dataset.groupby("relation_group_id", sort=False)))
    overlap: dict[Any, dict[Any, int]] = {group: {} for group in rows_of}
    for group, rows in rows_of.items():
        for other, other_rows in rows_of.items():
            seen = rows["statement_subject"].isin(other_rows["statement_subject"])
            seen |= rows["parametric_object"].isin(other_rows["parametric_object"])
            overlap[group][other] = int(seen.sum())
    return overlap


def choose_counter_objects(
    candidates: Sequence[str],
    log_probabilities: Sequence[float],
    first_token_ids: Mapping[str, int],
    count: int,
) -> list[str]:
    """Choose counter-parametric objects among the candidates of one triplet (Equation 3).

    Args:
        candidates: C of the paper, distinct objects in the order in which they first appear in the whole table.
        log_probabilities: l of the paper, one for each token of the vocabulary.
        first_token_ids: object -> position of its first token in `log_probabilities`; at least all candidates.
        count: k of the paper, 0 or more.

    Returns:
        `count` of the candidates, or all of them if there are fewer, the first choice first.
    """
    return sorted(candidates, key=lambda object_: log_probabilities[first_token_ids[object_]])[:count]


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Find objects that contradict the model's own object of each triplet (Section 3.2).

    Args:
        parametric_knowledge: one row a triplet, as `generate_parametric_knowledge_dataset` returns it. It is not
            changed.
        nb_counter_parametric_knowledge: k of the paper, how many objects a triplet gets at most.

    Returns:
        One row a triplet and contradicting object, in the order of the triplets; the objects of a triplet in the order
        in which `choose_counter_objects` returns them. Columns `COUNTER_KNOWLEDGE_COLUMNS`, index 0, 1, ...
    """
    first_token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    objects_of = parametric_knowledge.groupby("rel_lemma")["parametric_object"].agg(set)
    records = []
    for row in parametric_knowledge.to_dict("records"):
        log_probabilities = row["log_probability_parametric_object_first_token"]
        rivals = objects_of[row["rel_lemma"]] - {row["parametric_object"]}
        candidates = [object_ for object_ in first_token_ids if object_ in rivals]
        for rival in choose_counter_objects(
            candidates, log_probabilities, first_token_ids, nb_counter_parametric_knowledge
        ):
            records.append(build_counter_knowledge_record(row, rival))
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
