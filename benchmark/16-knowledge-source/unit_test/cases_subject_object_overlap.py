"""Labelled inputs for subject-object-overlap-filter."""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, outcome
from src import string_similarity
from src.data import remove_object_subject_overlap
from src.string_similarity import jaro_similarity, jaro_winkler_similarity


def make_frame(pairs: list[tuple], **columns) -> pd.DataFrame:
    """Frame of (subject, generated object) pairs, with a true object that would give other results."""
    subjects, objects = [subject for subject, _ in pairs], [object_ for _, object_ in pairs]
    frame = pd.DataFrame(
        {
            "statement_subject": subjects,
            "rel_lemma": [f"relation-{i % 3}" for i in range(len(pairs))],
            "statement_object": subjects[::2] + objects[1::2],
            "parametric_object": objects,
        }
    )
    return frame.assign(**columns)


def facts(frame: pd.DataFrame) -> dict:
    """The frame as plain values: neither index nor rows can hide behind dtypes."""
    return {
        "columns": list(frame.columns),
        "index": list(frame.index),
        "rows": [list(row) for row in frame.itertuples(index=False)],
    }


def random_pairs(seed: int, n: int) -> list[tuple[str, str]]:
    """Pairs of words with all degrees of likeness: the object is the subject with some characters changed."""
    rng = np.random.default_rng([16, seed, n])
    letters = np.array(list("abdeiklnorst"))
    pairs = []
    for i in range(n):
        subject = rng.choice(letters, size=rng.integers(5, 12))
        object_ = subject.copy()
        changed = rng.permutation(len(subject))[: i % 8]
        object_[changed] = rng.choice(letters, size=len(changed))
        start = rng.integers(0, 2)
        pairs.append(("".join(subject).capitalize() if i % 3 else "".join(subject), "".join(object_[start:])))
    return pairs


@compare(exact=True)
def case_contained_whatever_the_case(seed):
    """One string in the other, at the start, in the middle and at the end, in either direction; case differs."""
    pairs = [
        ("Niger", "nigeria"),
        ("Mexico", "MEXICO CITY"),
        ("University of Oxford", "oxford"),
        ("THE WALT DISNEY COMPANY", "walt disney"),
        ("Ford", "henry ford"),
        ("OHIO", "ohio"),
        ("Peru", "lima"),
        ("New York", "york new"),
        ("Ada", "canada and more"),
        ("Ada", "c a d a"),
        ("Toto", "tot o"),
    ]
    return [facts(remove_object_subject_overlap(make_frame(pairs), ratio)) for ratio in (0.8, 0.95, 1.01)]


@compare(exact=True)
def case_random_words(seed):
    frame = make_frame(random_pairs(seed, 60))
    return [facts(remove_object_subject_overlap(frame, ratio)) for ratio in (0.6, 0.7, 0.8, 0.9)]


@compare(exact=True)
def case_default_ratio(seed):
    return facts(remove_object_subject_overlap(make_frame(random_pairs(seed, 40))))


@compare(exact=True)
def case_similarity_minds_the_case(seed):
    """The similarity of lower-cased strings would be above the threshold, that of the strings themselves is below."""
    pairs = [
        ("Norway", "norwegian"),
        ("Italy", "italian"),
        ("Sweden", "swedish"),
        ("IRELAND", "iceland"),
        ("norway", "norwegian"),
        ("Norway", "Norwegian"),
        ("ireland", "iceland"),
    ]
    return {ratio: facts(remove_object_subject_overlap(make_frame(pairs), ratio)) for ratio in (0.75, 0.8, 0.85)}


@compare(exact=True)
def case_threshold_is_inclusive(seed):
    """The threshold is the similarity of a pair, and the next floats below and above it."""
    pairs = [
        ("Martha", "Marhta"),
        ("Dixon", "Dicksonx"),
        ("Turkey", "Turkish"),
        ("Prefixed", "Prefab"),
        *random_pairs(seed, 12),
    ]
    frame = make_frame(pairs)
    kept = []
    for subject, object_ in pairs:
        similarity = jaro_winkler_similarity(subject, object_)
        for ratio in (np.nextafter(similarity, 0.0), similarity, np.nextafter(similarity, 2.0)):
            kept.append(list(remove_object_subject_overlap(frame, float(ratio)).index))
    return kept


