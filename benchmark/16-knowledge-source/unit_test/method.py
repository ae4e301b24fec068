"""Labelled inputs for knowledge-source-method: each masked function, and the study with the offline model.

No string similarity lies near a threshold, and no test prompt near the boundary of a probe, so that rounding decides
nothing. Scores of candidates differ clearly or are those of one token.
"""

import numpy as np
import pandas as pd
import torch
from lmrbench_cases import compare, experiment, goal
from src import config
from src.classification.classifier import perform_classification_by_relation_group, success_rate
from src.classification.summary import standard_error, summarise_layers
from src.data import (
    choose_counter_objects,
    generate_counter_parametric_knowledge_dataset,
    load_relations,
    load_triplets,
    names_overlap,
    remove_entity_overlap_between_relation_groups,
    remove_object_subject_overlap,
    return_entity_overlap_between_relation_groups,
)
from src.parametric_knowledge import (
    generate_parametric_knowledge_dataset,
    is_parametric_object_not_in_the_prompt,
    make_toy_lm,
)
from src.prompt_model import label_answer, prompt_with_counter_knowledge
from src.string_similarity import jaro_winkler_similarity

NAMES = (
    "Norway norwegian Niger Nigeria nigeria nigerien Mexico mexico Peru peru lima Lima Panama Paris paris Oslo oslo "
    "Congo kongo Mali Malta malta maltese Austria australia Austrian vienna India indian Indus Oman omani roman Roma "
    "Ireland iceland Irish Island Chad chadian China chinese Chile chilean Cuba cuban Iran Iraq iraqi Ukraine ukrainian"
).split()
LONG_NAMES = ["Mexico City", "mexico city", "Panama City", "New York", "york", "South Africa", "south america", "Cape"]


def far_from(threshold: float, subject: str, object_: str) -> bool:
    """Whether rounding cannot move a similarity across a threshold."""
    pairs = ((subject, object_), (subject.lower(), object_.lower()))
    return all(abs(jaro_winkler_similarity(*pair) - threshold) > 1e-6 for pair in pairs)


def drawn_names(rng: np.random.Generator, count: int, threshold: float) -> list[tuple[str, str]]:
    """Pairs of a subject and an object, a third of them rather alike."""
    names = [*NAMES, *LONG_NAMES]
    pairs: list[tuple[str, str]] = []
    while len(pairs) < count:
        subject = names[rng.integers(len(names))]
        similar = [name for name in names if name[:2].lower() == subject[:2].lower()]
        choices = similar if rng.random() < 0.6 else names
        object_ = choices[rng.integers(len(choices))]
        if far_from(threshold, subject, object_):
            pairs.append((subject, object_))
    return pairs


def table(frame: pd.DataFrame) -> list[list]:
    """Columns, index labels and cells of a frame, as plain values."""
    cells = [[str(value) for value in row] for row in frame.itertuples(index=False)]
    return [list(frame.columns), [int(label) for label in frame.index], cells]


# --- the filters ------------------------------------------------------------------------------------------------------


@goal("names_overlap")
@compare(exact=True)
def case_names(seed):
    """Names that are alike, hold each other or differ in case, under several thresholds."""
    rng = np.random.default_rng([16, seed])
    thresholds = (config.SUBJECT_OBJECT_SIMILARITY, 0.65, 0.9)
    return [
        [bool(names_overlap(subject, object_, threshold)) for subject, object_ in drawn_names(rng, 60, threshold)]
        for threshold in thresholds
    ]


@goal("remove_object_subject_overlap")
@compare(exact=True)
def case_guessable_objects(seed):
    """Other columns that look like subjects, index labels out of order, and the threshold as it is and changed."""
    rng = np.random.default_rng([17, seed])
    results = []
    for threshold in (None, 0.7, 0.95):
        pairs = drawn_names(rng, 40, threshold or 0.8)
        frame = pd.DataFrame(pairs, columns=["statement_subject", "parametric_object"])
        frame.insert(1, "statement_object", rng.permutation(frame["statement_subject"].to_numpy()))
        frame.index = rng.permutation(len(frame)) + 3
        kept = (
            remove_object_subject_overlap(frame)
            if threshold is None
            else remove_object_subject_overlap(frame, threshold)
        )
        results.append(table(kept))
    return results


