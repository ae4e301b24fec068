"""Run the chain on the bundled reviews and write the answers as JSON."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from chain import run_chain, run_direct
from conll_tree import draw_tree, spacy_result_to_conll
from metrics import accuracy, macro_f1
from toy_model import ToyReader

ROOT = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data" / "reviews.json")
    parser.add_argument("--out", type=Path, help="write sentences, answers and labels to this file")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="review whose parse is shown")
    arguments = parser.parse_args()

    reviews = json.loads(arguments.data.read_text(encoding="utf-8"))
    shown = reviews[arguments.show]["sentence"]
    print(spacy_result_to_conll(shown))
    print(draw_tree(shown))

    model = ToyReader()
    results = []
    for review in reviews:
        for aspect, label in review["aspects"].items():
            answers = asdict(run_chain(model, review["sentence"], aspect))
            direct = run_direct(model, review["sentence"], aspect)
            results.append(
                {"sentence": review["sentence"], "aspect": aspect, "label": label, **answers, "direct": direct}
            )

    labels = [result["label"] for result in results]
    print(f"\n{len(reviews)} sentences, {len(results)} aspects\n{'':<20}{'accuracy':>10}{'macro F1':>10}")
    for name, key in (("without parse", "direct"), ("syntax chain", "sentiment")):
        answers = [result[key] for result in results]
        print(f"{name:<20}{accuracy(labels, answers):>10.3f}{macro_f1(labels, answers):>10.3f}")
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