@compare(exact=True)
def case_prefix_counts_only_above_the_floor(seed):
    """Long common prefixes of strings that are otherwise unlike; thresholds just above their Jaro similarity."""
    pairs = [("abcdiekg", "abcdmmmt"), ("Poland", "Polish"), ("Prefixed", "Prefab"), ("Mali", "Malta")]
    ratios = [jaro_similarity(*pair) + 0.01 for pair in pairs]
    return [list(remove_object_subject_overlap(make_frame(pairs), ratio).index) for ratio in ratios]


@compare(exact=True)
def case_extreme_ratios(seed):
    """0 leaves nothing, not even strings without a common character; above 1 only containment counts."""
    pairs = [("Peru", "lima"), ("xyz", "abc"), ("Martha", "Marhta"), ("Niger", "nigeria"), ("Rome", "Rome")]
    return {
        ratio: facts(remove_object_subject_overlap(make_frame(pairs), ratio)) for ratio in (0.0, 0.01, 0.5, 1.0, 1.01)
    }


@compare(exact=True)
def case_empty_strings(seed):
    pairs = [("", "lima"), ("Peru", ""), ("", ""), ("Peru", "lima"), (" ", "lima"), ("New York", " ")]
    return facts(remove_object_subject_overlap(make_frame(pairs), 1.01))


@compare(exact=True)
def case_index_and_columns_are_kept(seed):
    """Labels that repeat and are out of order; columns before, between and behind, one of them with missing values."""
    rng = np.random.default_rng([17, seed])
    pairs = [*random_pairs(seed, 20), ("Niger", "nigeria"), ("Peru", "lima")]
    frame = make_frame(pairs, score=rng.normal(size=22), tokens=[[i, i + 1] for i in range(22)])
    frame["score"] = frame["score"].where(frame.index % 5 != 2, -1.0)
    frame.index = rng.integers(0, 6, size=22)
    labelled = frame.set_axis([f"row {i % 7}" for i in range(22)])
    kept = remove_object_subject_overlap(frame, 0.75)
    dtypes = [str(dtype) for dtype in kept[["score", "rel_lemma", "parametric_object"]].dtypes]
    return facts(kept), dtypes, facts(remove_object_subject_overlap(labelled, 0.75))


@compare(exact=True)
def case_input_is_left_alone(seed):
    frame = make_frame([("Niger", "nigeria"), ("Peru", "Lima"), ("Ohio", "OHIO")]).set_axis([4, 4, 1])
    kept = remove_object_subject_overlap(frame, 0.8)
    kept["parametric_object"] = "changed"
    return facts(frame), facts(kept)


@compare(exact=True)
def case_all_none_or_nothing_to_drop(seed):
    alike, unlike = [("Niger", "nigeria"), ("Ohio", "ohio")], [("Peru", "lima"), ("Egypt", "cairo")]
    empty = make_frame(unlike).iloc[:0]
    return {
        "all": facts(remove_object_subject_overlap(make_frame(alike))),
        "one row": facts(remove_object_subject_overlap(make_frame(alike[:1]))),
        "none": facts(remove_object_subject_overlap(make_frame(unlike))),
        "empty": facts(remove_object_subject_overlap(empty)),
        "empty, objects": facts(
            remove_object_subject_overlap(pd.DataFrame(columns=["parametric_object", "statement_subject", "extra"]))
        ),
    }


@compare(exact=True)
def case_what_is_no_string(seed):
    """Missing or numeric, as subject or object, also where the row above or the other string would do."""
    cells = [("Peru", None), (None, "lima"), ("Peru", float("nan")), (7, "lima"), ("route 66", 66), (b"Ohio", "ohio")]
    frames = [make_frame([("Ohio", "ohio"), cell, ("Peru", "lima")]).astype(object) for cell in cells]
    return [outcome(remove_object_subject_overlap, frame, 0.8, errors=AssertionError) for frame in frames]


@compare(exact=True)
def case_other_weights_of_the_prefix(seed):
    """The settings of the similarity are those of its module."""
    pairs = [("Turkey", "Turkish"), ("Dixon", "Dicksonx"), ("Poland", "Polish"), ("Mali", "Malta"), ("Iraq", "Kuwait")]
    pairs += random_pairs(seed, 30)
    kept = []
    for weight, longest, floor in [(0.0, 4, 0.7), (0.2, 4, 0.7), (0.1, 2, 0.7), (0.1, 4, 0.0), (0.1, 4, 0.9)]:
        string_similarity.PREFIX_WEIGHT = weight
        string_similarity.MAX_PREFIX = longest
        string_similarity.BOOST_FLOOR = floor
        kept.append(
            [list(remove_object_subject_overlap(make_frame(pairs), ratio).index) for ratio in (0.75, 0.8, 0.85)]
        )
    return kept
