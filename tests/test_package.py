"""The package as users get it: wheel, sdist, editable install and checkout hold the same dataset; imports are cheap."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.errors import InputError
from lmrbench_data.extras import EXTRAS, need
from lmrbench_data.loader import dataset_sha256, load_rows, recordings_sha256

ROOT = Path(__file__).resolve().parents[1]
IDENTITY = """
    import json, lmrbench_data.loader as loader
    rows = loader.load_rows("embedded")
    print(json.dumps([loader.__file__, loader.dataset_sha256(rows), loader.recordings_sha256(rows)]))
"""


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=280, **options)  # type: ignore[call-overload]
    return done  # type: ignore[no-any-return]


def python(code: str, **options: object) -> str:
    done = run(sys.executable, "-c", textwrap.dedent(code), **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git has, as a clone has them."""
    folder = tmp_path_factory.mktemp("clone") / "lmr-bench"
    assert run("git", "clone", "-q", "--no-hardlinks", ROOT, folder).returncode == 0
    changed = run("git", "ls-files", "-m", "-o", "--exclude-standard", "-z", cwd=ROOT).stdout.split("\0")
    for name in filter(None, changed):  # what is not committed yet belongs to what is tested
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="module")
def built(checkout: Path) -> dict[str, Path]:
    """An sdist, and the wheel made from it."""
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", checkout / "dist", checkout)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {path.name.rpartition(".")[2]: path for path in (checkout / "dist").iterdir()}


@pytest.mark.slow
def test_wheel_sdist_and_checkout_hold_the_same_dataset(checkout: Path, built: dict[str, Path], tmp_path: Path) -> None:
    """Each is imported from a folder of its own; nothing of this checkout is in reach."""
    rows = load_rows("embedded")
    identity = [dataset_sha256(rows), recordings_sha256(rows)]
    shutil.unpack_archive(built["whl"], tmp_path / "wheel", "zip")
    shutil.unpack_archive(built["gz"], tmp_path / "sdist")
    [sdist] = (tmp_path / "sdist").iterdir()
    for place in (tmp_path / "wheel", sdist, checkout):
        environment = {**os.environ, "PYTHONPATH": str(place)}
        file, *found = json.loads(python(IDENTITY, cwd=tmp_path, env=environment))
        assert Path(file).is_relative_to(place)
        assert found == identity, place


@pytest.mark.slow
def test_the_wheel_puts_one_package_into_site_packages(checkout: Path, built: dict[str, Path], tmp_path: Path) -> None:
    """All of it, and nothing generic: `evaluate` is another library's name there."""
    shutil.unpack_archive(built["whl"], tmp_path, "zip")
    assert {path.name.partition(".dist-info")[0] for path in tmp_path.iterdir()} == {
        "lmrbench_data",
        f"lmrbench_data-{lmr.__version__}",
    }
    assert (tmp_path / "lmrbench_data" / "loader.py").read_bytes() == (ROOT / "loader.py").read_bytes()
    listed = run("git", "ls-files", "lmrbench_data", "evaluate", "benchmark", "cards", cwd=checkout).stdout.splitlines()
    inside = [name if name.startswith("lmrbench_data/") else f"lmrbench_data/{name}" for name in listed]
    missing = [name for name in inside if not (tmp_path / name).exists()]
    assert missing == [], "pyproject.toml names the packages and their data"


def test_a_checkout_without_symbolic_links_is_one_clear_line(checkout: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(
        checkout, clone, ignore=shutil.ignore_patterns(".git", "dist", "build", "*.egg-info"), symlinks=True
    )
    for name, target in (("loader.py", "../loader.py"), ("evaluate", "../evaluate")):
        (clone / "lmrbench_data" / name).unlink()
        (clone / "lmrbench_data" / name).write_text(target)
    done = run(sys.executable, "-m", "build", "--no-isolation", "--wheel", clone)
    assert done.returncode != 0
    assert (
        "lmrbench_data/loader.py is no symbolic link: run `git config core.symlinks true`" in done.stdout + done.stderr
    )


def test_importing_is_cheap_and_every_name_resolves() -> None:
    heavy = python("""
        import sys, lmrbench_data
        print(*sorted({"datasets", "docker", "torch", "openai", "numpy", "pandas", "yaml"} & sys.modules.keys()))
    """)
    assert heavy == ""
    for name in lmr.__all__:
        assert getattr(lmr, name) is not None
    assert set(lmr.__all__) <= set(dir(lmr))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        lmr.evalute  # noqa: B018


def test_the_folder_at_the_root_does_not_hide_hugging_faces_library() -> None:
    done = run(sys.executable, "-c", "import evaluate", cwd=ROOT)
    assert done.returncode == 1
    assert (
        done.stderr.strip().splitlines()[-1].startswith("ImportError: this folder is LMR-Bench's: import lmrbench_data")
    )


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_one_line_that_names_it(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if extra != "agents":  # the tests have all others
        need(extra, "this")
    monkeypatch.setitem(EXTRAS, extra, ("not_there_at_all",))
    with pytest.raises(
        InputError, match=rf"^this needs the extra `{extra}` .*: pip install 'lmrbench-data\[{extra}\]'$"
    ):
        need(extra, "this")
