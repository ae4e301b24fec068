"""Correlates MoverScore with the bundled ratings, beside plain word overlap and MoverScore without idf weights."""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from corpus import make_corpus
from encoder import EncoderConfig, ToyEncoder
from idf import idf_of_unseen, idf_table
from movescore import word_mover_score
from preprocess import collate
from scipy.stats import pearsonr, spearmanr
from tokenizer import SPECIAL_TOKENS, WordPieceTokenizer, split_words

PAIRS = Path(__file__).resolve().parent / "data" / "pairs.tsv"


class MoverScorer:
    """Scores texts with the toy tokenizer, encoder and token weights, all learnt from a corpus.

    Args:
        corpus: texts; the generated sentences by default.
    """

    def __init__(self, corpus: list[str] | None = None) -> None:
        corpus = make_corpus() if corpus is None else corpus
        self.tokenizer = WordPieceTokenizer(corpus)
        self.texts = [self.tokenizer.tokenize(text) for text in corpus]
        self.encoder = ToyEncoder(self.texts, self.tokenizer.pieces, EncoderConfig())

    def score(
        self, candidates: list[str], references: list[str], idf: bool = True, batch_size: int = 16
    ) -> list[float]:
        """Similarity of each candidate to its reference.

        Args:
            candidates: N texts.
            references: N texts.
            idf: weigh tokens by their rarity in the corpus, or all but the special ones equally.
            batch_size: pairs scored at a time.
        """
        if idf:
            weights = idf_table(self.texts), idf_of_unseen(self.texts)
        else:
            weights = dict.fromkeys(SPECIAL_TOKENS, 0.0), 1.0
        scores: list[float] = []
        for start in range(0, len(references), batch_size):
            batch = slice(start, start + batch_size)
            ref, hyp = (
                collate(texts[batch], self.tokenizer.tokenize, self.encoder, *weights)
                for texts in (references, candidates)
            )
            scores += word_mover_score(ref.embedding, ref.idf, ref.tokens, hyp.embedding, hyp.idf, hyp.tokens)
        return scores


def load_pairs(path: Path = PAIRS) -> pd.DataFrame:
    """One row a pair: `candidate`, `reference`, and `score`, a rating from 0 (unrelated) to 5 (same meaning)."""
    return pd.read_csv(path, sep="\t")


def word_overlap(candidate: str, reference: str) -> float:
    """Share of words that two texts have in common, from 0 to 1."""
    words, others = Counter(split_words(candidate)), Counter(split_words(reference))
    return 2 * (words & others).total() / (words.total() + others.total())


def main() -> None:
    """Print the correlation of each metric with the ratings, then some pairs with their scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5, help="pairs of the first reference to show")
    options = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are too small to share between threads
    pairs = load_pairs()
    candidates, references = pairs["candidate"].tolist(), pairs["reference"].tolist()
    scorer = MoverScorer()
    metrics = {
        "word overlap": [word_overlap(*texts) for texts in zip(candidates, references, strict=True)],
        "MoverScore, no idf": scorer.score(candidates, references, idf=False),
        "MoverScore": scorer.score(candidates, references),
    }

    print(f"{len(pairs)} pairs\n\n{'metric':<20} {'lowest':>7} {'mean':>6} {'Pearson':>8} {'Spearman':>9}")
    for name, scores in metrics.items():
        pearson, spearman = pearsonr(scores, pairs["score"])[0], spearmanr(scores, pairs["score"])[0]
        print(f"{name:<20} {min(scores):>7.3f} {np.mean(scores):>6.3f} {pearson:>8.3f} {spearman:>9.3f}")

    print(f"\n{'rating':>6} {'score':>7}  candidate of: {references[0]}")
    for place in range(options.examples):
        print(f"{pairs['score'][place]:>6.1f} {metrics['MoverScore'][place]:>7.3f}  {candidates[place]}")


if __name__ == "__main__":
    main()
