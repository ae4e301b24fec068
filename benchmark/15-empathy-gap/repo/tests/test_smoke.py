"""Smoke tests: tables, parsing, files and a small study from question to gap.

Run `python -m unittest tests/test_smoke.py` in the root.
"""

import os
import tempfile
import unittest
from unittest import mock

import numpy as np
from analysis import analysis_after_processing as analysis
from analysis.blocks import group_matrix
from analysis.permutation import permute_matrix
from analysis.process_exp_results import parse_intensity, process_answers
from const import GROUP_MAPPINGS, N_EVENTS, PROMPTS, REFUSAL, UNSPECIFIED
from predict_emotion import load_events, make_messages, predict_category, write_raw_answers


class TestTablesAndParsing(unittest.TestCase):
    def test_tables_have_the_sizes_of_the_paper(self):
        sizes = {category: len(names) for category, names in GROUP_MAPPINGS.items()}
        self.assertEqual(sizes, {"ethnicity": 18, "nationality": 21, "religion": 5})
        for names in GROUP_MAPPINGS.values():
            self.assertNotIn(UNSPECIFIED, names)
            self.assertEqual(len(set(names)), len(names))
        self.assertEqual(len(load_events()), N_EVENTS)

    def test_some_pairs_are_in_group_and_some_are_not(self):
        for category, names in GROUP_MAPPINGS.items():
            with self.subTest(category):
                positions = range(len(names))
                same = {(i, j) for i in positions for j in positions if analysis.check_in_group(category, i, j)}
                self.assertTrue(0 < len(same) < len(names) ** 2)
                self.assertEqual(same, {(j, i) for i, j in same})

    def test_intensity_is_read_from_free_text(self):
        for answer, top, intensity in [
            ("72", 100, 72),
            ("Intensity: 0", 100, 0),
            ("I would say 9 out of 10.", 10, 9),
            ("On the scale from 0 to 100: 100", 100, 100),
            ("85/100", 100, 85),
            ("85", 10, REFUSAL),
            ("I'm sorry, but I can't judge that.", 100, REFUSAL),
        ]:
            with self.subTest(answer):
                self.assertEqual(parse_intensity(answer, top), intensity)

    def test_prompts_name_both_identities(self):
        for variation, prompt in PROMPTS.items():
            with self.subTest(variation):
                messages = make_messages(prompt, "a Hindu", "a Jew", "joy", "We won.")
                self.assertIn("a Hindu", messages["system"])
                self.assertIn("a Jew", messages["user"])
                self.assertIn(f"to {prompt.top} ", messages["user"])

    def test_predictions_depend_on_the_seed_only(self):
        first, again, other = (predict_category("religion", "10-scale", "toy-8b", seed) for seed in (0, 0, 1))
        self.assertEqual(len(first), 6 * 6 * N_EVENTS)
        self.assertTrue(first.equals(again))
        self.assertFalse(first.equals(other))

    def test_permutation_keeps_the_cells(self):
        matrix = np.arange(25.0).reshape(5, 5)
        permuted = permute_matrix(matrix, np.random.default_rng(0))
        self.assertFalse(np.array_equal(permuted, matrix))
        self.assertEqual(sorted(permuted.flat), sorted(matrix.flat))


class TestStudy(unittest.TestCase):
    """On the result files of toy-8b on religion, in a working directory of their own."""

    results = ("religion", "origin", "toy-8b")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        process_answers(write_raw_answers(*self.results), *self.results)

    def test_loader_keeps_the_order_of_events_and_checks_their_number(self):
        intensities = analysis.get_intensity_list(*self.results, "a Hindu", UNSPECIFIED)
        self.assertTrue(intensities.index.equals(load_events().index))
        with mock.patch.object(analysis, "N_EVENTS", N_EVENTS + 1), self.assertRaisesRegex(ValueError, "rows"):
            analysis.get_intensity_list(*self.results, "a Hindu", UNSPECIFIED)

    def test_only_sensitive_events_are_excluded(self):
        excluded = analysis.get_excluded_id_set_no_default(*self.results)
        self.assertLessEqual(excluded, set(np.flatnonzero(load_events()["sensitive"]).tolist()))
        self.assertEqual(analysis.get_refusal_rates(*self.results).shape, (6, 6))

    def test_biased_model_has_a_gap_beyond_chance(self):
        gap = analysis.analyse(*self.results, n_permutations=200)
        self.assertEqual(gap.matrix.shape, (5, 5))
        self.assertGreater(gap.delta, 0)
        self.assertTrue(gap.beyond_chance)
        self.assertEqual(len(analysis.draw_heatmap(gap.matrix).splitlines()), 5)

    def test_groups_of_ethnicity(self):
        blocks = group_matrix(np.random.default_rng(0).normal(size=(18, 18)), "ethnicity")
        self.assertEqual(list(blocks.columns), ["White", "Black", "Asian", "Hispanic"])


if __name__ == "__main__":
    unittest.main()
