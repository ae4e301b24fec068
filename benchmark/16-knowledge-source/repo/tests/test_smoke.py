"""Smoke tests: tables, prompts, similarity, the offline model, and the outer contract of each step."""

import sys
import unittest
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from src import config  # noqa: E402
from src.classification.classifier import perform_classification_by_relation_group  # noqa: E402
from src.classification.data import get_features_and_targets_for_dataset, undersample_dataset  # noqa: E402
from src.classification.summary import summarise_layers  # noqa: E402
from src.context_knowledge import (  # noqa: E402
    COUNTER_KNOWLEDGE_COLUMNS,
    build_counter_knowledge_record,
    get_objects_to_first_token_id_dict,
    make_statement_query,
)
from src.data import (  # noqa: E402
    generate_counter_parametric_knowledge_dataset,
    load_relations,
    load_triplets,
    remove_entity_overlap_between_relation_groups,
    remove_object_subject_overlap,
    return_entity_overlap_between_relation_groups,
)
from src.parametric_knowledge import (  # noqa: E402
    generate_parametric_knowledge_dataset,
    is_parametric_object_not_in_the_prompt,
    make_toy_lm,
)
from src.prompt_model import label_answer, prompt_with_counter_knowledge  # noqa: E402
from src.prompts import make_generation_prompt, make_probe_prompt  # noqa: E402
from src.string_similarity import jaro_similarity, jaro_winkler_similarity  # noqa: E402


class SmokeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.relations = load_relations()
        cls.triplets = load_triplets(cls.relations)
        cls.model = make_toy_lm(cls.triplets, cls.relations)
        cls.knowledge = generate_parametric_knowledge_dataset(cls.model, cls.triplets, cls.relations)

    def make_records(self) -> pd.DataFrame:
        """Counter-parametric knowledge with an arbitrary object."""
        rows = self.knowledge.iloc[::6].to_dict("records")
        return pd.DataFrame([build_counter_knowledge_record(row, "paris") for row in rows])

    def test_prompts(self) -> None:
        relation = self.relations.set_index("relation").loc["capital"]
        prompt = make_generation_prompt(relation, "Peru")
        self.assertEqual(prompt, "Name a capital city. The capital of France is Paris. The capital of Peru is")
        probe_prompt = make_probe_prompt("The capital of Peru is", "oslo")
        self.assertEqual(probe_prompt, "The capital of Peru is oslo. The capital of Peru is")

    def test_similarity_of_known_pairs(self) -> None:
        self.assertAlmostEqual(jaro_similarity("MARTHA", "MARHTA"), 0.9444, places=4)
        self.assertAlmostEqual(jaro_winkler_similarity("MARTHA", "MARHTA"), 0.9611, places=4)
        self.assertAlmostEqual(jaro_winkler_similarity("DIXON", "DICKSONX"), 0.8133, places=4)
        self.assertEqual(jaro_similarity("abc", "xyz"), 0.0)

    def test_model_knows_most_facts(self) -> None:
        self.assertEqual(len(self.knowledge), len(self.triplets))
        right = self.knowledge["parametric_object"] == self.knowledge["statement_object"].str.lower()
        self.assertGreater(right.mean(), 0.7)
        self.assertLess(right.mean(), 1.0)
        probabilities = np.exp(self.knowledge["log_probability_parametric_object_first_token"].iloc[0])
        self.assertAlmostEqual(probabilities.sum(), 1.0, places=4)

    def test_filters_only_remove_rows(self) -> None:
        kept = remove_object_subject_overlap(self.knowledge, config.SUBJECT_OBJECT_SIMILARITY)
        self.assertTrue(set(kept.index) < set(self.knowledge.index))
        self.assertNotIn("Panama", set(kept["statement_subject"]))
        self.assertIs(bool(is_parametric_object_not_in_the_prompt("paris", self.relations)), False)
        self.assertIs(bool(is_parametric_object_not_in_the_prompt("atlantis", self.relations)), True)

    def test_overlap_is_removed(self) -> None:
        groups = list(self.relations["relation_group_id"].unique())
        disjoint = remove_entity_overlap_between_relation_groups(self.knowledge)
        self.assertLess(len(disjoint), len(self.knowledge))
        overlap = return_entity_overlap_between_relation_groups(disjoint)
        self.assertEqual(list(overlap), groups)
        self.assertEqual(overlap["geography"]["language"], 0)

    def test_first_tokens_and_queries(self) -> None:
        tokens = get_objects_to_first_token_id_dict(self.knowledge)
        self.assertEqual(self.model.tokenizer.decode([tokens["steve jobs"]]), "steve")
        self.assertEqual(make_statement_query("The capital of Peru is Lima.", "lima"), "The capital of Peru is")

    def test_counter_knowledge_has_its_columns(self) -> None:
        counter = generate_counter_parametric_knowledge_dataset(self.knowledge, 1)
        self.assertEqual(list(counter.columns), COUNTER_KNOWLEDGE_COLUMNS)
        self.assertTrue((counter["counter_knowledge_object"] != counter["parametric_knowledge_object"]).all())

    def test_prompting_stores_labels_and_activations(self) -> None:
        self.assertEqual([label_answer(answer, "oslo", "lima") for answer in ("lima", "oslo", "x")], ["PK", "CK", "ND"])
        results = prompt_with_counter_knowledge(self.model, self.make_records())
        self.assertLessEqual(set(results["knowledge_source"]), {"CK", "PK", "ND"})
        self.assertEqual(tuple(results["mlp"].iloc[0]), config.POSITIONS)
        results["knowledge_source"] = ["CK", "PK"] * (len(results) // 2)
        activations, targets = get_features_and_targets_for_dataset(results, False, "object", True, False, False)
        self.assertEqual(activations.shape, (len(results), 4, 4, 16))
        self.assertEqual(set(targets.tolist()), {0, 1})

    def test_balanced_sets(self) -> None:
        labels = pd.DataFrame({"knowledge_source": ["PK"] * 5 + ["CK"] * 2 + ["ND"] * 4})
        self.assertEqual(undersample_dataset(labels)["knowledge_source"].tolist(), ["CK", "CK", "PK", "PK"])

    def test_probing_gives_a_record_for_each_layer(self) -> None:
        results = prompt_with_counter_knowledge(self.model, self.make_records())
        results["knowledge_source"] = ["CK", "PK"] * (len(results) // 2)
        results["relation_group_id"] = ["one", "one", "two", "two"] * (len(results) // 4) + ["one"] * (len(results) % 4)
        records = perform_classification_by_relation_group(results, True, False, False, True, "object")
        self.assertEqual(len(records), 8)
        summary = summarise_layers(pd.DataFrame(records))
        self.assertEqual(list(summary.index), [0, 1, 2, 3])
        self.assertTrue(summary["mean"].between(0, 1).all())


if __name__ == "__main__":
    unittest.main()
