"""Counter-parametric knowledge: objects that contradict what the model knows (Section 3.2).

How likely the model finds an object is told by the object's first token alone, as only the distribution of the first
token is stored with a triplet.
"""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Columns of the counter-parametric knowledge dataset, in order.
COUNTER_KNOWLEDGE_COLUMNS = [
    "statement_subject",
    "rel_lemma",
    "statement_object",
    "counter_knowledge_object",
    "statement",
    "statement_query",
    "parametric_knowledge_object",
    "relation_group_id",
]


def get_objects_to_first_token_id_dict(parametric_knowledge: pd.DataFrame) -> dict[str, int]:
    """First token that the model generated for each parametric object.

    Args:
        parametric_knowledge: columns parametric_object and model_output_tokens_ids.

    Returns:
        Dict with the objects in order of first appearance. Of rows with the same object, the last one gives the id.
    """
    first_token_ids = parametric_knowledge["model_output_tokens_ids"].map(lambda token_ids: int(token_ids[0]))
    return dict(zip(parametric_knowledge["parametric_object"], first_token_ids.tolist(), strict=True))


def make_statement_query(statement: str, statement_object: str) -> str:
    """The statement without its object and the one character behind it, case ignored; blanks at the ends go too."""
    return re.sub(re.escape(statement_object) + ".", "", statement, flags=re.IGNORECASE).strip()


def build_counter_knowledge_record(row: Mapping[str, Any], counter_knowledge_object: str) -> dict[str, Any]:
    """Record of one contradicting object of a triplet; the keys are `COUNTER_KNOWLEDGE_COLUMNS`.

    Args:
        row: columns of the triplet's row in the parametric knowledge dataset; further keys do not matter.
        counter_knowledge_object: the object that contradicts the row's parametric object.
    """
    values = {
        **row,
        "counter_knowledge_object": counter_knowledge_object,
        "statement_query": make_statement_query(row["statement"], row["statement_object"]),
        "parametric_knowledge_object": row["parametric_object"],
    }
    return {column: values[column] for column in COUNTER_KNOWLEDGE_COLUMNS}
