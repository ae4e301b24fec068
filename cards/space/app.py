"""The LMR-Bench leaderboard: a Gradio app that reads the results dataset and nothing else.

LMRBENCH_RESULTS names the dataset; HF_ENDPOINT, HF_TOKEN and GRADIO_SERVER_PORT mean what they mean everywhere.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

# Read when the libraries are imported: neither reports its use to anybody, and the log stays readable.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "0"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import gradio as gr
from board import Filters, make_board
from page import render, shown
from results import Results

HERE = Path(__file__).parent
RESULTS = Results(os.environ.get("LMRBENCH_RESULTS") or "lmr-bench/results")
#: The choice that filters nothing; others start with `=`, so that no name in the dataset can be taken for it.
ALL = "all"

INTRO = """# LMR-Bench

Can language models reproduce language-modelling research? A model gets a paper, its repository with one function
masked, and an instruction; unit tests in a container score the function that it writes."""

ABOUT = """### How to read this

- **Paper track**: the model was shown instruction, paper and repository. Ranked by *reproduced*. **Contract track**: it
  was shown the contract as well, which has every convention and corner case. Ranked by *robust*.
- **Reproduced**: every core case passes, on every seed; core cases follow from paper and repository alone. **Robust**:
  every case passes. Both are shares of *all* instances of the benchmark; an unanswered one has not passed. With several
  samples an instance, they are means over samples.
- **95 % interval** is Wilson's, with n the instances. Where intervals overlap widely, ranks mean little.
- **Verified**: a maintainer has evaluated the predictions again in Docker, on the published seeds and on secret ones,
  and what is shown are the verdicts of that run. An answer that passes on the published seeds only is *memorised* and
  does not count at that level. Nothing else is ranked.
- **Rank**: equal scores share one. A model is ranked by the best of its runs, the others are folded behind it; equal
  predictions are ranked once, for whoever was verified first.
- **Cost**: what one answer to each instance cost, as the submitter states it.
- **Judge**: CC completely correct, LC logic correct with subtle errors, LI incorrect logic; shares of what was judged.
  They are the submitter's *claims* and never change a rank.
- **Looks like**: the name can be taken for that of another submitter's model."""


def show(
    version: str | None, setting: str | None, category: str | None, *, reload: bool = False
) -> tuple[Any, Any, Any, str]:
    """The three menus and the page for what they are set to."""
    snapshot = RESULTS.get(reload=reload)
    board = make_board(snapshot, Filters(_chosen(version), _chosen(setting), _chosen(category)))
    versions = gr.Dropdown(_choices(board.versions), value=_value(board.filters.version))
    settings = gr.Dropdown([("All", ALL), *_choices(board.settings)], value=_value(board.filters.setting))
    categories = gr.Dropdown([("All", ALL), *_choices(board.categories)], value=_value(board.filters.category))
    return versions, settings, categories, render(snapshot, board)


def _choices(names: list[str]) -> list[tuple[str, str]]:
    return [(shown(name, 60) or "(none)", f"={name}") for name in names] or [("–", ALL)]


def _value(name: str | None) -> str:
    return ALL if name is None else f"={name}"


def _chosen(value: str | None) -> str | None:
    return value[1:] if value and value.startswith("=") else None


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="LMR-Bench leaderboard", analytics_enabled=False, fill_width=True) as page:
        gr.Markdown(INTRO)
        with gr.Row():
            # What a menu offers is as new as the page: a value that is gone since then filters nothing.
            menu = partial(gr.Dropdown, [("All", ALL)], value=ALL, allow_custom_value=False, min_width=140)
            version = menu(label="Benchmark version", elem_id="version")
            setting = menu(label="Setting", elem_id="setting")
            category = menu(label="Category", elem_id="category")
            reload = gr.Button("Reload", elem_id="reload", size="sm", min_width=100, scale=0)
        board = gr.HTML(js_on_load=(HERE / "board.js").read_text(encoding="utf-8"), apply_default_css=False)
        gr.Markdown(ABOUT)
        inputs = [version, setting, category]
        outputs = [version, setting, category, board]
        quietly: dict[str, Any] = {"api_visibility": "private", "show_progress": "minimal"}
        page.load(show, inputs, outputs, **quietly)
        for control in inputs:
            control.input(show, inputs, outputs, **quietly)
        reload.click(partial(show, reload=True), inputs, outputs, **quietly)
    return page


if __name__ == "__main__":
    build().queue(default_concurrency_limit=4).launch(
        theme=gr.themes.Default(
            primary_hue="slate",
            neutral_hue="slate",
            font=("system-ui", "sans-serif"),
            font_mono=("ui-monospace", "monospace"),
        ),
        # Not as `css`: Gradio rewrites that, selector by selector, and cuts those with a comma inside.
        head=f"<style>{(HERE / 'board.css').read_text(encoding='utf-8')}</style>",
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        show_error=False,
    )
