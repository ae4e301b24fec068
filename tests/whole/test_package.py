"""The package as users get it: wheel and sdist hold the dataset of the checkout; imports are cheap."""

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lmrbench as lmr
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.extras import EXTRAS, require_extra
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import dataset_sha256, recordings_sha256
from support.command_line import python

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = """
    import json, lmrbench_data.loader as loader, lmrbench_evaluate
    from lmrbench_data.dataset.load import load_rows
    rows, files = load_rows(), [loader.__file__, lmrbench_evaluate.__file__]
    print(json.dumps([*files, loader.dataset_sha256(rows), loader.recordings_sha256(rows)]))
"""
#: What a wheel is made of.
PACKED = ("lmrbench", "lmrbench_data", "evaluate", "benchmark", "cards")


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=280, **options)  # type: ignore[call-overload]
    return done  # type: ignore[no-any-return]


def bare_environment(*path: Path) -> dict[str, str]:
    """The environment variables, with only these folders on Python's path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An sdist, and the wheel made from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {path.name.rpartition(".")[2]: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def wheel(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as into site-packages."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.unpack_archive(built["whl"], folder, "zip")
    return folder


@pytest.mark.nightly
def test_wheel_and_sdist_hold_the_dataset_of_the_checkout(built: dict[str, Path], wheel: Path, tmp_path: Path) -> None:
    """Each is imported from a folder of its own; nothing of this checkout is within reach."""
    rows = load_rows("embedded")
    identity = [dataset_sha256(rows), recordings_sha256(rows)]
    shutil.unpack_archive(built["gz"], tmp_path)
    [sdist] = (path for path in tmp_path.iterdir() if path.is_dir())
    found = {
        "wheel": (wheel, python(IDENTITY, cwd=tmp_path, env=bare_environment(wheel))),
        "sdist": (sdist, python(IDENTITY, cwd=tmp_path, env=bare_environment(sdist, sdist / "evaluate"))),
    }
    for kind, (place, printed) in found.items():
        *files, dataset, recordings = json.loads(printed)
        assert all(Path(file).is_relative_to(place) for file in files), kind
        assert [dataset, recordings] == identity, kind


@pytest.mark.nightly
def test_the_wheel_puts_three_packages_into_site_packages(built: dict[str, Path], wheel: Path) -> None:
    """All of them, tasks and cards inside the second, and nothing generic: `evaluate` is another library's name."""
    information = f"lmrbench-{lmr.__version__}.dist-info"
    assert {path.name for path in wheel.iterdir()} == {"lmrbench", "lmrbench_data", "lmrbench_evaluate", information}
    listed = run("git", "ls-files", *PACKED, cwd=ROOT).stdout.splitlines()
    added = run("git", "ls-files", "-o", "--exclude-standard", *PACKED, cwd=ROOT).stdout.splitlines()
    expected = set()
    for name in (*listed, *added):
        if (ROOT / name).exists() and not (name.startswith("benchmark/") and name.split("/")[2:3] == ["variants"]):
            inside = name.removeprefix("evaluate/")
            expected.add(inside if inside.startswith("lmrbench") else f"lmrbench_data/{inside}")
    with zipfile.ZipFile(built["whl"]) as archive:
        packed = set(archive.namelist())
    assert {name for name in packed if not name.startswith(information)} == expected


@pytest.mark.nightly
@pytest.mark.parametrize(
    "command",
    ["dataset check dpo-preference-loss --sandbox local", "calibrate variants --model m", "tasks lint 01-dpo"],
)
def test_wheel_without_variants_is_one_line(command: str, wheel: Path, tmp_path: Path) -> None:
    code = "from lmrbench.cli import main; main()"
    done = run(sys.executable, "-c", code, *command.split(), cwd=tmp_path, env=bare_environment(wheel))
    assert done.returncode == 1, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("warning: the `local`")] == [
        "error: variants exist only in a checkout: git clone https://github.com/lmr-bench/lmr-bench, and add "
        "--benchmark benchmark there"
    ]


def test_git_has_no_symbolic_link() -> None:
    assert [line for line in run("git", "ls-files", "-s", cwd=ROOT).stdout.splitlines() if line[:6] == "120000"] == []


@pytest.mark.nightly
def test_root_folder_does_not_hide_hugging_faces_library(tmp_path: Path) -> None:
    """From the root of a checkout, and in an editable install anywhere: a folder gives way to a package."""
    theirs = tmp_path / "site" / "evaluate" / "__init__.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    code = "import evaluate, lmrbench_evaluate; print(evaluate.__file__)"
    root = bare_environment(ROOT / "evaluate", tmp_path / "site")
    assert python(code, cwd=ROOT, env=root) == str(theirs)
    site = bare_environment(tmp_path / "site")
    assert python(code, cwd=ROOT, env=site) == str(theirs)


def test_public_errors_form_one_tree() -> None:
    """Errors that cross a room reach a user as one line, because `LMRBenchError` is their root."""
    bases: dict[str, set[str]] = {}
    for package in ("lmrbench", "lmrbench_data", "evaluate/lmrbench_evaluate"):
        for path in (ROOT / package).rglob("*.py"):
            if "runner" in path.parts:  # runs in the sandbox, without our packages
                continue
            classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
            bases |= {found.name: {ast.unparse(base) for base in found.bases} for found in classes}
    tree = {"LMRBenchError"}
    for _ in bases:
        tree |= {name for name, parents in bases.items() if parents & tree}
    errors = {name for name in bases if name.endswith("Error") and not name.startswith("_")}
    assert len(errors) > 10
    assert errors <= tree


def test_import_is_cheap_and_every_name_resolves() -> None:
    heavy = python("""
        import sys, lmrbench_data
        print(*sorted({"datasets", "docker", "httpx", "numpy", "pandas", "rich", "typer", "yaml"} & sys.modules.keys()))
    """)
    assert heavy == ""
    for name in lmr.__all__:
        assert getattr(lmr, name) is not None
    assert set(lmr.__all__) <= set(dir(lmr))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        lmr.evalute  # noqa: B018


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_one_line_that_names_it(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra(extra, "this")
    monkeypatch.setitem(EXTRAS, extra, ("not_there_at_all",))
    with pytest.raises(InputError, match=rf"^this needs the extra `{extra}` .*: pip install 'lmrbench\[{extra}\]'$"):
        require_extra(extra, "this")
