"""Whole study with the offline model: parametric knowledge, filters, counter knowledge, prompting, probing."""

import argparse

import pandas as pd
from src import config
from src.classification.classifier import perform_classification_by_relation_group, save_classification_metrics
from src.classification.summary import summarise_layers
from src.data import (
    generate_counter_parametric_knowledge_dataset,
    load_relations,
    load_triplets,
    remove_entity_overlap_between_relation_groups,
    remove_object_subject_overlap,
    return_entity_overlap_between_relation_groups,
)
from src.parametric_knowledge import (
    generate_parametric_knowledge_dataset,
    is_parametric_object_not_in_the_prompt,
    make_toy_lm,
)
from src.prompt_model import prompt_with_counter_knowledge
from src.prompts import make_probe_prompt


def show_overlap(title: str, knowledge: pd.DataFrame) -> None:
    """Print the overlap matrix of the relation groups, one line a group."""
    overlap = pd.DataFrame.from_dict(return_entity_overlap_between_relation_groups(knowledge), orient="index")
    print(f"\n{title}\n{overlap.to_string()}")


def main() -> None:
    """Run all steps and print what each does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--position", choices=config.POSITIONS, default="object", help="token whose activations count")
    parser.add_argument("--seed", type=int, default=0, help="seed of the offline model")
    options = parser.parse_args()

    relations = load_relations()
    triplets = load_triplets(relations)
    model = make_toy_lm(triplets, relations, options.seed)
    knowledge = generate_parametric_knowledge_dataset(model, triplets, relations)
    right = knowledge["parametric_object"] == knowledge["statement_object"].str.lower()
    print(f"{len(knowledge)} triplets; the model names the object of the knowledge base for {right.sum()}")

    knowledge = remove_object_subject_overlap(knowledge, config.SUBJECT_OBJECT_SIMILARITY)
    print(f"{len(knowledge)} left without objects that look like their subject")
    objects = knowledge["parametric_object"]
    knowledge = knowledge[[is_parametric_object_not_in_the_prompt(object_, relations) for object_ in objects]]
    print(f"{len(knowledge)} left without objects that the generation prompts show")
    show_overlap("Overlap of each group (line) with each group (column):", knowledge)
    knowledge = remove_entity_overlap_between_relation_groups(knowledge)
    show_overlap(f"The same with the {len(knowledge)} triplets that are left when groups are made disjoint:", knowledge)

    counter = generate_counter_parametric_knowledge_dataset(knowledge, config.NB_COUNTER_PARAMETRIC_KNOWLEDGE)
    record = counter.iloc[0]
    prompt = make_probe_prompt(record["statement_query"], record["counter_knowledge_object"])
    print(f"\n{len(counter)} prompts, the first one (the model itself says {record['parametric_knowledge_object']}):")
    print(f"  {prompt}")
    results = prompt_with_counter_knowledge(model, counter)
    table = results.groupby(["relation_group_id", "knowledge_source"], sort=False).size().unstack(fill_value=0)
    print(f"\nKnowledge sources:\n{table.to_string()}")

    records = []
    flags_of = {"mhsa": (False, False, True), "mlp": (True, False, False), "mlp-l1": (False, True, False)}
    for module, flags in flags_of.items():
        of_module = perform_classification_by_relation_group(results, *flags, vertical=True, position=options.position)
        summary = summarise_layers(pd.DataFrame(of_module))
        print(f"\nSuccess rates, {module}, token position {options.position}:\n{summary.round(3).to_string()}")
        records += [{"module": module, **row} for row in of_module]
    save_classification_metrics(records, config.METRICS_FILE)
    print(f"\nAll records: {config.METRICS_FILE.relative_to(config.ROOT)}")


if __name__ == "__main__":
    main()
