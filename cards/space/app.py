"""The LMR-Bench leaderboard: a Gradio app that shows the results dataset, or local runs.

LMRBENCH_RESULTS names the dataset and LMRBENCH_TITLE the benchmark; HF_ENDPOINT, HF_TOKEN and
GRADIO_SERVER_PORT have their usual meaning.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

# Read when the libraries are imported: no usage reports, and a readable log.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "0"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import gradio as gr
from board import Filter, make_board
from page import render, shown
from results_dataset import LocalRuns, ResultsDataset

HERE = Path(__file__).parent
#: Title of the page; another benchmark sets its own.
TITLE = os.environ.get("LMRBENCH_TITLE") or "LMR-Bench"
#: Records of local runs, as `lmrbench space --from` writes them.
LOCAL = HERE / "local"
RESULTS: ResultsDataset | LocalRuns
if LOCAL.is_dir():
    RESULTS = LocalRuns(LOCAL)
else:
    RESULTS = ResultsDataset(os.environ.get("LMRBENCH_RESULTS") or "lmr-bench/results")
#: The choice that filters nothing; all others start with `=`, so no name can collide with it.
ALL = "all"
#: Filter → its label on the page.
LABELS = {
    "config": "Configuration",
    "setting": "Setting",
    "version": "Benchmark version",
    "difficulty": "Difficulty",
    "category": "Category",
}
#: Longest address that is read.
MAX_ADDRESS = 4000
#: Links of the header, as NAME=ADDRESS separated by spaces; another benchmark sets its own.
LINKS = os.environ.get("LMRBENCH_LINKS") or (
    "Paper=https://arxiv.org/abs/2506.17335 Code=https://github.com/lmr-bench/lmr-bench"
    " Dataset=https://huggingface.co/datasets/lmr-bench/lmr-bench"
    " Docs=https://github.com/lmr-bench/lmr-bench/blob/main/docs/index.md"
    " Submit=https://github.com/lmr-bench/lmr-bench#on-the-hub"
)


def _header(links: str) -> str:
    items = []
    for link in links.split():
        name, _, address = link.partition("=")
        if address.startswith(("https://", "http://")):
            items.append(f"[{name}]({address})")
    return " · ".join(items)


INTRO = f"""# {TITLE}

{_header(LINKS)}

Can language models reproduce language-modelling research? A model gets a paper, a repository
with one function masked (configuration *function*) or with all functions of the paper's method
masked (*method*), and an instruction. The paper may also state other decisions than the
published ones (*counterfactual*) or leave some open (*underspecified*). Unit tests in a
container score what the model writes."""

ABOUT = """## How to read this

- **Paper track**: the model saw the instruction, the paper and the repository. Ranked by
  *reproduced*. **Contract track**: it also saw the contract, which lists every convention and
  corner case. Ranked by *robust*.
- **Reproduced**: every core case passes on every seed; core cases follow from paper and repository
  alone. **Robust**: every case passes. Both are shares of *all* instances of the benchmark; an
  unanswered instance counts as not passed. With several samples per instance, they are means over
  samples.
- **95% interval**: Wilson's, with the number of instances as n.
- **Rank**: equal scores share a rank. The small range beside it, such as 1–6, allows for chance:
  only models that the exact paired test on the same instances calls better or worse, adjusted for
  all pairs (Holm, 5%), narrow it.
- **Setting and configuration** are menus: each has its own ranking. A model is ranked by its
  latest verified run, not by its best one; the row says how many runs there are. Equal predictions
  are ranked once, under the name that was verified first.
- **Difficulty** of underspecified papers: *easy* ones leave some decisions open and report tables
  that show them apart, *hard* ones leave all of them open and report one table; *silent* ones
  state them all, but the table comes from an implementation that departs from some. The menu ranks
  the models on the rows of one difficulty.
- **Baselines** have no rank: *golden* is the reference's own function, *masked* the repository as
  the model gets it. A dataset is published only if golden passes and masked fails every task.
