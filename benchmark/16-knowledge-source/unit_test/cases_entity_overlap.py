"""Labelled inputs for relation-group-entity-overlap-matrix."""

import numpy as np
import pandas as pd
from lmrbench_cases import compare
from src.data import (
    load_relations,
    load_triplets,
    remove_entity_overlap_between_relation_groups,
    return_entity_overlap_between_relation_groups,
)


def make_frame(rows: list[tuple], **columns) -> pd.DataFrame:
    """Frame of (group, subject, generated object), with a true object and a relation that would give other counts."""
    groups, subjects, objects = ([row[i] for row in rows] for i in range(3))
    frame = pd.DataFrame(
        {
            "statement_subject": subjects,
            "rel_lemma": [f"relation-{i % 2}" for i in range(len(rows))],
            "statement_object": ["same"] * len(rows),
            "relation_group_id": groups,
            "parametric_object": objects,
        }
    )
    return frame.assign(**columns)


def matrix(frame: pd.DataFrame) -> dict:
    """The counts, and the order of the keys on both levels, which a dict would not show."""
    counts = return_entity_overlap_between_relation_groups(frame)
    return {
        "types": (type(counts) is dict, [type(row) is dict for row in counts.values()]),
        "groups": list(counts),
        "others": [list(row) for row in counts.values()],
        "counts": [list(row.values()) for row in counts.values()],
    }


def random_frame(seed: int, n: int, n_groups: int, n_entities: int) -> pd.DataFrame:
    """Rows of groups of unequal size whose entities partly overlap."""
    rng = np.random.default_rng([16, seed, n, n_groups])
    groups = rng.choice(n_groups, size=n, p=np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum())
    names = [f"g{(7 * i + 3) % 10}" for i in range(n_groups)]
    shift = groups * n_entities // 3
    subjects, objects = (shift + rng.integers(0, n_entities, size=n) for _ in range(2))
    rows = [(names[g], f"s{s}", f"o{o}") for g, s, o in zip(groups, subjects, objects, strict=True)]
    return make_frame(rows)


@compare(exact=True)
def case_rows_of_the_first_group_count(seed):
    """Many rows of one group share a subject with a single row of the other, and none the other way round."""
    rows = [("a", "peru", f"o{i}") for i in range(4)] + [("b", "peru", "x"), ("b", "chile", "y"), ("a", "egypt", "o9")]
    objects = [("a", f"s{i}", "asia") for i in range(3)] + [
        ("b", "t", "asia"),
        ("b", "u", "asia"),
        ("b", "v", "africa"),
    ]
    return matrix(make_frame(rows)), matrix(make_frame(objects))


@compare(exact=True)
def case_subject_or_object(seed):
    """Rows that share the subject, the object, both with one row, both with different rows, or neither."""
    rows = [
        ("a", "peru", "lima"),
        ("a", "peru", "cusco"),
        ("a", "chile", "lima"),
        ("a", "chile", "santiago"),
        ("a", "egypt", "giza"),
        ("b", "peru", "lima"),
        ("b", "egypt", "cairo"),
        ("b", "nepal", "giza"),
        ("c", "nepal", "lima"),
    ]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_subjects_and_objects_are_apart(seed):
    """An entity that is a subject in one group and an object in another."""
    rows = [("a", "paris", "france"), ("b", "france", "paris"), ("b", "rome", "rome"), ("c", "rome", "paris")]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_whole_values_with_case(seed):
    rows = [
        ("a", "Peru", "Lima"),
        ("b", "peru", "lima"),
        ("b", "Peru ", "Lim"),
        ("c", "Per", "Lima city"),
        ("c", "", ""),
        ("d", "PERU", "LIMA"),
        ("d", "a", ""),
    ]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_duplicate_rows_count(seed):
    """Rows that repeat count each time in the group that is counted, and change nothing in the other."""
    rows = [("a", "peru", "lima")] * 3 + [("b", "peru", "x")] + [("b", "y", "lima")] * 2 + [("a", "s", "o")] * 2
    return matrix(make_frame(rows)), matrix(make_frame(rows[::-1]))


