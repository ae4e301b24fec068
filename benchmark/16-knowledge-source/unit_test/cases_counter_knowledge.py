"""Labelled inputs for counter-parametric-knowledge-dataset."""

import numpy as np
import pandas as pd
import torch
from lmrbench_cases import compare
from src.data import generate_counter_parametric_knowledge_dataset, load_relations, load_triplets
from src.parametric_knowledge import generate_parametric_knowledge_dataset, make_toy_lm

VOCABULARY = 24


def make_frame(rows: list[tuple], **columns) -> pd.DataFrame:
    """Parametric knowledge of (relation, group, parametric object, first token id, log-probabilities)."""
    table = {
        "statement_subject": [f"Subject {i}" for i in range(len(rows))],
        "rel_lemma": [row[0] for row in rows],
        "statement_object": [f"True {i}" for i in range(len(rows))],
        "relation_group_id": [row[1] for row in rows],
        "parametric_object": [row[2] for row in rows],
        "statement": [f"The {row[0]} of Subject {i} is True {i}." for i, row in enumerate(rows)],
        "log_probability_parametric_object_first_token": [list(row[4]) for row in rows],
        "model_output_tokens_ids": [[torch.tensor(row[3]), torch.tensor(0)] for row in rows],
    }
    return pd.DataFrame({**table, **columns})


def facts(frame: pd.DataFrame) -> dict:
    """The frame as plain values, without dtypes."""
    return {
        "columns": list(frame.columns),
        "index": list(frame.index),
        "rows": [list(row) for row in frame.itertuples(index=False, name=None)],
    }


def log_probabilities(rng: np.random.Generator) -> list[float]:
    """Log-probabilities of all tokens, well apart from each other."""
    logits = rng.permutation(VOCABULARY) / 3.0
    return (logits - np.log(np.exp(logits).sum())).tolist()


def random_frame(seed: int, n: int, n_relations: int, n_objects: int, n_tokens: int = VOCABULARY) -> pd.DataFrame:
    """Rows of relations in mixed order; objects repeat, some in several relations, with first tokens that vary."""
    rng = np.random.default_rng([16, seed, n, n_relations, n_objects])
    rows = []
    for _ in range(n):
        relation = rng.integers(n_relations)
        object_ = f"object {(5 * rng.integers(n_objects) + 2 * relation) % 13}"
        group = f"group {relation // 2}"
        rows.append((f"relation-{relation}", group, object_, int(rng.integers(n_tokens)), log_probabilities(rng)))
    return make_frame(rows)