- **Verified**: a maintainer has evaluated the predictions again in Docker, on the published seeds
  and on secret ones, and the page shows the verdicts of that run. An answer that passes on the
  published seeds only is *memorised* and does not count at that level. Unverified runs are not
  ranked.
- **Choices** that a paper alters or leaves open: the share made as the paper has them, beside what
  guessing (*chance*) and *reciting* the published method get. *Corrected* is 0 for the larger of
  the two and 1 for all. *Published* counts the choices whose true option is the published one,
  *other* the rest.
- **Cost**: the cost of one answer to each instance, as the submitter states it.
- **Judge**: CC completely correct, LC logic correct with subtle errors, LI incorrect logic, as
  shares of the judged answers. They are the submitter's *claims* and never change a rank."""


class Menu(gr.Dropdown):
    """A menu that accepts any value: its choices may have changed since a request was sent."""

    #: To the browser it is Gradio's own drop-down menu.
    is_template = True

    def preprocess(self, payload: Any) -> Any:
        """Return the value without looking for it among the choices."""
        return payload if isinstance(payload, str) else None


def show(*values: str | None, reload: bool = False) -> tuple[Any, ...]:
    """Return the menus and the board for the values of the menus, in the order of `LABELS`."""
    asked = {}
    for name, value in zip(LABELS, values, strict=True):
        if value and value.startswith("="):
            asked[name] = value[1:]
    return _view(asked, reload)


def start(address: str | None) -> tuple[Any, ...]:
    """Return the menus and the board for an address such as `config=method&setting=agent`."""
    fields = parse_qs((address or "")[:MAX_ADDRESS], keep_blank_values=True)
    return _view({name: fields[name][0] for name in LABELS if name in fields})


def _view(asked: Mapping[str, str], reload: bool = False) -> tuple[Any, ...]:
    snapshot = RESULTS.get(reload=reload)
    board = make_board(snapshot, asked)
    menus = [_menu(name, board.filters[name]) for name in LABELS]
    return *menus, render(snapshot, board)


def _menu(name: str, state: Filter) -> Menu:
    choices = [(shown(choice, 60) or "(none)", f"={choice}") for choice in state.names]
    if state.default is None:
        choices.insert(0, ("All", ALL))
    value = ALL if state.chosen is None else f"={state.chosen}"
    # Only rows of underspecified papers have a difficulty.
    is_visible = name != "difficulty" or bool(state.names)
    return Menu(choices, value=value, visible=is_visible)


def build() -> gr.Blocks:
    """Build the page."""
    with gr.Blocks(title=f"{TITLE} leaderboard", analytics_enabled=False, fill_width=True) as page:
        gr.Markdown(INTRO, elem_id="intro")
        with gr.Row():
            menus = [
                Menu([("All", ALL)], value=ALL, label=label, elem_id=name, min_width=140)
                for name, label in LABELS.items()
            ]
            reload = gr.Button("Reload", elem_id="reload", size="sm", min_width=100, scale=0)
        # Invisible: the page's address goes through it to the server.
        address = gr.Textbox(visible=False)
        scripts = [(HERE / name).read_text(encoding="utf-8") for name in ("charts.js", "board.js")]
        board = gr.HTML(js_on_load="\n".join(scripts), apply_default_css=False)
        gr.Markdown(ABOUT, elem_id="about")
        outputs = [*menus, board]
        quietly: dict[str, Any] = {"api_visibility": "private", "show_progress": "minimal"}
        page.load(start, [address], outputs, js="() => location.hash.slice(1)", **quietly)
        for menu in menus:
            menu.input(show, menus, outputs, **quietly)
        reload.click(partial(show, reload=True), menus, outputs, **quietly)
    return page


if __name__ == "__main__":
    build().queue(default_concurrency_limit=4).launch(
        theme=gr.themes.Default(
            primary_hue="slate",
            neutral_hue="slate",
            font=("system-ui", "sans-serif"),
            font_mono=("ui-monospace", "monospace"),
        ),
        # Not as `css`: Gradio rewrites its selectors and breaks those that contain a comma.
        head=f"<style>{(HERE / 'board.css').read_text(encoding='utf-8')}</style>",
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        show_error=False,
    )
