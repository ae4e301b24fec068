"""Labelled inputs for counter-parametric-knowledge-dataset.

In core cases every object has a first token of its own, the same in all rows, and no two log-probabilities are equal.
"""

import numpy as np
import pandas as pd
import torch
from lmrbench_cases import compare, core
from src.data import generate_counter_parametric_knowledge_dataset, load_relations, load_triplets
from src.parametric_knowledge import generate_parametric_knowledge_dataset, make_toy_lm

VOCABULARY = 24
TOKENS = {f"object {i}": (5 * i + 3) % VOCABULARY for i in range(VOCABULARY)}


def log_probabilities(rng: np.random.Generator) -> list[float]:
    """Log-probabilities of all tokens, well apart from each other."""
    logits = rng.permutation(VOCABULARY) / 3.0
    return (logits - np.log(np.exp(logits).sum())).tolist()


def make_frame(rows: list[tuple], rng: np.random.Generator, **columns) -> pd.DataFrame:
    """Parametric knowledge of (relation, group, parametric object) or (..., first token, log-probabilities)."""
    n = len(rows)
    tokens = [row[3] if row[3:] else TOKENS[row[2]] for row in rows]
    distributions = [row[4] if row[4:] else log_probabilities(rng) for row in rows]
    table = {
        "statement_subject": [f"Subject {i}" for i in range(n)],
        "rel_lemma": [row[0] for row in rows],
        "statement_object": [f"True {i}" for i in range(n)],
        "relation_group_id": [row[1] for row in rows],
        "parametric_object": [row[2] for row in rows],
        "statement": [f"The {row[0]} of Subject {i} is True {i}." for i, row in enumerate(rows)],
        "log_probability_parametric_object_first_token": distributions,
        "model_output_tokens_ids": [[torch.tensor(token), torch.tensor(0)] for token in tokens],
    }
    return pd.DataFrame({**table, **columns})


def random_frame(seed: int, n: int, n_relations: int, n_objects: int) -> pd.DataFrame:
    """Rows of relations in mixed order, two relations a group; objects repeat, some in several relations."""
    rng = np.random.default_rng([16, seed, n, n_relations, n_objects])
    relations = rng.integers(n_relations, size=n)
    rows = [(f"relation-{r}", f"group {r // 2}", f"object {rng.integers(n_objects) + 2 * r}") for r in relations]
    return make_frame(rows, rng)


def records(frame: pd.DataFrame) -> list[dict]:
    """The records as plain values."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def facts(frame: pd.DataFrame) -> dict:
    """Columns, index and rows, without dtypes."""
    return {"columns": list(frame.columns), "index": list(frame.index), "rows": frame.to_numpy().tolist()}


def pairs(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Subject and chosen object of each record."""
    return list(zip(frame["statement_subject"], frame["counter_knowledge_object"], strict=True))


@core
@compare(exact=True)
def case_one_relation(seed):
    """Five objects; as many as asked for, least likely first."""
    rng = np.random.default_rng([17, seed])
    frame = make_frame([("capital", "g", f"object {i}") for i in rng.permutation(5)], rng)
    return [records(generate_counter_parametric_knowledge_dataset(frame, k)) for k in (1, 2, 3, 4)]


@core
@compare(exact=True)
def case_random_relations(seed):
    """Several relations; k of the paper, and another."""
    frame = random_frame(seed, 40, 5, 6)
    return [records(generate_counter_parametric_knowledge_dataset(frame, k)) for k in (1, 3)]


@core
@compare(exact=True)
def case_many_triplets_of_few_objects(seed):
    """Objects that most rows share: each is a candidate once, and never the row's own."""
    return pairs(generate_counter_parametric_knowledge_dataset(random_frame(seed, 24, 2, 4), 3))


@core
@compare(exact=True)
def case_objects_of_the_knowledge_base(seed):
    """What the model says counts: the true object of a triplet may contradict it."""
    rng = np.random.default_rng([18, seed])
    said = rng.integers(0, 5, size=9)
    true = [f"Object {i}" for i in (said + rng.integers(0, 2, size=9)) % 5]
    statements = [f"The capital of Subject {i} is {object_}." for i, object_ in enumerate(true)]
    rows = [("capital", "g", f"object {i}") for i in said]
    frame = make_frame(rows, rng, statement_object=true, statement=statements)
    return records(generate_counter_parametric_knowledge_dataset(frame, 3))


