"""Correlates BERTScore with the bundled ratings, with and without idf weights, beside plain word overlap."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from bert_score.corpus import make_corpus
from bert_score.encoder import EncoderConfig, ToyEncoder
from bert_score.rescale import random_pair_baseline, rescale
from bert_score.score import BERTScorer
from bert_score.tokenizer import WordPieceTokenizer, split_words
from scipy.stats import pearsonr, spearmanr

PAIRS = Path(__file__).resolve().parent / "data" / "pairs.tsv"


def load_pairs(path: Path = PAIRS) -> pd.DataFrame:
    """One row a pair: `candidate`, `reference`, and `score`, a rating from 0 (unrelated) to 5 (same meaning)."""
    return pd.read_csv(path, sep="\t")


def toy_scorer() -> BERTScorer:
    """A scorer whose tokenizer and encoder come from the generated corpus."""
    corpus = make_corpus()
    tokenizer = WordPieceTokenizer(corpus)
    encoder = ToyEncoder([tokenizer.encode(text) for text in corpus], len(tokenizer), EncoderConfig())
    return BERTScorer(tokenizer, encoder)


def word_overlap(cands: Sequence[str], refs: Sequence[str]) -> np.ndarray:
    """Share of words (N,) that candidate and reference have in common, as an F-measure without any vectors."""
    scores = []
    for cand, ref in zip(cands, refs, strict=True):
        cand_words, ref_words = Counter(split_words(cand)), Counter(split_words(ref))
        common = (cand_words & ref_words).total()
        scores.append(2 * common / (cand_words.total() + ref_words.total()))
    return np.array(scores)


def main() -> None:
    """Print the correlation of each metric with the ratings, then some pairs with their scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5, help="pairs of the first reference to show")
    options = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are too small to share between threads
    pairs = load_pairs()
    cands, refs = pairs["candidate"].tolist(), pairs["reference"].tolist()
    scorer = toy_scorer()
    plain = scorer.score(cands, refs)
    weighted = scorer.score(cands, refs, idf=True)
    baseline = random_pair_baseline(scorer, [*dict.fromkeys(refs)], idf=True)
    metrics = {
        "word overlap": word_overlap(cands, refs),
        "BERTScore F1": plain.numpy(),
        "BERTScore F1, idf": weighted.numpy(),
    }

    print(f"{len(pairs)} pairs\n\n{'metric':<20} {'mean':>6} {'Pearson':>8} {'Spearman':>9}")
    for name, scores in metrics.items():
        pearson, spearman = pearsonr(scores, pairs["score"])[0], spearmanr(scores, pairs["score"])[0]
        print(f"{name:<20} {scores.mean():>6.3f} {pearson:>8.3f} {spearman:>9.3f}")

    rescaled = rescale(weighted, baseline)
    print(f"\nScores with idf; rescaled so that random pairs, {baseline:.3f} on average, are at 0\n")
    print(f"{'rating':>6} {'score':>7} {'rescaled':>9}  candidate of: {refs[0]}")
    for place in range(options.examples):
        rating = pairs["score"][place]
        print(f"{rating:>6.1f} {weighted[place]:>7.3f} {rescaled[place]:>9.3f}  {cands[place]}")


if __name__ == "__main__":
    main()