def pairs(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Subject and chosen object of each record."""
    return list(zip(frame["statement_subject"], frame["counter_knowledge_object"], strict=True))


@compare(exact=True)
def case_one_relation(seed):
    """Five objects with different scores; as many as asked for, least likely first."""
    rng = np.random.default_rng([17, seed])
    tokens = rng.permutation(VOCABULARY)[:5]
    rows = [("capital", "g", f"object {i}", int(tokens[i]), log_probabilities(rng)) for i in range(5)]
    return [facts(generate_counter_parametric_knowledge_dataset(make_frame(rows), k)) for k in (1, 2, 3, 4)]


@compare(exact=True)
def case_random_relations(seed):
    frame = random_frame(seed, 40, 5, 6)
    return [facts(generate_counter_parametric_knowledge_dataset(frame, k)) for k in (1, 3, 10)]


@compare(exact=True)
def case_row_decides_with_its_own_distribution(seed):
    """Rows of one relation with opposite distributions; candidates are scored for the row, not where they came from."""
    rising = [float(i - VOCABULARY) for i in range(VOCABULARY)]
    objects = [("oslo", 3), ("lima", 9), ("cairo", 15), ("rome", 20)]
    rows = [("capital", "g", name, token, rising[:: (-1) ** i]) for i, (name, token) in enumerate(objects)]
    return pairs(generate_counter_parametric_knowledge_dataset(make_frame(rows), 2))


@compare(exact=True)
def case_first_token_of_the_last_row(seed):
    """An object whose first token differs between rows and between relations: the last row of the whole frame wins."""
    rng = np.random.default_rng([18, seed])
    rising = [float(i - VOCABULARY) for i in range(VOCABULARY)]
    rows = [
        ("capital", "g", "oslo", 5, rising),
        ("capital", "g", "lima", 8, rising),
        ("capital", "g", "oslo", 12, rising),
        ("capital", "g", "rome", 10, rising),
        ("headquarters", "h", "lima", 1, rising),
        ("headquarters", "h", "rome", 20, rising),
        ("headquarters", "h", "bonn", 7, rising),
    ]
    order = rng.permutation(len(rows))
    frames = [make_frame(rows), make_frame(rows[::-1]), make_frame([rows[i] for i in order])]
    return [pairs(generate_counter_parametric_knowledge_dataset(frame, 2)) for frame in frames]


@compare(exact=True)
def case_ties_by_first_appearance(seed):
    """Objects with one first token, and tokens that are equally likely; the first appearance is that in the frame."""
    flat = [-1.0] * VOCABULARY
    rows = [
        ("founder", "h", "zoe", 4, flat),
        ("founder", "h", "mia", 4, flat),
        ("author", "g", "mia", 4, flat),
        ("author", "g", "ada", 4, flat),
        ("author", "g", "zoe", 4, flat),
        ("author", "g", "bob", 7, [*flat[:7], -2.0, *flat[8:]]),
        ("author", "g", "kim", 6, flat),
        ("founder", "h", "ada", 4, flat),
        ("founder", "h", "al", 9, [-float("inf")] * VOCABULARY),
    ]
    frames = [make_frame(rows), make_frame(rows[::-1])]
    return [pairs(generate_counter_parametric_knowledge_dataset(frame, k)) for frame in frames for k in (1, 2, 9)]


@compare(exact=True)
def case_random_ties(seed):
    frame = random_frame(seed, 30, 2, 9, n_tokens=3)
    return [facts(generate_counter_parametric_knowledge_dataset(frame, k)) for k in (2, 5)]


@compare(exact=True)
def case_too_few_objects(seed):
    """Relations with one object, with one object in several rows, with two, and with three."""
    rng = np.random.default_rng([19, seed])
    rows = [
        ("alone", "g", "lima", 3, log_probabilities(rng)),
        ("two", "g", "oslo", 5, log_probabilities(rng)),
        ("same", "h", "rome", 7, log_probabilities(rng)),
        ("three", "h", "lima", 3, log_probabilities(rng)),
        ("same", "h", "rome", 7, log_probabilities(rng)),
        ("two", "g", "bonn", 9, log_probabilities(rng)),
        ("three", "h", "cairo", 11, log_probabilities(rng)),
        ("three", "h", "rome", 7, log_probabilities(rng)),
    ]
    return [facts(generate_counter_parametric_knowledge_dataset(make_frame(rows), k)) for k in (1, 2, 3, 50)]


@compare(exact=True)
def case_own_object_of_the_model_is_left_out(seed):
    """Left out is what the model generated; what the knowledge base says may be chosen."""
    rising = [float(i - VOCABULARY) for i in range(VOCABULARY)]
    rows = [
        ("capital", "g", "lima", 2, rising),
        ("capital", "g", "oslo", 4, rising),
        ("capital", "g", "lima", 2, rising),
        ("capital", "g", "rome", 6, rising),
        ("capital", "g", "Lima", 3, rising),
    ]
    frame = make_frame(rows, statement_object=["oslo", "oslo", "rome", "lima", "lima"])
    return pairs(generate_counter_parametric_knowledge_dataset(frame, 2))


@compare(exact=True)
def case_relation_not_group(seed):
    """Relations of one group do not mix, and a relation that stands in two groups is one relation."""
    rng = np.random.default_rng([20, seed])
    rows = [
        (relation, group, f"object {i}", 2 * i + 1, log_probabilities(rng))
        for i, (relation, group) in enumerate(
            [("a", "g"), ("b", "g"), ("a", "h"), ("b", "g"), ("a", "g"), ("c", "h"), ("c", "h"), ("a", "h"), ("b", "g")]
        )
    ]
    return facts(generate_counter_parametric_knowledge_dataset(make_frame(rows), 3))


@compare(exact=True)
def case_statements_and_queries(seed):
    """Objects in other case than in the statement, with special characters, inside the sentence, and not in it."""
    statements = [
        ("The capital of Norway is Oslo.", "oslo"),
        ("Lima, the capital of Peru", "LIMA"),
        ("The price of it is 5.0 $ (net).", "5.0 $ (net)"),
        ("  Rome is the capital of Italy, so Rome, Rome.", "Rome"),
        ("The capital of Egypt is Cairo", "Cairo"),
        ("The capital of Chile is Santiago.", "Bonn"),
    ]
    rng = np.random.default_rng([21, seed])
    rows = [("capital", "g", f"object {i}", i, log_probabilities(rng)) for i in range(len(statements))]
    texts, objects = zip(*statements, strict=True)
    frame = make_frame(rows, statement=list(texts), statement_object=list(objects))
    return facts(generate_counter_parametric_knowledge_dataset(frame, 1))


@compare(exact=True)
def case_nothing_to_return(seed):
    """None asked for, no row, no candidate: no records, but all columns."""
    frame = random_frame(seed, 8, 2, 4)
    rng = np.random.default_rng([22, seed])
    lonely = make_frame([(f"r{i}", "g", "lima", 3, log_probabilities(rng)) for i in range(3)])
    return {
        "k = 0": facts(generate_counter_parametric_knowledge_dataset(frame, 0)),
        "empty": facts(generate_counter_parametric_knowledge_dataset(frame.iloc[:0], 3)),
        "no candidates": facts(generate_counter_parametric_knowledge_dataset(lonely, 3)),
        "one row": facts(generate_counter_parametric_knowledge_dataset(frame.iloc[:1], 3)),
    }


@compare(exact=True)
def case_index_columns_and_input(seed):
    """Labels that repeat, columns in another order, a column more; the frame is what it was."""
    rng = np.random.default_rng([23, seed])
    frame = random_frame(seed, 14, 3, 5).assign(score=1.5, object="x")
    shuffled = frame[rng.permutation(list(frame.columns))].set_axis(rng.integers(0, 4, size=14))
    tokens = [[int(token) for token in cell] for cell in shuffled["model_output_tokens_ids"]]
    counter = generate_counter_parametric_knowledge_dataset(shuffled, 2)
    after = shuffled.drop(columns=["model_output_tokens_ids", "log_probability_parametric_object_first_token"])
    unchanged = shuffled["log_probability_parametric_object_first_token"].tolist()
    return facts(counter), facts(after), tokens, unchanged, list(shuffled.columns)


@compare(exact=True)
def case_offline_model(seed):
    """Data of the repository, generated by its own model."""
    relations = load_relations()
    triplets = load_triplets(relations).sample(n=30, random_state=seed)
    knowledge = generate_parametric_knowledge_dataset(make_toy_lm(triplets, relations, seed), triplets, relations)
    counter = generate_counter_parametric_knowledge_dataset(knowledge, 3)
    return list(counter.columns), pairs(counter)
