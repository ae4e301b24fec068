"""The documentation names every key, status and public name that users see, and the examples on the page of
predictions run; `make docs` checks the links."""

import functools
import html
import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import lmrbench as lmr
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import PredictionRow, ResultRow
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.predictions.reading import read_predictions
from lmrbench_evaluate.verdict.verdict import Status

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ROOT = Path(__file__).resolve().parents[2]
NAMED = {
    "docs/predictions.md": PredictionRow.__annotations__,
    "cards/dataset_card.md": PredictionRow.__annotations__,
    "docs/results.md": ResultRow.__annotations__,
    "README.md": [str(status) for status in Status],
}


def test_a_page_names_every_key_and_status() -> None:
    for page, names in NAMED.items():
        rows = [line.split("|")[1] for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if "|" in line]
        assert set(names) <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}, page


def test_the_api_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"<!-- api [\w.]+\.(\w+)", page))
    assert set(lmr.__all__) - {"__version__"} <= shown
    assert page == hooks().with_current_api(page), "run `python docs/hooks.py`"


def test_the_site_documents_a_group_that_runs_by_itself() -> None:
    page = hooks().on_page_markdown("All commands. <!-- commands -->")
    section = page.partition("## lmrbench generate\n")[2].partition("\n## ")[0]
    assert "lmrbench generate --model" in section
    assert "`--temperature`" in section
    assert "## lmrbench agent\n" not in page
    assert "Default: ``" not in page, "an option without a default states none"


def hooks() -> Any:
    """Load the module that generates parts of the site from other files."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "hooks.py")))


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_a_page_reads_well_as_a_file(page: str) -> None:
    """A line with a link stands for text that the site includes; the file has nothing for the site alone."""
    module = hooks()
    path = ROOT / "docs" / page
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert not re.search(r"^:::|^!!!|\{ ?\w+=|^``` ?\w+ \w+=", path.read_text(encoding="utf-8"), re.M)
    for line in text.splitlines():
        if "<!--" in line:
            found = module.DIRECTIVE.match(line)
            assert found is not None, line
            assert len(found[1].strip(" -")) > 5, f"a reader of the file sees a gap: {line}"
    assert not module.DIRECTIVE.search(
        re.sub(r"^(`{3,}|~~~).*?^\1", "", module.on_page_markdown(text), flags=re.M | re.S)
    )


def test_pages_name_all_configurations() -> None:
    def read(name: str) -> str:
        return (ROOT / name).read_text(encoding="utf-8")

    for config in CONFIGS:
        assert re.search(rf"^\| .*`{config}`.* \| \d+ \|", read("README.md"), re.M)
        assert f"*{config}*" in read("cards/space/app.py").partition('ABOUT = "')[0]
        assert (
            f"`{config}`" in read("lmrbench/inspect_task.py").partition("config: configuration")[2].partition("\n")[0]
        )


def test_texts_state_the_numbers_of_rows_and_of_readers() -> None:
    """As `docs/counts.py` writes them."""
    tasks = load_tasks()
    texts = runpy.run_path(str(ROOT / "docs" / "counts.py"))["texts"](tasks)
    for path, text in texts.items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "run `python docs/counts.py`"
    assert f"| {sum(len(task.counterfactuals) for task in tasks)} | the paper states" in texts[Path("README.md")]
    assert f"{sum(len(task.implementations) for task in tasks)} instances from" in texts[Path("README.md")]
    line = next(
        line for line in texts[Path("docs/reader-attempts.md")].splitlines() if "`adalora-underspecified-2`" in line
    )
    assert "| no | 2/6 | penalty: none of the options, " in line


def test_a_picture_of_the_front_page_shows_the_answer_of_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    answer = readme.partition('answer = """\n')[2].partition('"""')[0]
    for name in ("overview.svg", "overview-phone.svg"):
        shown = html.unescape((ROOT / "docs" / "images" / name).read_text(encoding="utf-8"))
        words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", shown))
        assert "".join(answer.split()) in "".join(words.split()), "run `python docs/picture.py`"
        assert len(shown) < 8000


def test_the_gallery_has_every_instance_and_fits_a_phone(browser: "Chrome", tmp_path: Path) -> None:
    gallery = hooks().on_page_markdown("The tasks. <!-- gallery -->")
    assert gallery.count("<div><a") == sum(len(task.implementations) for task in load_tasks())
    style = (ROOT / "docs" / "stylesheets" / "extra.css").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    picture = f'<img class="overview" src="{ROOT.as_uri()}/docs/images/overview.svg">'
    page.write_text(f'<meta charset="utf-8"><style>{style}</style><div class="md-typeset">{picture}{gallery}</div>')
    size = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(page.as_uri())
        assert browser.execute_script("return innerWidth") == 390
        fits = "const page = document.documentElement; return page.scrollWidth <= page.clientWidth"
        assert browser.execute_script(fits)
        assert browser.execute_script("return document.images[0].naturalWidth") > 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_citation_names_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.M) == re.findall(r'^version = "(\S+)"$', project, re.M)


# --- the page of predictions ------------------------------------------------------------------------------------------

INSTANCE = "empathy-gap-delta"


def examples(language: str) -> list[str]:
    """Return the page's code blocks in a language, in order."""
    page = (ROOT / "docs" / "predictions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^(```|~~~)(\w+)\n(.*?)^\1$", page, re.M | re.S)
    return [block for _, found, block in blocks if found == language]


