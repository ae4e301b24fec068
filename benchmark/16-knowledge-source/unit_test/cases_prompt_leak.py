"""Labelled inputs for parametric-object-prompt-leak-check."""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, outcome
from src import config
from src.data import load_relations
from src.parametric_knowledge import is_parametric_object_not_in_the_prompt


def make_table(**columns) -> pd.DataFrame:
    """Relation table with six relations; keyword arguments replace columns."""
    table = {
        "relation": ["capital", "continent", "author", "headquarters", "language", "founder"],
        "relation_group_id": ["g1", "g1", "g2", "g3", "g4", "g3"],
        "description": ["a capital city", "a continent", "a writer", "Lagos", "a language", "a person"],
        "query": ["The capital of {subject} is"] * 6,
        "generation_subject_1": ["France", "Kenya", "Hamlet", "Nokia", "New York City", "Microsoft"],
        "generation_object_1": ["Paris", "Africa", "William Shakespeare", "Espoo", "English", "Bill Gates"],
        "generation_subject_2": ["Japan", "Chile", "Emma", "Interpol", "Austria", "Sony"],
        "generation_object_2": ["Tokyo", "South America", "Jane Austen", "Lyon", "German", "Masaru Ibuka"],
        "generation_statement_1": ["The capital of France is Paris."] * 6,
        "generation_statement_2": ["The capital of Japan is Tokyo."] * 6,
    }
    return pd.DataFrame({**table, **columns})


def ask(objects: list[str], table: pd.DataFrame) -> dict[str, bool]:
    """The answer for each object."""
    return {object_: is_parametric_object_not_in_the_prompt(object_, table) for object_ in objects}


@compare(exact=True)
def case_nowhere(seed):
    return ask(["lima", "cairo", "johann wolfgang von goethe", "yes"], make_table())


@compare(exact=True)
def case_object_of_an_example(seed):
    """Objects of every row's example, and objects that are no subject of any."""
    return ask(["paris", "africa", "william shakespeare", "espoo", "english", "bill gates"], make_table())


@compare(exact=True)
def case_subject_of_an_example(seed):
    return ask(["france", "kenya", "hamlet", "nokia", "new york city", "microsoft"], make_table())


@compare(exact=True)
def case_both_subject_and_object(seed):
    """An entity on both sides: in different rows, and in one row."""
    table = make_table(
        generation_subject_1=["Paris", "Kenya", "Rome", "Nokia", "Oslo", "Microsoft"],
        generation_object_1=["Oslo", "Paris", "Rome", "Espoo", "English", "Bill Gates"],
    )
    return ask(["paris", "rome", "oslo", "kenya", "espoo", "lima"], table)


@compare(exact=True)
def case_upper_and_lower_case(seed):
    """Case differs on either side or both; lower case is no case folding."""
    table = make_table(
        generation_subject_1=["FRANCE", "kenya", "HaMlEt", "Straße", "ÉCOLE", "μ"],
        generation_object_1=["PARIS", "africa", "wILLIAM Shakespeare", "Gruß", "Ångström", "ça va"],
    )
    objects = ["Paris", "paris", "PARIS", "AFRICA", "Kenya", "KENYA", "hamlet", "hAmLeT", "William Shakespeare"]
    return ask([*objects, "STRASSE", "strasse", "straße", "GRUSS", "école", "ÅNGSTRÖM", "Ça Va", "µ"], table)


@compare(exact=True)
def case_parts_blanks_and_stops(seed):
    """Nothing but the whole value counts: no part of it, no blank and no full stop more or less."""
    table = make_table(
        generation_subject_1=["New York City", " Kenya", "Hamlet ", "Nokia.", "New  York", "\tMicrosoft"],
        generation_object_1=["Paris", "Africa\n", "William Shakespeare", "Espoo,", "English", "Bill-Gates"],
    )
    objects = [
        "new york",
        "new york city",
        "york",
        "kenya",
        " kenya",
        "hamlet",
        "hamlet ",
        "nokia",
        "nokia.",
        "new york",
    ]
    objects += [
        "paris ",
        " paris",
        "paris.",
        "pari",
        "africa",
        "africa\n",
        "shakespeare",
        "espoo",
        "bill gates",
        "s",
        "",
    ]
    return ask([*objects, "microsoft", "\tmicrosoft", "the english", "paris, france"], table)


