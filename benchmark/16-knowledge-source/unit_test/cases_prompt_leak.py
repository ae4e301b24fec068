"""Labelled inputs for parametric-object-prompt-leak-check.

In core cases objects are lower-cased and stripped, as the model's are.
"""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, core, outcome
from src import config
from src.data import load_relations, load_triplets
from src.parametric_knowledge import is_parametric_object_not_in_the_prompt

NAMES = (
    "France, Paris, Kenya, Africa, Hamlet, William Shakespeare, Nokia, Espoo, New York City, English, Microsoft, Lima, "
    "Bill Gates, Japan, Tokyo, Chile, Jane Austen, Interpol, Lyon, Austria, Vienna, Sony, Masaru Ibuka, Rabat, Swahili"
).split(", ")
RELATIONS = ["capital", "continent", "author", "headquarters"]
SHOWN = ["generation_subject_1", "generation_object_1"]


def random_table(seed: int, key: int = 0) -> tuple[pd.DataFrame, list[str]]:
    """Relation table whose entities are drawn from `NAMES`, each at one place, and the names that are left."""
    names = np.random.default_rng([16, seed, key]).permutation(NAMES).tolist()
    n = len(RELATIONS)
    columns = [*SHOWN, "generation_subject_2", "generation_object_2"]
    table = {
        "relation": RELATIONS,
        "relation_group_id": ["g1", "g1", "g2", "g3"],
        "description": [f"a thing of kind {i}" for i in range(n)],
        "query": ["The x of {subject} is"] * n,
    }
    table |= {column: names[i * n : (i + 1) * n] for i, column in enumerate(columns)}
    return pd.DataFrame(table), names[len(columns) * n :]


def ask(objects: list[str], table: pd.DataFrame) -> dict[str, bool]:
    """The answer for each object."""
    return {object_: is_parametric_object_not_in_the_prompt(object_, table) for object_ in objects}


LOWER = [name.lower() for name in NAMES]


@core
@compare(exact=True)
def case_every_name(seed):
    """Subjects and objects of the example of every relation, those of the example that is not shown, and others."""
    return ask(LOWER, random_table(seed)[0])


@core
@compare(exact=True)
def case_another_example_is_shown(seed):
    """The setting decides which example of a relation the prompts show."""
    table, _ = random_table(seed, 1)
    answers = []
    for number in (2, 1):
        config.SHOWN_EXAMPLE = number
        answers.append(ask(LOWER, table))
    return answers


@core
@compare(exact=True)
def case_entities_in_both_columns(seed):
    """An entity on both sides, in one row or in two."""
    table, others = random_table(seed, 2)
    table.loc[[0, 2], "generation_subject_1"] = others[0]
    table.loc[[0, 3], "generation_object_1"] = others[:2]
    return ask(LOWER, table)


@core
@compare(exact=True)
def case_relations_of_the_repository(seed):
    """Entities of the examples and objects of the knowledge base, as the study filters them."""
    table = load_relations()
    entities = table[[name for name in table if name.startswith("generation_")]].to_numpy().ravel().tolist()
    objects = sorted({name.lower() for name in entities + load_triplets(table)["object"].tolist()})
    return ask(objects, table.sample(frac=0.6, random_state=seed))


@core
@compare(exact=True)
def case_parts_of_entities(seed):
    """A part of an entity does not count, and neither does an entity as a part of an object (Section 3.1.2)."""
    table, _ = random_table(seed, 9)
    table.loc[:2, "generation_subject_1"] = ["New York City", "William Shakespeare", "York"]
    shown = table["generation_object_1"].str.lower()
    objects = ["new york", "york", "york city", "new york city", "shakespeare", "new york city hall"]
    return ask([*objects, *shown, *shown.str[:-1], *shown.str[2:], *("greater " + shown)], table)


@compare(exact=True)
def case_upper_and_lower_case(seed):
    """Case differs on either side or both; lower case is no case folding."""
    table, _ = random_table(seed, 3)
    table["generation_subject_1"] = table["generation_subject_1"].str.upper()
    table.loc[:2, "generation_object_1"] = ["Straße", "ÉCOLE", "μ"]
    return ask([*NAMES, *map(str.swapcase, NAMES), "STRASSE", "strasse", "straße", "école", "µ"], table)


@compare(exact=True)
def case_parts_blanks_and_stops(seed):
    """Nothing but the whole value counts; the empty string is a value like any other."""
    table, others = random_table(seed, 4)
    table["generation_subject_1"] = ["New York City", " Kenya", "Hamlet ", others[0] + "."]
    objects = ["new york", "york", "kenya", " kenya", "hamlet", "hamlet ", "", " ", "s", "is", "capital", "g1"]
    shown = table["generation_object_1"].str.lower()
    objects += [others[0].lower(), *(shown + " "), *(shown + "."), *shown.str[:-1], *shown.str[2:]]
    return ask(objects, table), ask(["", " "], table.replace(others[0] + ".", ""))


@compare(exact=True)
def case_missing_cells(seed):
    """Missing cells match nothing, and rows that have one still count with the other; a column may be missing."""
    table, _ = random_table(seed, 5)
    table.loc[0, "generation_subject_1"] = float("nan")
    table.loc[1, "generation_object_1"] = None
    objects = [*LOWER, "nan", "none", "<na>", ""]
    return ask(objects, table), ask(objects, table.assign(generation_object_1=np.nan))


@compare(exact=True)
def case_tables_of_other_shapes(seed):
    """No row, one row, no other columns, columns in another order; labels of rows that are entities."""
    table, others = random_table(seed, 6)
    numbered = table.assign(generation_object_1=["1", "2", "3", "4"])
    return {
        "empty": ask(LOWER, table.iloc[:0]),
        "empty, objects": ask(LOWER, pd.DataFrame(columns=SHOWN)),
        "one": ask(LOWER, table.iloc[:1]),
        "two columns": ask(LOWER, table[SHOWN[::-1]]),
        "labelled": ask(LOWER, table.set_axis([name.lower() for name in others[:4]])),
        "numbered": ask(["0", "3", "4"], numbered),
    }


@compare(exact=True)
def case_table_is_left_alone(seed):
    table, _ = random_table(seed, 7)
    return ask(LOWER[:3], table), list(table.columns), table.to_numpy().tolist()


@compare(exact=True)
def case_no_string(seed):
    table, others = random_table(seed, 8)
    objects = [None, 7, others[0], table["generation_object_1"].iloc[seed % 4]]
    return [
        {str(object_): outcome(is_parametric_object_not_in_the_prompt, object_, given, errors=AttributeError)}
        for given in (table, table.iloc[:0])
        for object_ in objects
    ]