@core
@compare(exact=True)
def case_fewer_candidates_than_asked_for(seed):
    """Relations with one object, with one object in two rows, with two, and with three."""
    rng = np.random.default_rng([19, seed])
    relations = rng.permutation(["alone", "two", "two", "same", "same", "three", "three", "three"])
    objects = {"alone": [0], "two": [1, 2], "same": [3, 3], "three": [0, 4, 3]}
    frame = make_frame([(str(r), "g", f"object {objects[str(r)].pop()}") for r in relations], rng)
    return [pairs(generate_counter_parametric_knowledge_dataset(frame, k)) for k in (1, 2, 5)]


@compare(exact=True)
def case_first_token_of_the_last_row(seed):
    """An object whose first token differs between rows and between relations: the last row of the whole frame wins."""
    rng = np.random.default_rng([18, seed])
    rows = [("capital", "g", "oslo", 5), ("capital", "g", "lima", 8), ("capital", "g", "oslo", 12)]
    rows += [
        ("capital", "g", "rome", 10),
        ("seat", "h", "lima", 1),
        ("seat", "h", "rome", 20),
        ("seat", "h", "bonn", 7),
    ]
    frames = [make_frame(rows, rng), make_frame(rows[::-1], rng)]
    return [pairs(generate_counter_parametric_knowledge_dataset(frame, 2)) for frame in frames]


@compare(exact=True)
def case_ties_by_first_appearance(seed):
    """Equally likely objects; the first appearance is that in the frame, of whichever relation."""
    rng = np.random.default_rng([20, seed])
    flat, steps = [-1.0] * VOCABULARY, [-float("inf"), *(-float(i // 6) for i in range(1, VOCABULARY))]
    names = rng.permutation(["zoe", "mia", "ada", "bob", "kim", "al"]).tolist()
    rows = [("founder", "h", name, 4 + i % 3, steps) for i, name in enumerate(names[:3])]
    rows += [("author", "g", str(name), 4 + i % 3, flat if i % 2 else steps) for i, name in enumerate(sorted(names))]
    return [pairs(generate_counter_parametric_knowledge_dataset(make_frame(rows, rng), k)) for k in (1, 2, 9)]


@compare(exact=True)
def case_relation_in_two_groups(seed):
    """A relation that stands in two groups is one relation."""
    rng = np.random.default_rng([20, seed])
    places = [("a", "g"), ("b", "g"), ("a", "h"), ("b", "g"), ("a", "g"), ("c", "h"), ("c", "h")]
    frame = make_frame([(*place, f"object {i}") for i, place in enumerate(places)], rng)
    return facts(generate_counter_parametric_knowledge_dataset(frame, 3))


@compare(exact=True)
def case_nothing_to_return(seed):
    """None asked for, no row, no candidate: no records, but all columns."""
    frame = random_frame(seed, 8, 2, 4)
    lonely = make_frame([(f"r{i}", "g", "object 1") for i in range(3)], np.random.default_rng([22, seed]))
    given = [(frame, 1), (frame, 0), (frame.iloc[:0], 3), (lonely, 3)]
    return [facts(generate_counter_parametric_knowledge_dataset(*arguments)) for arguments in given]


@compare(exact=True)
def case_index_columns_and_input(seed):
    """Labels that repeat, columns in another order, a column more; the frame is what it was."""
    rng = np.random.default_rng([23, seed])
    frame = random_frame(seed, 14, 3, 5).assign(score=1.5)
    shuffled = frame[rng.permutation(list(frame.columns))].set_axis(rng.integers(0, 4, size=14))
    counter = generate_counter_parametric_knowledge_dataset(shuffled, 2)
    return facts(counter), facts(shuffled.drop(columns=["model_output_tokens_ids"]))


@compare(exact=True)
def case_offline_model(seed):
    """Data of the repository, generated by its own model; some objects begin alike."""
    relations = load_relations()
    triplets = load_triplets(relations).sample(n=30, random_state=seed)
    knowledge = generate_parametric_knowledge_dataset(make_toy_lm(triplets, relations, seed), triplets, relations)
    return pairs(generate_counter_parametric_knowledge_dataset(knowledge, 3))