def rows_of(block: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON block: one over several lines, or one per line."""
    try:
        return [json.loads(block)]
    except ValueError:
        return [json.loads(line) for line in block.splitlines()]


@pytest.mark.slow
def test_examples_of_the_page_of_predictions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [answer] = examples("text")
    row = {"instance_id": INSTANCE, "model_name_or_path": "m", "track": "paper", "function": answer}
    lines = [json.dumps({**row, "sample": sample}) for sample in (0, 1)]
    (tmp_path / "predictions.jsonl").write_text("\n".join(lines))
    [theirs] = [block for block in examples("json") if "completion" in block]
    (tmp_path / "theirs.jsonl").write_text(theirs)
    monkeypatch.chdir(tmp_path)
    ours = [block for block in examples("json") if "completion" not in block]
    names = {row["instance_id"] for block in ours for row in rows_of(block)}
    configs = {name: "method" if name.endswith("-method") else "function" for name in names}
    known = {name: load_rows(config=config, instances=[name])[0] for name, config in configs.items()}
    for block in ours:
        rows = rows_of(block)
        found = [item for item in read_predictions(rows, known) if isinstance(item, Prediction) and not item.problem]
        assert len(found) == len(rows)
    keys = {key for block in ours for row in rows_of(block) for key in row}
    assert keys <= set(PredictionRow.__annotations__)
    [program] = examples("python")
    monkeypatch.setattr(lmr, "evaluate", functools.partial(lmr.evaluate, sandbox="local"))
    names: dict[str, Any] = {}
    exec(program, names)
    found = [(row["model_name_or_path"], row["sample"]) for row in names["run"].results()]
    assert sorted(found) == [("m", 0), ("m", 1)]  # whichever finished first


@pytest.mark.nightly
def test_tables_on_trust_are_current() -> None:
    """As `docs/trust.py` writes them."""
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    page = runpy.run_path(str(ROOT / "docs" / "trust.py"))["page"]
    assert page(load_tasks(), text) == text, "run `python docs/trust.py`"


def test_page_states_how_many_modules_name_a_thing() -> None:
    """The fewer modules name a configuration, the cheaper is another one."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| kind | counted | named in |\n|---|---|---|\n")[2].partition("\n\n")[0]
    folders = ("lmrbench", "lmrbench_data", "evaluate", "cards")
    modules = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if "template" not in path.parts]
    sources = [path.read_text(encoding="utf-8") for path in modules]
    lines = table.splitlines()
    assert len(lines) == 5
    for line in lines:
        names = re.findall("`(.+?)`", line)
        pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        count = sum(bool(re.search(pattern, source)) for source in sources)
        assert f"| {count} modules |" in line