@compare(exact=True)
def case_groups_in_order_of_appearance(seed):
    """Groups that come and go, neither sorted nor in blocks; names whose order as text and as numbers differ."""
    rng = np.random.default_rng([17, seed])
    names = ["zeta", "alpha", "10", "9", "Mu"]
    order = [*rng.permutation(5), *rng.integers(0, 5, size=20)]
    rows = [(names[g], f"s{rng.integers(12)}", f"o{rng.integers(12)}") for g in order]
    numbers = [(int(g), subject, object_) for g, (_, subject, object_) in zip(order, rows, strict=True)]
    return matrix(make_frame(rows)), matrix(make_frame(numbers))


@compare(exact=True)
def case_random_groups(seed):
    return [
        matrix(random_frame(seed, n, n_groups, n_entities))
        for n, n_groups, n_entities in [(60, 4, 12), (90, 6, 30), (15, 5, 4)]
    ]


@compare(exact=True)
def case_single_group_single_row_empty(seed):
    frame = make_frame([("a", "peru", "lima"), ("a", "chile", "santiago"), ("a", "chile", "lima")])
    columns = ["relation_group_id", "statement_subject", "parametric_object"]
    return {
        "group": matrix(frame),
        "row": matrix(frame.iloc[1:2]),
        "empty": matrix(frame.iloc[:0]),
        "empty, objects": matrix(pd.DataFrame(columns=columns)),
    }


@compare(exact=True)
def case_groups_without_overlap(seed):
    rows = [(f"g{i % 3}", f"s{i}", f"o{i}") for i in range(10)]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_every_row_overlaps(seed):
    rows = [(f"g{i % 3}", "peru", f"o{i}") for i in range(7)] + [("g9", "chile", f"o{i}") for i in range(2)]
    return matrix(make_frame(rows))


@compare(exact=True)
def case_index_does_not_matter(seed):
    rng = np.random.default_rng([18, seed])
    frame = random_frame(seed, 30, 4, 8)
    repeated = frame.set_axis(rng.integers(0, 5, size=30))
    shuffled = frame.sample(frac=1.0, random_state=seed)
    named = frame.set_axis([f"s{i % 8}" for i in range(30)])
    return [matrix(table) for table in (frame, repeated, shuffled, named)]


@compare(exact=True)
def case_missing_entities(seed):
    """Missing values are equal to missing values of the same column, and to nothing else."""
    rows = [
        ("a", None, "lima"),
        ("a", "peru", None),
        ("a", "chile", "santiago"),
        ("b", None, "x"),
        ("b", "nan", "y"),
        ("c", "z", None),
        ("c", "nan", "None"),
    ]
    with_float = [(g, float("nan") if s is None else s, float("nan") if o is None else o) for g, s, o in rows]
    return matrix(make_frame(rows)), matrix(make_frame(with_float))


@compare(exact=True)
def case_input_is_left_alone(seed):
    frame = random_frame(seed, 12, 3, 6).set_axis([3, 3, 1, 0, 9, 9, 9, 2, 5, 4, 8, 7])
    counts = matrix(frame)
    return counts, list(frame.columns), list(frame.index), frame.to_numpy().tolist()


@compare(exact=True)
def case_triplets_of_the_repository(seed):
    """Before and after the removal of rows that overlap, which leaves nothing beside the diagonal."""
    relations = load_relations()
    triplets = load_triplets(relations).sample(frac=0.9, random_state=seed)
    group_of = relations.set_index("relation")["relation_group_id"]
    frame = pd.DataFrame(
        {
            "relation_group_id": triplets["relation"].map(group_of),
            "statement_subject": triplets["subject"],
            "parametric_object": triplets["object"].str.lower(),
        }
    )
    return matrix(frame), matrix(remove_entity_overlap_between_relation_groups(frame))
