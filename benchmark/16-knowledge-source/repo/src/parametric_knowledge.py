"""What the model itself takes for the object of each triplet: its parametric knowledge (Section 3.1)."""

import random

import pandas as pd

from src.prompts import example_column, make_generation_prompt, make_query, make_statement
from src.toy_lm import ToyLM, WordTokenizer


def make_toy_lm(triplets: pd.DataFrame, relations: pd.DataFrame, seed: int = 0, error_rate: float = 0.15) -> ToyLM:
    """A model that knows the triplets, apart from some of which it recalls the object of another subject.

    Args:
        triplets: columns subject, relation, object.
        relations: the relation table.
        seed: seed of weights and errors.
        error_rate: chance of each fact to be a wrong one.
    """
    rng = random.Random(seed)
    table = relations.set_index("relation")
    facts, texts = {}, []
    for triplet in triplets.itertuples():
        objects = sorted(set(triplets.loc[triplets["relation"] == triplet.relation, "object"]))
        is_wrong = rng.random() < error_rate
        query = make_query(table.loc[triplet.relation], triplet.subject)
        facts[query] = rng.choice(objects) if is_wrong else triplet.object
        texts += [make_generation_prompt(table.loc[triplet.relation], triplet.subject), triplet.object]
    return ToyLM(WordTokenizer(texts), facts, seed)


def generate_parametric_knowledge_dataset(
    model: ToyLM, triplets: pd.DataFrame, relations: pd.DataFrame
) -> pd.DataFrame:
    """Ask the model for the object of every triplet.

    Returns:
        One row a triplet, in order, with the columns
        statement_subject, rel_lemma, statement_object: the triplet;
        relation_group_id: group of the relation;
        parametric_object: what the model generated, lower-cased and stripped;
        statement: the true statement;
        log_probability_parametric_object_first_token: list of V floats, for the first generated token;
        model_output_tokens_ids: list of scalar tensors, the generated tokens.
    """
    table = relations.set_index("relation")
    rows = []
    for triplet in triplets.itertuples():
        relation = table.loc[triplet.relation]
        generation = model.generate(make_generation_prompt(relation, triplet.subject))
        rows.append(
            {
                "statement_subject": triplet.subject,
                "rel_lemma": triplet.relation,
                "statement_object": triplet.object,
                "relation_group_id": relation["relation_group_id"],
                "parametric_object": model.tokenizer.decode(map(int, generation.token_ids)).lower().strip(),
                "statement": make_statement(make_query(relation, triplet.subject), triplet.object),
                "log_probability_parametric_object_first_token": generation.first_token_log_probabilities,
                "model_output_tokens_ids": generation.token_ids,
            }
        )
    return pd.DataFrame(rows)


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Whether a generated object can be trusted not to be copied from a generation prompt (Section 3.1.2).

    Args:
        parametric_object: object that the model generated, of whichever relation.
        relations_with_generated_description: relation table, one row a relation, as `load_relations` returns it, with
            the example columns that `src.prompts.example_column` names.

    Returns:
        True if the object stays, False if its triplet is dropped.
    """
    wanted = parametric_object.lower()
    for role in ["subject", "object"]:
        shown = relations_with_generated_description[example_column(role)].dropna()
        if wanted in {entity.lower() for entity in shown}:
            return False
    return True
