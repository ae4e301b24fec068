"""Labelled inputs for subject-object-overlap-filter.

In core cases no similarity lies near the threshold, and lower-casing the subject would not move it across.
"""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, core, outcome
from src.data import load_relations, load_triplets, remove_object_subject_overlap
from src.string_similarity import jaro_similarity, jaro_winkler_similarity

LETTERS = np.array(list("abdeiklnorst"))


def make_frame(pairs: list[tuple]) -> pd.DataFrame:
    """Frame of (subject, generated object) pairs, with a true object that would give other results."""
    subjects, objects = [subject for subject, _ in pairs], [object_ for _, object_ in pairs]
    return pd.DataFrame(
        {
            "statement_subject": subjects,
            "rel_lemma": [f"relation-{i % 3}" for i in range(len(pairs))],
            "statement_object": subjects[::2] + objects[1::2],
            "parametric_object": objects,
        }
    )


def word(rng: np.random.Generator, least: int = 5, most: int = 11) -> str:
    return "".join(rng.choice(LETTERS, size=rng.integers(least, most + 1)))


def random_pairs(seed: int, n: int, capital: bool = True) -> list[tuple[str, str]]:
    """Pairs of words with all degrees of likeness: the object is the subject with some characters changed."""
    rng = np.random.default_rng([16, seed, n])
    pairs = []
    for i in range(n):
        subject = np.array(list(word(rng)))
        object_ = subject.copy()
        changed = rng.permutation(len(subject))[: i % 8]
        object_[changed] = rng.choice(LETTERS, size=len(changed))
        name = "".join(subject)
        pairs.append((name.capitalize() if capital else name, "".join(object_)))
    return pairs


def is_clear(pair: tuple[str, str], ratio: float) -> bool:
    """Whether the pair is far from the threshold on one side of it, with and without case."""
    distances = [jaro_winkler_similarity(subject, pair[1]) - ratio for subject in (pair[0], pair[0].lower())]
    return min(distances) > 0.01 or max(distances) < -0.01


def rows(frame: pd.DataFrame) -> list[list]:
    """The rows as plain values."""
    return [list(row) for row in frame.itertuples(index=False)]


def facts(frame: pd.DataFrame) -> dict:
    return {"columns": list(frame.columns), "index": list(frame.index), "rows": rows(frame)}


@core
@compare(exact=True)
def case_random_names(seed):
    pairs = [pair for pair in random_pairs(seed, 80) if is_clear(pair, 0.8)]
    return rows(remove_object_subject_overlap(make_frame(pairs)))


@core
@compare(exact=True)
def case_other_ratios(seed):
    results = {}
    for ratio in (0.65, 0.75, 0.9):
        pairs = [pair for pair in random_pairs(seed, 64) if is_clear(pair, ratio)]
        results[ratio] = rows(remove_object_subject_overlap(make_frame(pairs), ratio))
    return results


@core
@compare(exact=True)
def case_common_beginnings(seed):
    """Names that are too similar only because they begin alike, and others."""
    pairs = [pair for pair in random_pairs(seed, 400, capital=False) if is_clear(pair, 0.8)]
    alike = [pair for pair in pairs if jaro_similarity(*pair) < 0.79 and jaro_winkler_similarity(*pair) > 0.8]
    return rows(remove_object_subject_overlap(make_frame(alike + pairs[:20]), 0.8))


@core
@compare(exact=True)
def case_names_within_names(seed):
    """One name holds the other, at its start, in its middle or at its end, and is much longer; case differs."""
    rng = np.random.default_rng([17, seed])
    pairs = []
    for _ in range(16):
        name, others = word(rng, 4, 6), [word(rng, 8, 10) for _ in range(3)]
        place = rng.integers(4)
        longer = [*others[:place], name, *others[place:]]
        pairs += [(name.title(), " ".join(longer)), (" ".join(longer).title(), name), (name.title(), " ".join(others))]
    return rows(remove_object_subject_overlap(make_frame([pair for pair in pairs if is_clear(pair, 0.8)]), 0.8))


@core
@compare(exact=True)
def case_triplets_of_the_repository(seed):
    triplets = load_triplets(load_relations()).sample(frac=0.8, random_state=seed)
    pairs = list(zip(triplets["subject"], triplets["object"].str.lower(), strict=True))
    return rows(remove_object_subject_overlap(make_frame([pair for pair in pairs if is_clear(pair, 0.8)]), 0.8))


@compare(exact=True)
def case_similarity_minds_the_case(seed):
    """The similarity of lower-cased strings would be above the threshold, that of the strings themselves is below."""
    pairs = [pair for pair in random_pairs(seed, 90) if not is_clear(pair, 0.8)]
    return facts(remove_object_subject_overlap(make_frame([("Norway", "norwegian"), *pairs]), 0.8))


@compare(exact=True)
def case_threshold_is_inclusive(seed):
    """The threshold is the similarity of a pair, and the next floats below and above it."""
    pairs = [("Martha", "Marhta"), *random_pairs(seed, 12)]
    kept = []
    for similarity in [jaro_winkler_similarity(*pair) for pair in pairs]:
        for ratio in (np.nextafter(similarity, 0.0), similarity, np.nextafter(similarity, 2.0)):
            kept.append(list(remove_object_subject_overlap(make_frame(pairs), float(ratio)).index))
    return kept


@compare(exact=True)
def case_extreme_ratios_and_empty_strings(seed):
    """0 leaves nothing, not even strings without a common character; above 1 only containment counts."""
    pairs = [("Xyz", "abc"), ("Rome", "Rome"), ("", "lima"), ("Peru", ""), ("", ""), (" ", "lima"), ("New York", " ")]
    frame = make_frame(pairs + random_pairs(seed, 9))
    return {ratio: facts(remove_object_subject_overlap(frame, ratio)) for ratio in (0.0, 0.01, 1.0, 1.01)}


@compare(exact=True)
def case_index_and_columns_are_kept(seed):
    """Labels that repeat and are out of order, further columns; the input does not change, nor with the result."""
    rng = np.random.default_rng([17, seed])
    frame = make_frame(random_pairs(seed, 22)).assign(score=rng.normal(size=22), tokens=[[i] for i in range(22)])
    frame.index = rng.integers(0, 6, size=22)
    kept = remove_object_subject_overlap(frame, 0.75)
    result = facts(kept), [str(dtype) for dtype in kept.dtypes]
    kept["parametric_object"] = "changed"
    return result, facts(frame)


@compare(exact=True)
def case_nothing_to_keep_or_drop(seed):
    name = word(np.random.default_rng([18, seed]))
    unlike = make_frame([("Peru", "Lima"), (name, "xyz")])
    frames = {
        "all": make_frame([(name, name), (name.upper(), name)]),
        "none": unlike,
        "empty": unlike.iloc[:0],
        "empty, objects": pd.DataFrame(columns=["parametric_object", "statement_subject", "extra"]),
    }
    return {title: facts(remove_object_subject_overlap(frame)) for title, frame in frames.items()}


@compare(exact=True)
def case_what_is_no_string(seed):
    """Missing or numeric, as subject or object, also where the row above or the other string would do."""
    cells = [("Peru", "lima"), ("Peru", None), (None, "lima"), ("Peru", float("nan")), ("route 66", 66)]
    frames = [make_frame([("Ohio", "ohio"), cell, *random_pairs(seed, 5)]).astype(object) for cell in cells]
    outcomes = [outcome(remove_object_subject_overlap, frame, 0.8, errors=AssertionError) for frame in frames]
    return [name if name == "raised" else facts(value) for name, value in outcomes]
