"""Smoke tests: tables, parsing, files and a small study from question to gap. Run `python -m pytest` in the root."""

import numpy as np
import pytest
from analysis import analysis_after_processing as analysis
from analysis.process_exp_results import parse_intensity, process_answers
from const import GROUP_MAPPINGS, N_EVENTS, PROMPTS, REFUSAL, UNSPECIFIED
from predict_emotion import load_events, make_messages, predict_category, write_raw_answers


@pytest.fixture
def religion_results(tmp_path, monkeypatch):
    """Result files of toy-8b on religion in a working directory of their own."""
    monkeypatch.chdir(tmp_path)
    process_answers(write_raw_answers("religion", "origin", "toy-8b"), "religion", "origin", "toy-8b")
    return "religion", "origin", "toy-8b"


def test_tables_have_the_sizes_of_the_paper():
    assert {category: len(names) for category, names in GROUP_MAPPINGS.items()} == {
        "ethnicity": 18,
        "nationality": 21,
        "religion": 5,
    }
    assert all(UNSPECIFIED not in names and len(set(names)) == len(names) for names in GROUP_MAPPINGS.values())
    assert len(load_events()) == N_EVENTS


def test_ethnicity_is_the_category_with_shared_groups():
    positions = range(len(GROUP_MAPPINGS["ethnicity"]))
    same = [(i, j) for i in positions for j in positions if analysis.check_in_group("ethnicity", i, j)]
    assert len(same) == 5**2 + 4**2 + 3**2 + 6**2
    assert (0, 4) in same
    assert (4, 5) not in same
    assert not analysis.check_in_group("religion", 0, 1)


@pytest.mark.parametrize(
    ("answer", "top", "intensity"),
    [
        ("72", 100, 72),
        ("Intensity: 0", 100, 0),
        ("I would say 9 out of 10.", 10, 9),
        ("On the scale from 0 to 100: 100", 100, 100),
        ("85/100", 100, 85),
        ("85", 10, REFUSAL),
        ("I'm sorry, but I can't judge that.", 100, REFUSAL),
    ],
)
def test_intensity_is_read_from_free_text(answer, top, intensity):
    assert parse_intensity(answer, top) == intensity


@pytest.mark.parametrize("variation", PROMPTS)
def test_prompts_name_both_identities(variation):
    messages = make_messages(PROMPTS[variation], "a Hindu", "a Jew", "joy", "We won.")
    assert "a Hindu" in messages["system"]
    assert "a Jew" in messages["user"]
    assert f"to {PROMPTS[variation].top} " in messages["user"]


def test_predictions_depend_on_the_seed_only():
    first, again, other = (predict_category("religion", "10-scale", "toy-8b", seed) for seed in (0, 0, 1))
    assert len(first) == 6 * 6 * N_EVENTS
    assert first.equals(again)
    assert not first.equals(other)


def test_loader_keeps_the_order_of_events_and_checks_their_number(religion_results, monkeypatch):
    intensities = analysis.get_intensity_list(*religion_results, "a Hindu", UNSPECIFIED)
    assert intensities.index.equals(load_events().index)
    monkeypatch.setattr(analysis, "N_EVENTS", N_EVENTS + 1)
    with pytest.raises(ValueError, match="rows"):
        analysis.get_intensity_list(*religion_results, "a Hindu", UNSPECIFIED)


def test_only_sensitive_events_are_excluded(religion_results):
    excluded = analysis.get_excluded_id_set_no_default(*religion_results)
    assert excluded <= set(np.flatnonzero(load_events()["sensitive"]).tolist())
    assert analysis.get_refusal_rates(*religion_results).shape == (6, 6)


def test_biased_model_has_a_gap_beyond_chance(religion_results):
    gap = analysis.analyse(*religion_results, n_permutations=200)
    assert gap.matrix.shape == (5, 5)
    assert gap.delta > 0
    assert gap.beyond_chance
    assert len(analysis.draw_heatmap(gap.matrix).splitlines()) == 5


def test_permutation_keeps_rows_and_columns_together():
    matrix = np.arange(25.0).reshape(5, 5)
    permuted = analysis.permute_matrix(matrix, np.random.default_rng(0))
    assert not np.array_equal(permuted, matrix)
    assert {frozenset(row) for row in permuted} == {frozenset(row) for row in matrix}
    assert {frozenset(column) for column in permuted.T} == {frozenset(column) for column in matrix.T}
