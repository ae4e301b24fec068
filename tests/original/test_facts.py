"""The original's published facts: complete, consistent, and about the instances of this benchmark."""

from lmrbench_data.original import facts
from lmrbench_data.tasks.task_folders import load_tasks


def test_each_setting_and_model_has_one_label_per_instance() -> None:
    labels = facts.labels()
    instances = {item.instance_id for task in load_tasks() for item in task.implementations}
    assert len(labels) == 168
    assert set(labels["instance_id"]) == instances
    groups = labels.groupby(["setting", "model"])
    assert set(groups.size()) == {len(instances)}
    assert not labels.duplicated(["setting", "model", "paper", "function_index"]).any()
    assert set(labels["judge"]) == set(labels["human"]) == {"CC", "LC", "LI"}
    tests = groups["unit_test"].agg(set)
    assert set(tests[tests == {""}].index) == {("no_agent", "gpt4o"), ("no_agent", "o4mini")}
    assert (labels["unit_test"] == "pass").sum() == 39


def test_sessions_and_repositories_belong_to_papers_with_labels() -> None:
    papers, sessions, structures = set(facts.labels()["paper"]), facts.sessions(), facts.structures()
    assert len(sessions) == 66
    assert not sessions.duplicated(["model", "paper"]).any()
    assert set(sessions["paper"]) <= papers
    assert sessions.drop(columns=["model", "paper", "passed"]).sum(axis="columns").all()
    assert len(structures) == 29
    assert papers <= set(structures["paper"])
    empty = structures.loc[structures["files"] == 0, "folder"].tolist()
    assert empty == ["10-TimeDistill", "19-Native-Sparse-Attention", "21-TimeMixer"]
