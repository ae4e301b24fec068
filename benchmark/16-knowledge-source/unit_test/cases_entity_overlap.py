"""Labelled inputs for relation-group-entity-overlap-matrix."""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, core
from src.data import (
    load_relations,
    load_triplets,
    remove_entity_overlap_between_relation_groups,
    return_entity_overlap_between_relation_groups,
)


def make_frame(rows: list[tuple]) -> pd.DataFrame:
    """Frame of (group, subject, generated object), with a true object and a relation that would give other counts."""
    groups, subjects, objects = ([row[i] for row in rows] for i in range(3))
    return pd.DataFrame(
        {
            "statement_subject": subjects,
            "rel_lemma": [f"relation-{i % 2}" for i in range(len(rows))],
            "statement_object": ["same"] * len(rows),
            "relation_group_id": groups,
            "parametric_object": objects,
        }
    )


def counts(frame: pd.DataFrame) -> dict:
    """The counts by group and group, in whatever order."""
    matrix = return_entity_overlap_between_relation_groups(frame)
    return {group: dict(row) for group, row in matrix.items()}


def matrix(frame: pd.DataFrame) -> dict:
    """The counts, and the types and the order of the keys on both levels, which a dict would not show."""
    result = return_entity_overlap_between_relation_groups(frame)
    return {
        "types": [type(result) is dict, *(type(row) is dict for row in result.values())],
        "groups": [list(result), *(list(row) for row in result.values())],
        "counts": [list(row.values()) for row in result.values()],
    }


def random_frame(seed: int, n: int, n_groups: int, n_entities: int) -> pd.DataFrame:
    """Rows of groups of unequal size whose entities partly overlap."""
    rng = np.random.default_rng([16, seed, n, n_groups])
    groups = rng.choice(n_groups, size=n, p=np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum())
    shift = groups * n_entities // 3
    subjects, objects = (shift + rng.integers(0, n_entities, size=n) for _ in range(2))
    names = [f"g{(7 * i + 3) % 10}" for i in range(n_groups)]
    return make_frame([(names[g], f"s{s}", f"o{o}") for g, s, o in zip(groups, subjects, objects, strict=True)])


@core
@compare(exact=True)
def case_random_groups(seed):
    return [counts(random_frame(seed, *sizes)) for sizes in [(60, 4, 12), (90, 6, 30), (15, 5, 4)]]


@core
@compare(exact=True)
def case_rows_of_the_first_group_count(seed):
    """Many rows of one group share a subject, or an object, with a few rows of the other."""
    many, few, more = np.random.default_rng([17, seed]).permutation([2, 3, 4, 5, 6, 7])[:3].tolist()
    subjects = [("a", "peru", f"o{i}") for i in range(many)] + [("b", "peru", f"x{i}") for i in range(few)]
    objects = [("a", f"s{i}", "asia") for i in range(few)] + [("b", f"t{i}", "asia") for i in range(many)]
    others = [("b", f"u{i}", f"y{i}") for i in range(more)] + [("c", "egypt", "cairo")]
    return [counts(make_frame(rows)) for rows in (subjects + others, objects + others, subjects + objects + others)]


@core
@compare(exact=True)
def case_subject_or_object(seed):
    """Rows that share the subject, the object, both with one row, both with different rows, or neither."""
    rows = [("a", "peru", "lima"), ("a", "peru", "cusco"), ("a", "chile", "lima"), ("a", "chile", "santiago")]
    rows += [("a", "egypt", "giza"), ("b", "peru", "lima"), ("b", "egypt", "cairo"), ("b", "nepal", "giza")]
    frame = make_frame([*rows, ("c", "nepal", "lima"), ("c", "mali", "bamako")])
    return counts(frame.sample(n=24, replace=True, random_state=seed))


@core
@compare(exact=True)
def case_subjects_and_objects_are_apart(seed):
    """Entities that are subjects in one group and objects in another."""
    rng = np.random.default_rng([18, seed])
    cities = ["paris", "rome", "oslo", "lima", "cairo", "bonn", "quito"]
    rows = [(group, *rng.choice(cities, size=2, replace=False).tolist()) for group in "abcd" * 3]
    return counts(make_frame(rows))


@core
@compare(exact=True)
def case_disjoint_groups(seed):
    sizes = np.random.default_rng([19, seed]).integers(2, 9, size=4)
    rows = [(f"g{g}", f"s{g}-{i % 3}", f"o{g}-{i % 2}") for g, size in enumerate(sizes) for i in range(size)]
    return counts(make_frame(rows))


@core
@compare(exact=True)
def case_triplets_of_the_repository(seed):
    """Before and after the removal of rows that overlap, which leaves nothing beside the diagonal."""
    relations = load_relations()
    triplets = load_triplets(relations).sample(frac=0.8, random_state=seed)
    group_of = relations.set_index("relation")["relation_group_id"]
    frame = pd.DataFrame(
        {
            "relation_group_id": triplets["relation"].map(group_of),
            "statement_subject": triplets["subject"],
            "parametric_object": triplets["object"].str.lower(),
        }
    )
    return counts(frame), counts(remove_entity_overlap_between_relation_groups(frame))


@compare(exact=True)
def case_whole_values_with_case(seed):
    """Other case, blanks, parts and empty strings are other values."""
    rng = np.random.default_rng([20, seed])
    subjects, objects = ["Peru", "peru", "Peru ", "Per", "", "PERU"], ["Lima", "lima", "Lim", "Lima city", "", "LIMA"]
    rows = [("abcd"[i % 4], str(rng.choice(subjects)), str(rng.choice(objects))) for i in range(14)]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_groups_in_order_of_appearance(seed):
    """Groups that come and go, neither sorted nor in blocks; names whose order as text and as numbers differ."""
    rng = np.random.default_rng([17, seed])
    order = [*rng.permutation(5), *rng.integers(0, 5, size=20)]
    names = ["zeta", "alpha", "10", "9", "Mu"]
    frame = make_frame([(names[g], f"s{rng.integers(12)}", f"o{rng.integers(12)}") for g in order])
    return matrix(frame), matrix(frame.assign(relation_group_id=[int(g) for g in order]))


@compare(exact=True)
def case_index_and_input(seed):
    """Labels that repeat do not matter, and the frame is what it was."""
    frame = random_frame(seed, 30, 4, 8)
    repeated = frame.set_axis(np.random.default_rng([18, seed]).integers(0, 5, size=30))
    return matrix(frame), matrix(repeated), list(repeated.columns), list(repeated.index), repeated.to_numpy().tolist()


@compare(exact=True)
def case_missing_entities(seed):
    """Missing values are equal to missing values of the same column, and to nothing else."""
    rng = np.random.default_rng([21, seed])
    subjects, objects = [None, "nan", "peru", "chile", "mali"], [None, "None", "lima", "giza", "oslo"]
    rows = [("abcde"[i % 5], subjects[rng.integers(5)], objects[rng.integers(5)]) for i in range(15)]
    frame = make_frame(rows)
    return matrix(frame), matrix(frame.replace({None: float("nan")}))


@compare(exact=True)
def case_single_group_single_row_empty(seed):
    frame = random_frame(seed, 40, 3, 16)
    columns = ["relation_group_id", "statement_subject", "parametric_object"]
    frames = [frame[frame["relation_group_id"] == "g7"], frame.iloc[:1], frame.iloc[:0], pd.DataFrame(columns=columns)]
    return [matrix(given) for given in frames]
