"""The patch that is computed from two sets of files: applied, it gives the files that an agent left."""

import string
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmrbench.generation.answer_patch import Answer, read_answer
from lmrbench_data.base import git as neutral_git
from lmrbench_data.loader import File, LoadError, check_path, write_files
from lmrbench_evaluate.rebuild.patch import apply_patch, is_cache


def answer(before: Mapping[str, File], after: Mapping[str, File]) -> Answer:
    with tempfile.TemporaryDirectory() as place:
        write_files(after, Path(place))
        return read_answer(before, Path(place))


def is_allowed(name: str) -> bool:
    try:
        return check_path(name) == name and not name.endswith((".pyc", ".pyo"))
    except LoadError:
        return False


_parts = st.one_of(
    st.sampled_from(["a", "b", "x.py", "README", "a b", " ", '"', "é", "模", "-p0", "/dev/null"[5:], "a\tb"[:1], "~"]),
    st.text(string.printable + "é模", min_size=1, max_size=4).filter(lambda part: "/" not in part),
)
_names = (
    st.lists(_parts, min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda name: is_allowed(name) and not is_cache(name) and "/ " not in f"/{name}" and " /" not in name)
)
_lines = st.one_of(
    st.sampled_from(["x\n", "y\n", "x\r\n", "\n", "\r", "def " + "é" * 80 + "\n", "\x0c\x85\u2028"]),
    st.sampled_from(
        ["-- a/x\n", "++ b/x\n", "@@ -1 +1 @@\n", "diff --git a/x b/x\n", "\\ No newline at end of file\n"]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5),
)
_files = st.builds(
    File, st.lists(_lines, max_size=30).map(lambda lines: "".join(lines).encode()), executable=st.booleans()
)


@st.composite
def _trees(draw: st.DrawFn) -> tuple[dict[str, File], dict[str, File]]:
    """Files before and after: some the same, some changed, some gone, some new; no name is a folder and a file."""

    def possible(files: dict[str, File]) -> dict[str, File]:
        return {name: file for name, file in files.items() if not any(f.startswith(f"{name}/") for f in files)}

    before = draw(st.dictionaries(_names, _files, max_size=4))
    after = draw(st.dictionaries(_names, _files, max_size=3))
    for name, file in before.items():
        kind = draw(st.sampled_from(["same", "gone", "mode", "lines", "lines"]))
        lines = file.data.splitlines(keepends=True)
        if kind == "lines":
            place = draw(st.integers(0, len(lines)))
            lines[place : place + draw(st.integers(0, 3))] = [draw(_lines).encode()]
        if kind != "gone":
            after[name] = File(b"".join(lines), file.executable != (kind == "mode"))
    return possible(before), possible(after)


@settings(max_examples=60, deadline=None)
@given(trees=_trees())
@example(trees=({"a": File(b"x")}, {"a/b": File(b"x")}))
@example(trees=({"a/b": File(b"x")}, {"a": File(b"x")}))
@example(trees=({"a": File(b"", True)}, {"b": File(b"")}))
def test_patch_applied_gives_the_files_that_were_left(trees: tuple[dict[str, File], dict[str, File]]) -> None:
    before, after = trees
    patch, left_out, problem = answer(before, after)
    assert (left_out, problem) == ((), "")
    assert patch.encode() == patch.encode("utf-8", "strict")
    assert (apply_patch(before, patch, []) if patch else before) == after
    assert bool(patch) == (before != after)


@pytest.mark.parametrize(
    "files", [{"a.py": File(b"\1" * 3_000_000)}, {f"{n}.py": File(b"#" * 900) for n in range(250)}]
)
def test_patch_above_its_limit_is_a_problem(files: dict[str, File]) -> None:
    assert answer({}, files) == ("", (), "the patch is larger than 200000 bytes")


def test_binary_and_large_files_and_git_settings_are_left_out() -> None:
    latin = "café\n".encode("latin-1")
    before = {"old.txt": File(latin), "table.bin": File(b"\0\1"), "gone.bin": File(b"\0"), "a.py": File(b"a = 1\n")}
    after = {
        "old.txt": File(latin * 2),
        "table.bin": File(b"\0\1"),
        "plot.png": File(b"\x89PNG\0"),
        "long.log": File(b"x\n" * 150_000),
        ".gitattributes": File(b"* working-tree-encoding=UTF-16\n"),
        "a.py": File(b"a = 2\n"),
    }
    patch, left_out, _ = answer(before, after)
    assert apply_patch(before, patch, []) == {**before, "a.py": after["a.py"]}
    assert left_out == (
        ".gitattributes (settings of git are not part of an answer)",
        "long.log (larger than 200,000 bytes)",
        "old.txt (a binary file)",
        "plot.png (a binary file)",
    )


def test_ignore_rules_of_the_masked_repository_hold_and_those_of_the_agent_do_not() -> None:
    before = {".gitignore": File(b"outputs/\n*.log\n"), "kept.log": File(b"1\n")}
    after = {
        ".gitignore": File(b"*\n!outputs/\n"),
        "kept.log": File(b"2\n"),
        "outputs/a.json": File(b"{}\n"),
        "deep/b.log": File(b"x\n"),
        "new.py": File(b"x = 1\n"),
    }
    patch, left_out, _ = answer(before, after)
    assert apply_patch(before, patch, []) == {name: after[name] for name in (".gitignore", "kept.log", "new.py")}
    assert left_out == ("deep/b.log (named by .gitignore)", "outputs/a.json (named by .gitignore)")


def test_files_that_git_cannot_compare_in_time_are_a_problem_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neutral_git, "_LIMITED", "ulimit -t 1; while :; do :; done")
    patch, _, problem = answer({"x": File(b"1\n2\n")}, {"x": File(b"1\n3")})
    assert (patch, problem.partition("(")[0]) == ("", "git cannot compare the changes ")


def test_git_settings_of_user_and_repository_change_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration, attributes, ignore rules and templates: at home, in the environment, and among the files."""
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    rules = "* text=auto eol=crlf ident working-tree-encoding=UTF-16 filter=evil diff=evil\n"
    (home / ".config" / "git" / "attributes").write_text(rules)
    (home / ".config" / "git" / "ignore").write_text("*.py\n")
    (home / ".gitconfig").write_text(
        "[core]\nautocrlf = true\nwhitespace = cr-at-eol\n[apply]\nwhitespace = fix\n[diff]\nnoprefix = true\n"
        'context = 0\nexternal = false\nalgorithm = histogram\n[filter "evil"]\nclean = rev\nsmudge = rev\n'
    )
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.eol",
        "GIT_CONFIG_VALUE_0": "crlf",
        "GIT_DIFF_OPTS": "--unified=9",
        "GIT_EXTERNAL_DIFF": "false",
    }.items():
        monkeypatch.setenv(name, value)
    before = {
        ".gitattributes": File(rules.encode()),
        ".gitignore": File(b"*.log\n"),
        "a.py": File(b"x  \n$Id$\r\ny\n"),
    }
    after = {**before, "a.py": File(b"x \n$Id$\r\nz\n"), "b.py": File(b"new\n")}
    patch, left_out, _ = answer(before, after)
    assert not left_out, "unchanged files are not reported"
    assert "\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n" in patch
    assert apply_patch(before, patch, []) == after
