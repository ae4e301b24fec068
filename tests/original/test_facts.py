"""The original's published facts: complete, consistent, and about the instances of this benchmark."""

from collections import Counter

from lmrbench_data.original import facts
from lmrbench_data.tasks.task_folders import load_tasks


def test_each_setting_and_model_has_one_label_per_instance() -> None:
    labels = facts.labels()
    instances = {item.instance_id for task in load_tasks() for item in task.implementations}
    assert len(labels) == 168
    assert {item.instance_id for item in labels} <= instances
    assert Counter((item.setting, item.model) for item in labels) == {
        (setting, model): 28 for setting in ("no_agent", "openhands_agent") for model in ("gpt4.1", "gpt4o", "o4mini")
    }
    assert len({(item.setting, item.model, item.paper, item.function_index) for item in labels}) == 168
    assert {item.judge for item in labels} == {item.human for item in labels} == {"CC", "LC", "LI"}


def test_unit_tests_are_published_for_four_of_the_six_groups() -> None:
    untested = {(item.setting, item.model) for item in facts.labels() if item.passed is None}
    assert untested == {("no_agent", "gpt4o"), ("no_agent", "o4mini")}
    assert sum(item.passed is True for item in facts.labels()) == 39


def test_sessions_and_repositories_belong_to_papers_with_labels() -> None:
    sessions, structures = facts.sessions(), facts.structures()
    papers = {item.paper for item in facts.labels()}
    assert len(sessions) == len({(item.model, item.paper) for item in sessions}) == 66
    assert {item.paper for item in sessions} <= papers
    assert all(sum(item.actions.values()) for item in sessions)
    assert len(structures) == 29
    assert papers <= {item.paper for item in structures}
    assert [item.folder for item in structures if not item.files] == [
        "10-TimeDistill",
        "19-Native-Sparse-Attention",
        "21-TimeMixer",
    ]
