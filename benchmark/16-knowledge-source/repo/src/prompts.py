"""Statements and prompts of the relations in `data/relations.csv`."""

import pandas as pd

from src import config


def make_query(relation: pd.Series, subject: str) -> str:
    """A sentence of the relation that stops before its object, such as "The capital of Peru is"."""
    return str(relation["query"]).format(subject=subject)


def make_statement(query: str, object_: str) -> str:
    """The query completed to a sentence."""
    return f"{query} {object_}."


def example_column(role: str) -> str:
    """Column of the relation table that holds the example of the generation prompt.

    Args:
        role: "subject" or "object".
    """
    return f"generation_{role}_{config.SHOWN_EXAMPLE}"


def make_generation_prompt(relation: pd.Series, subject: str) -> str:
    """One-shot prompt that asks for the object of a triplet (Section 3.1.2): what to name, an example, the query.

    Args:
        relation: row of the relation table.
        subject: subject of the triplet.
    """
    example = make_statement(
        make_query(relation, relation[example_column("subject")]), relation[example_column("object")]
    )
    return f"Name {relation['description']}. {example} {make_query(relation, subject)}"


def make_probe_prompt(statement_query: str, counter_knowledge_object: str) -> str:
    """Prompt in which context and parametric knowledge disagree (Section 4): a counter statement, then the query."""
    return f"{make_statement(statement_query, counter_knowledge_object)} {statement_query}"
