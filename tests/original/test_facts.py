"""The original's published facts: consistent with one another."""

from lmrbench_data.original import facts


def test_sessions_and_repositories_belong_to_papers_with_labels() -> None:
    papers, sessions, structures = set(facts.labels()["paper"]), facts.sessions(), facts.structures()
    assert len(sessions) == 66
    assert not sessions.duplicated(["model", "paper"]).any()
    assert set(sessions["paper"]) <= papers
    assert sessions.drop(columns=["model", "paper", "passed"]).sum(axis="columns").all()
    assert len(structures) == 29
    assert papers <= set(structures["paper"])