@compare(exact=True)
def case_only_the_example_that_is_shown(seed):
    """The second example, descriptions, relation names, statements and words of the prompt leak nothing."""
    objects = ["tokyo", "japan", "masaru ibuka", "german", "capital", "continent", "lagos", "a writer", "g1", "is"]
    return ask([*objects, "the capital of france is paris.", "generation_object_1"], make_table())


@compare(exact=True)
def case_another_example_is_shown(seed):
    """The setting decides which of the examples of a relation is shown."""
    objects = ["paris", "france", "tokyo", "japan", "south america", "emma", "rabat", "kenya"]
    table = make_table(generation_subject_3=["Morocco"] * 6, generation_object_3=["Rabat"] * 6)
    answers = []
    for number in (2, 3, 1):
        config.SHOWN_EXAMPLE = number
        answers.append(ask([*objects, "morocco"], table))
    return answers


@compare(exact=True)
def case_missing_cells(seed):
    """Missing cells match nothing, and rows that have one still count with the other."""
    missing = float("nan")
    some = make_table(
        generation_subject_1=["France", missing, "Hamlet", None, missing, "Microsoft"],
        generation_object_1=[missing, "Africa", None, "Espoo", missing, "Bill Gates"],
    )
    column = make_table(generation_object_1=[np.nan] * 6)
    both = make_table(generation_object_1=[np.nan] * 6, generation_subject_1=[None] * 6)
    objects = ["france", "africa", "hamlet", "espoo", "bill gates", "nan", "none", "<na>", "", "english"]
    return ask(objects, some), ask(objects, some.astype(object)), ask(objects, column), ask(objects, both)


@compare(exact=True)
def case_empty_strings(seed):
    """An empty cell is a value like any other."""
    table = make_table(generation_object_1=["Paris", "", "x", "y", "z", "w"])
    return ask(["", " ", "paris", "nokia"], table), ask(["", " "], make_table())


@compare(exact=True)
def case_tables_of_other_sizes(seed):
    """No row, one row, rows that repeat; no other columns; columns in another order."""
    columns = ["generation_object_1", "generation_subject_1"]
    objects = ["paris", "france", "kenya", "bill gates"]
    table = make_table()
    return {
        "empty": ask(objects, table.iloc[:0]),
        "empty, objects": ask(objects, pd.DataFrame(columns=columns)),
        "one": ask(objects, table.iloc[:1]),
        "last": ask(objects, table.iloc[-1:]),
        "twice": ask(objects, pd.concat([table, table])),
        "two columns": ask(objects, table[columns]),
        "reversed": ask(objects, table.iloc[::-1, ::-1]),
    }


@compare(exact=True)
def case_index_labels_are_not_looked_at(seed):
    """Labels that are entities, and entities that are labels."""
    labelled = make_table().set_axis(["lima", "oslo", "paris", "rome", "cairo", "bonn"])
    by_relation = make_table().set_index("relation")
    numbered = make_table(generation_object_1=[str(i + 1) for i in range(6)])
    return (
        ask(["lima", "oslo", "paris", "france", "bonn"], labelled),
        ask(["capital", "author", "paris", "hamlet"], by_relation),
        ask(["0", "3", "6", "7"], numbered),
    )


@compare(exact=True)
def case_table_of_the_repository(seed):
    rng = np.random.default_rng([16, seed])
    table = load_relations()
    entities = table[[name for name in table if name.startswith("generation_")]].to_numpy().ravel()
    changed = [str.upper, str.lower, str.title, lambda text: text + "s", lambda text: text[:-1]]
    return ask([changed[rng.integers(5)](entity) for entity in entities], table.sample(frac=0.8, random_state=seed))


@compare(exact=True)
def case_table_is_left_alone(seed):
    table = make_table(generation_subject_1=["FRANCE", None, "Hamlet", "Nokia", "New York City", "Microsoft"])
    answers = ask(["france", "paris"], table)
    return answers, list(table.columns), table.fillna("missing").to_numpy().tolist()


@compare(exact=True)
def case_no_string(seed):
    tables = [make_table(), make_table().iloc[:0]]
    return [
        outcome(is_parametric_object_not_in_the_prompt, object_, table, errors=AttributeError)
        for table in tables
        for object_ in (None, 7, float("nan"))
    ]
