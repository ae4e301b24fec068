"""Whole study with offline models: ask, process, analyse; prints the empathy gap of each model and category."""

import argparse
import shutil

from analysis.analysis_after_processing import analyse, draw_heatmap, get_refusal_rates
from analysis.blocks import group_matrix
from analysis.process_exp_results import process_answers
from const import GROUP_MAPPINGS, PROMPTS, RAW_DIR, RESULTS_DIR, UNSPECIFIED
from predict_emotion import MODELS, load_events, make_messages, write_raw_answers


def show_query(prompt_variation: str) -> None:
    """Print the messages that a real model would be sent for one event and pair."""
    event = load_events().iloc[0]
    perceiver, experiencer = GROUP_MAPPINGS["religion"][:2]
    messages = make_messages(PROMPTS[prompt_variation], perceiver, experiencer, event["emotion"], event["event"])
    print("One of the queries:")
    for role, text in messages.items():
        print(f"  {role}: " + text.replace("\n", "\n    "))


def main() -> None:
    """Run every model on every category and print a table, then the matrix in which several names share a group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variation", choices=PROMPTS, default="origin", help="wording of the prompt")
    parser.add_argument("--permutations", type=int, default=500, help="the paper takes 10,000")
    parser.add_argument("--seed", type=int, default=1, help="seed of the offline models")
    options = parser.parse_args()

    for folder in (RAW_DIR, RESULTS_DIR):
        shutil.rmtree(folder, ignore_errors=True)
    show_query(options.variation)

    columns = f"{'model':<9} {'category':<12} {'files':>5} {'refused':>8} {UNSPECIFIED:>9} {'left out':>9} {'gap':>7}"
    print(f"\n{columns}   interval of chance")
    gaps = {}
    for model_id in MODELS:
        for category in GROUP_MAPPINGS:
            raw_file = write_raw_answers(category, options.variation, model_id, options.seed)
            n_files = process_answers(raw_file, category, options.variation, model_id)
            refusals = get_refusal_rates(category, options.variation, model_id)
            gap = gaps[model_id, category] = analyse(category, options.variation, model_id, options.permutations)
            low, high = gap.interval
            print(
                f"{model_id:<9} {category:<12} {n_files:>5} {refusals.to_numpy().mean():>8.2%} "
                f"{refusals.loc[UNSPECIFIED].mean():>9.2%} {gap.n_excluded:>9} {gap.delta:>+7.3f}   "
                f"[{low:+.3f}, {high:+.3f}]  {'beyond chance' if gap.beyond_chance else 'chance'}"
            )

    for model_id in MODELS:
        matrix = gaps[model_id, "ethnicity"].matrix
        print(f"\nStandardised intensities of {model_id}, ethnicity (rows perceive, columns experience):")
        print(draw_heatmap(matrix))
        print(group_matrix(matrix.to_numpy(), "ethnicity").round(2).to_string())


if __name__ == "__main__":
    main()
