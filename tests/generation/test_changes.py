"""The patch that is computed from two sets of files: applied, it gives the files that an agent left."""

import string
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmrbench_data.base import git as neutral_git
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.generation.changes import Changes
from lmrbench_data.loader import File, LoadError, check_path
from lmrbench_evaluate.rebuild.patch import apply_patch, is_cache


def collected(before: Mapping[str, File], after: Mapping[str, File]) -> Changes:
    changes = Changes(before)
    for name, file in sorted(after.items()):
        changes.add_file(name, len(file.data), file.executable, lambda file=file: file.data)
    return changes


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
    st.lists(_parts, min_size=1, max_size=3).map("/".join).filter(lambda name: is_allowed(name) and not is_cache(name))
)
_lines = st.one_of(
    st.sampled_from(
        [
            "x\n",
            "y\n",
            "x\r\n",
            "\n",
            "\r",
            "-- a/x\n",
            "++ b/x\n",
            "@@ -1 +1 @@\n",
            "diff --git a/x b/x\n",
            "\\ No newline at end of file\n",
            "def " + "é" * 80 + "\n",
            "\x0c\x85\u2028",
        ]
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


@settings(max_examples=150, deadline=None)
@given(trees=_trees())
@example(trees=({"a": File(b"x")}, {"a/b": File(b"x")}))
@example(trees=({"a/b": File(b"x")}, {"a": File(b"x")}))
@example(trees=({"a": File(b"", True)}, {"b": File(b"")}))
def test_a_collected_patch_applied_gives_what_was_collected(
    trees: tuple[dict[str, File], dict[str, File]],
) -> None:
    before, after = trees
    changes = collected(before, after)
    patch = changes.patch()
    assert not changes.left_out
    assert patch.encode() == patch.encode("utf-8", "strict")
    assert (apply_patch(before, patch) if patch else before) == after
    assert bool(patch) == (before != after)


def test_what_is_no_text_is_left_out_if_it_is_new_and_nothing_reads_it() -> None:
    latin = "café\n".encode("latin-1")
    lines = b"1\n2\n3\n4\n5\n6\n"
    before = {"old.txt": File(latin + lines), "table.bin": File(b"\0\1")}
    after = {
        "old.txt": File(latin + lines.replace(b"6", b"7")),
        "table.bin": File(b"\0\1"),
        "plot.png": File(b"\x89PNG\0"),
        "long.log": File(b"x\n" * 150_000),
        ".gitattributes": File(b"* working-tree-encoding=UTF-16\n"),
        "new.txt": File(latin),
    }
    changes = collected(before, after)
    kept = ("old.txt", "table.bin")
    assert apply_patch(before, changes.patch()) == {name: after[name] for name in kept}
    assert changes.left_out == [
        ".gitattributes (settings of git are not part of an answer)",
        "long.log (larger than 200,000 bytes)",
        "new.txt (a new binary file)",
        "plot.png (a new binary file)",
    ]
    for name, file in (("table.bin", File(b"\0\2")), ("fast.so", File(b"\x7fELF\0")), ("old.txt", File(latin[::-1]))):
        patch = collected(before, {**before, name: file}).patch()
        with pytest.raises(MalformedAnswerError, match=f"the patch changes the binary file '{name}'"):
            apply_patch(before, patch)


def test_what_the_masked_repository_ignores_is_left_out_and_what_the_agent_ignores_is_not() -> None:
    before = {".gitignore": File(b"outputs/\n*.log\n"), "kept.log": File(b"1\n")}
    after = {
        ".gitignore": File(b"*\n!outputs/\n"),
        "kept.log": File(b"2\n"),
        "outputs/a.json": File(b"{}\n"),
        "deep/b.log": File(b"x\n"),
        "new.py": File(b"x = 1\n"),
    }
    changes = collected(before, after)
    made = apply_patch(before, changes.patch())
    assert made == {name: after[name] for name in (".gitignore", "kept.log", "new.py")}
    assert changes.left_out == ["deep/b.log (named by .gitignore)", "outputs/a.json (named by .gitignore)"]


def test_lines_that_git_cannot_match_in_time_are_replaced_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = {"x": File(b"1\n2\n")}, {"x": File(b"1\n3")}
    monkeypatch.setattr(neutral_git, "_LIMITED", "ulimit -t 1; while :; do :; done")
    patch = collected(before, after).patch()
    monkeypatch.undo()
    assert patch.endswith("@@ -1,2 +1,2 @@\n-1\n-2\n+1\n+3\n\\ No newline at end of file\n")
    assert apply_patch(before, patch) == after


def test_settings_of_the_user_and_of_the_repository_change_no_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    changes = collected(before, after)
    patch = changes.patch()
    assert not changes.left_out, "unchanged files are not reported"
    assert patch.startswith("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n")
    assert apply_patch(before, patch) == after