@goal("is_parametric_object_not_in_the_prompt")
@compare(exact=True)
def case_leaks(seed):
    """Objects of examples of any relation, subjects of examples, parts of them, and the example that is not shown."""
    rng = np.random.default_rng([18, seed])
    relations = load_relations()
    columns = [f"generation_{role}_{number}" for role in ("subject", "object") for number in (1, 2)]
    entities = [str(entity) for column in columns for entity in relations[column]]
    words = [word for entity in entities for word in entity.split() if " " in entity]
    texts = [*entities, *words, "atlantis", *[str(entity) + " city" for entity in entities[:4]]]
    results = []
    for shown in (1, 2):
        config.SHOWN_EXAMPLE = shown
        for part in (relations, relations.sample(7, random_state=seed)):
            order = rng.permutation(len(texts))
            results.append([bool(is_parametric_object_not_in_the_prompt(texts[i].lower(), part)) for i in order])
    return results


def shared_entities(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Triplets of four groups that share some subjects and objects; subjects and objects share names, too."""
    names = [f"{name}{number}" for name in ("ada", "Ada", "bo", "cy") for number in range(rows // 4)]
    return pd.DataFrame(
        {
            "relation_group_id": rng.choice(["works", "people", "geography", "nature"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "statement_subject": rng.choice(names, rows),
            "parametric_object": rng.choice(names, rows),
            "rel_lemma": rng.choice(["one", "two"], rows),
        },
        index=rng.permutation(rows) + 5,
    )


@goal("remove_entity_overlap_between_relation_groups")
@compare(exact=True)
def case_disjoint_groups(seed):
    """Chains of triplets, in which it matters which one goes first."""
    rng = np.random.default_rng([19, seed])
    return [
        table(remove_entity_overlap_between_relation_groups(shared_entities(rng, rows))) for rows in (24, 40, 60, 60)
    ]


@goal("return_entity_overlap_between_relation_groups")
@compare(exact=True)
def case_overlap_matrix(seed):
    """Repeated entities, matches by subject, object or both."""
    rng = np.random.default_rng([20, seed])
    results = []
    for rows in (16, 40, 80):
        overlap = return_entity_overlap_between_relation_groups(shared_entities(rng, rows))
        results.append([[str(group), [[str(h), int(n)] for h, n in row.items()]] for group, row in overlap.items()])
    return results


# --- counter-parametric knowledge -------------------------------------------------------------------------------------


@goal("choose_counter_objects")
@compare(exact=True)
def case_choice(seed):
    """More and fewer candidates than asked for; some share their first token."""
    rng = np.random.default_rng([21, seed])
    results = []
    for size, count in ((8, 3), (8, 1), (12, 5), (3, 7), (9, 0), (0, 2)):
        log_probabilities = np.log(rng.dirichlet(np.ones(20))).tolist()
        objects = [f"object {i}" for i in rng.permutation(30)]
        first_token_ids = {object_: int(rng.integers(9)) for object_ in objects}
        candidates = [objects[i] for i in sorted(rng.choice(30, size, replace=False))]
        results.append(choose_counter_objects(candidates, log_probabilities, first_token_ids, count))
    return results


def knowledge_table(rng: np.random.Generator, rows: int, vocabulary: int = 40) -> pd.DataFrame:
    """Parametric knowledge: six relations in two groups, which share objects, and some of which have few."""
    first_token = rng.permutation(vocabulary)
    records = []
    for number in range(rows):
        relation = int(rng.integers(6))
        object_ = f"thing {int(rng.integers(3 + relation)) + 3 * (relation % 3)}"
        records.append(
            {
                "statement_subject": f"Subject {number}",
                "rel_lemma": f"relation {relation}",
                "statement_object": f"Thing {number}",
                "relation_group_id": ["one", "two"][relation // 3],
                "parametric_object": object_,
                "statement": f"The thing of Subject {number} is Thing {number}.",
                "log_probability_parametric_object_first_token": np.log(rng.dirichlet(np.ones(vocabulary))).tolist(),
                "model_output_tokens_ids": [torch.tensor(int(first_token[int(object_.split()[1])])), torch.tensor(1)],
            }
        )
    return pd.DataFrame(records, index=rng.permutation(rows))


@goal("generate_counter_parametric_knowledge_dataset")
@compare(exact=True)
def case_counter_knowledge(seed):
    """Relations of different size, with objects that several triplets share; one choice, the paper's three, many."""
    rng = np.random.default_rng([22, seed])
    return [
        table(generate_counter_parametric_knowledge_dataset(knowledge_table(rng, rows), k))
        for rows, k in ((30, 1), (30, 3), (12, 20))
    ]


@goal("label_answer")
@compare(exact=True)
def case_labels(seed):
    """Answers that are one of the objects, hold one, are part of one, or are another one."""
    rng = np.random.default_rng([23, seed])
    words = ["south", "africa", "america", "lima", "oslo", "new", "york", "."]
    answers = []
    for _ in range(60):
        counter, own = (" ".join(rng.choice(words[:-1], rng.integers(1, 4), replace=False)) for _ in range(2))
        if counter != own:
            texts = (counter, own, f"{counter} {own}", counter.split()[0], own.split()[-1], ".", str(rng.choice(words)))
            answers.append(label_answer(texts[int(rng.integers(7))], counter, own))
    return answers


# --- probing ----------------------------------------------------------------------------------------------------------


@goal("success_rate")
@compare(rtol=1e-9, atol=1e-12)
def case_success_rate(seed):
    """Balanced sets of every size, predicted well, badly and all alike."""
    rng = np.random.default_rng([24, seed])
    rates = []
    for half in (1, 3, 10, 57):
        targets = np.repeat([0, 1], half)
        for wrong in (0.1, 0.4, 0.8):
            predicted = np.where(rng.random(2 * half) < wrong, 1 - targets, targets)
            rates.append(float(success_rate(predicted, targets)))
        rates.append(float(success_rate(np.ones(2 * half, dtype=np.int64), targets)))
    return rates


def results_table(rng: np.random.Generator, sizes: dict[str, tuple[int, int, int]]) -> pd.DataFrame:
    """Shuffled prompts of groups with these numbers of CK, PK and ND; signals differ between layers and groups."""
    rows = [(group, label) for group, counts in sizes.items() for label in np.repeat(["CK", "PK", "ND"], counts)]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    directions = {group: rng.normal(size=(3, 4, 6)) for group in sizes}
    shared = rng.normal(size=(3, 4, 6))
    cells = []
    for group, label in rows:
        side = {"CK": -1.0, "PK": 1.0, "ND": 0.2}[label]
        strength = np.array([0.1, 0.9, 0.4])[:, None, None]
        vectors = rng.normal(size=(3, 4, 6)) + side * (strength * shared + 0.5 * directions[group])
        cells.append({name: [[layer[i].tolist()] for layer in vectors] for i, name in enumerate(config.POSITIONS)})
    return pd.DataFrame(
        {
            "knowledge_source": [label for _, label in rows],
            "relation_group_id": [group for group, _ in rows],
            "rel_lemma": "relation",
            "mlp": cells,
        }
    )


def plain_records(records: list[dict]) -> list[list]:
    """Values of records in a fixed order; only the group where no test prompt is left."""
    kinds = {"layer": int, "relation_group_id": str, "success_rate": float, "nb_test_examples": int}
    kinds["nb_train_examples"] = int
    return [
        [None if record[name] is None else kind(record[name]) for name, kind in kinds.items()] for record in records
    ]


@goal("perform_classification_by_relation_group")
@compare(rtol=1e-9, atol=1e-12)
def case_probing(seed):
    """Groups that lean to one source or the other, at another token a seed."""
    rng = np.random.default_rng([25, seed])
    frame = results_table(rng, {"works": (21, 12, 4), "art": (9, 18, 0), "people": (16, 15, 5), "law": (8, 11, 2)})
    position = config.POSITIONS[1 + seed % 3]
    return plain_records(perform_classification_by_relation_group(frame, True, False, False, True, position))


@goal("standard_error")
@compare(rtol=1e-9, atol=1e-12)
def case_standard_error(seed):
    """Few and many groups, of about the same size and of very different ones."""
    rng = np.random.default_rng([26, seed])
    errors = []
    for groups in (1, 2, 5, 11):
        for spread in (2, 300):
            sizes = 2.0 * rng.integers(1, 1 + spread, size=groups)
            errors.append(float(standard_error(rng.uniform(0.3, 1.0, size=groups), sizes)))
    return errors


@goal("summarise_layers")
@compare(rtol=1e-9, atol=1e-12)
def case_summary(seed):
    """Layers in any order, each with the groups of its own number, and records without test examples."""
    rng = np.random.default_rng([27, seed])
    rows = []
    for layer in rng.permutation(5).tolist():
        for group in range(2 + (layer + seed) % 4):
            rows.append([layer, f"group {group}", rng.uniform(0.4, 1.0), 2 * int(rng.integers(1, 60))])
        rows.append([None, "empty", None, None])
    columns = ["layer", "relation_group_id", "success_rate", "nb_test_examples"]
    summary = summarise_layers(pd.DataFrame(rows, columns=columns))
    return [[int(layer) for layer in summary.index], *summary_columns(summary)]


def summary_columns(summary: pd.DataFrame) -> list[np.ndarray]:
    """The columns of a summary as float64."""
    return [summary[name].to_numpy(dtype=float) for name in ("mean", "standard_error", "groups")]


# --- the study --------------------------------------------------------------------------------------------------------


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_study(seed):
    """All steps of `run_all.py` with another model a seed, in float64."""
    torch.set_default_dtype(torch.float64)
    relations = load_relations()
    triplets = load_triplets(relations)
    model = make_toy_lm(triplets, relations, seed)
    knowledge = generate_parametric_knowledge_dataset(model, triplets, relations)
    results: dict[str, object] = {}
    knowledge = remove_object_subject_overlap(knowledge, config.SUBJECT_OBJECT_SIMILARITY)
    results["not guessed"] = [int(label) for label in knowledge.index]
    objects = knowledge["parametric_object"]
    knowledge = knowledge[[is_parametric_object_not_in_the_prompt(object_, relations) for object_ in objects]]
    results["not copied"] = [int(label) for label in knowledge.index]
    overlap = return_entity_overlap_between_relation_groups(knowledge)
    results["overlap"] = [[int(n) for n in row.values()] for row in overlap.values()]
    knowledge = remove_entity_overlap_between_relation_groups(knowledge)
    results["disjoint"] = [int(label) for label in knowledge.index]
    counter = generate_counter_parametric_knowledge_dataset(knowledge, config.NB_COUNTER_PARAMETRIC_KNOWLEDGE)
    results["counter objects"] = counter["counter_knowledge_object"].tolist()
    prompting = prompt_with_counter_knowledge(model, counter)
    results["sources"] = prompting["knowledge_source"].tolist()
    records = perform_classification_by_relation_group(
        prompting, include_mlps=True, include_mlps_l1=False, include_mhsa=False, vertical=True, position="object"
    )
    results["probing"] = [plain_records(records), *summary_columns(summarise_layers(pd.DataFrame(records)))]
    return results
