"""Compares BERTScore with ratings: the bundled pairs, the layers of the encoder, several references, and systems."""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from bert_score.corpus import make_corpus
from bert_score.encoder import EncoderConfig, OneLayer, ToyEncoder
from bert_score.layers import choose_layer
from bert_score.references import score_references
from bert_score.rescale import random_pair_baseline, rescale
from bert_score.score import BERTScorer
from bert_score.systems import draw_hybrids, draw_subsets, hybrid_scores, segment_agreement, select_systems
from bert_score.tokenizer import WordPieceTokenizer, split_words
from bert_score.toy_systems import make_slotted, make_systems, paraphrase
from scipy.stats import pearsonr, spearmanr

PAIRS = Path(__file__).resolve().parent / "data" / "pairs.tsv"
#: Share of wrong words in the outputs of the generated systems.
ERROR_RATES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


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


def compare_systems(scorer: BERTScorer, segments: int) -> None:
    """Choose a layer on one set of generated outputs; on another one, print how well the scores judge systems."""
    sets = [make_slotted(segments, seed=1), make_slotted(segments, seed=2)]
    (validation, _), (outputs, references) = (
        (make_systems(sentences, ERROR_RATES, seed=3 + number), sentences) for number, sentences in enumerate(sets)
    )
    layers = range(scorer.encoder.config.layers + 1)
    scores = []
    for layer in layers:
        shallow = BERTScorer(scorer.tokenizer, OneLayer(scorer.encoder, layer))
        cands, refs = [*sum(validation.candidates, [])], list(map(str, sets[0])) * len(ERROR_RATES)
        scores.append([shallow.score(cands, refs, idf=True)])
    layer = choose_layer(scores, [validation.ratings.flatten()])
    print(f"\nLayer {layer} of {len(layers)} is chosen on {len(ERROR_RATES)} systems with {segments} outputs each")

    chosen = BERTScorer(scorer.tokenizer, OneLayer(scorer.encoder, layer))
    rng = random.Random(0)
    several = [[str(sentence), *(str(paraphrase(sentence, rng)) for _ in range(2))] for sentence in references]
    print(f"\n{'references':<12} {'tau':>6} {'Hits@1':>7} {'MRR':>6} {'Diff':>6}")
    for count in (1, 3):
        rows = [
            score_references(chosen, row, [refs[:count] for refs in several], idf=True) for row in outputs.candidates
        ]
        found = torch.stack(rows)
        hybrids = draw_hybrids(len(ERROR_RATES), segments, 300, seed=5)
        metric, human = hybrid_scores(found, hybrids), hybrid_scores(outputs.ratings, hybrids)
        result = select_systems(metric, human, draw_subsets(300, 20, 200, seed=6))
        tau = segment_agreement(found, outputs.ratings)
        print(f"{count:<12} {tau:>6.3f} {result.hits:>7.3f} {result.reciprocal_rank:>6.3f} {result.difference:>6.3f}")


def main() -> None:
    """Print the correlation of each metric with the ratings, some pairs with their scores, and a study of systems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5, help="pairs of the first reference to show")
    parser.add_argument("--segments", type=int, default=60, help="outputs of each generated system")
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
    compare_systems(scorer, options.segments)


if __name__ == "__main__":
    main()
