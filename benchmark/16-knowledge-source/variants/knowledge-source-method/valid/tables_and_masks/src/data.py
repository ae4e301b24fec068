# Works on whole columns: masks, merges and matrices in place of loops.
import numpy as np


def remove_object_subject_overlap(parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8):
    keep = parametric_knowledge_dataset.apply(
        lambda row: not names_overlap(row["statement_subject"], row["parametric_object"], string_similarity_ratio),
        axis=1,
        result_type="reduce",
    )
    return parametric_knowledge_dataset.loc[keep.to_numpy(dtype=bool)]


def _meets(rows: pd.DataFrame) -> np.ndarray:
    """Whether rows i and j have the same subject or the same object: (n, n)."""
    subjects, objects = (rows[column].to_numpy() for column in ("statement_subject", "parametric_object"))
    return (subjects[:, None] == subjects) | (objects[:, None] == objects)


def remove_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> pd.DataFrame:
    groups = parametric_knowledge_dataset["relation_group_id"].to_numpy()
    conflicts = _meets(parametric_knowledge_dataset) & (groups[:, None] != groups)
    alive = np.ones(len(groups), dtype=bool)
    for row in range(len(groups)):
        alive[row] = not (conflicts[row] & alive).any()
    return parametric_knowledge_dataset[alive]


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame):
    groups = parametric_knowledge_dataset["relation_group_id"]
    names = groups.drop_duplicates().tolist()
    members = np.array([groups.to_numpy() == name for name in names])
    reached = _meets(parametric_knowledge_dataset) @ members.T  # (rows, groups)
    return {g: {h: int(reached[members[a], b].sum()) for b, h in enumerate(names)} for a, g in enumerate(names)}


def choose_counter_objects(candidates, log_probabilities, first_token_ids, count):
    scores = np.array([log_probabilities[first_token_ids[object_]] for object_ in candidates])
    return [candidates[i] for i in np.argsort(scores, kind="stable")[:count]]


def generate_counter_parametric_knowledge_dataset(parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge):
    first_token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    rank = {object_: position for position, object_ in enumerate(first_token_ids)}
    objects_of = {
        relation: sorted(rows["parametric_object"].unique(), key=rank.__getitem__)
        for relation, rows in parametric_knowledge.groupby("rel_lemma")
    }
    records = [
        build_counter_knowledge_record(row, rival)
        for row in parametric_knowledge.to_dict("records")
        for rival in choose_counter_objects(
            [object_ for object_ in objects_of[row["rel_lemma"]] if object_ != row["parametric_object"]],
            row["log_probability_parametric_object_first_token"],
            first_token_ids,
            nb_counter_parametric_knowledge,
        )
    ]
    return pd.DataFrame(records, columns=COUNTER_KNOWLEDGE_COLUMNS)
