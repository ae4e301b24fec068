"""Experiments on a small corpus and an encoder without training: scores of pairs, in double precision."""

import torch
from corpus import make_corpus
from idf import idf_of_unseen, idf_table
from movescore import mover_score
from preprocess import LayeredTokens, collate
from tokenizer import SPECIAL_TOKENS, WordPieceTokenizer
from torch import Tensor

from evaluate import load_pairs

#: Column -> words of an n-gram (None for whole texts), and the share of inverse document frequencies in the weights.
SETTINGS: dict[str, tuple[int | None, float]] = {
    "words, equal weights": (1, 0.0),
    "words, mixed weights": (1, 0.5),
    "words, idf": (1, 1.0),
    "bigrams, idf": (2, 1.0),
    "texts, mixed weights": (None, 0.5),
}


class MixingEncoder:
    """Seven layers: a random vector for each piece, and more of its neighbours in each layer."""

    def __init__(self, pieces: list[str], width: int = 12) -> None:
        generator = torch.Generator().manual_seed(0)
        self.ids = {piece: index for index, piece in enumerate(pieces)}
        self.table = torch.randn(len(pieces), width, generator=generator, dtype=torch.float64) + 0.5
        self.mixing = 0.2 * torch.randn(6, width, width, generator=generator, dtype=torch.float64)

    def encode(self, tokens: list[str]) -> Tensor:
        """Vectors (layers, length, width), float64."""
        layers = [self.table[[self.ids[token] for token in tokens]]]
        for mixing in self.mixing:
            padded = torch.nn.functional.pad(layers[-1], (0, 0, 1, 1))
            layers.append(layers[-1] + (padded[:-2] + 0.5 * padded[2:]) @ mixing)
        return torch.stack(layers)


def table_scores() -> dict[str, dict[str, float]]:
    """Mover scores of pairs of the data, for n-grams and weights of several kinds; mixed weights are (1 + idf) / 2."""
    torch.set_num_threads(1)
    corpus = make_corpus(96)
    tokenizer = WordPieceTokenizer(corpus)
    texts = [tokenizer.tokenize(text) for text in corpus]
    encoder = MixingEncoder(tokenizer.pieces)
    pairs = load_pairs().iloc[[8, 12, 17, 19, 25, 60]]
    rows: dict[str, dict[str, float]] = {f"pair {number + 1}": {} for number in pairs.index}
    for column, (n, share) in SETTINGS.items():
        known = {piece: 1 - share + share * idf for piece, idf in idf_table(texts).items()}
        known |= dict.fromkeys(SPECIAL_TOKENS, 0.0)
        unseen = 1 - share + share * idf_of_unseen(texts)

        def batch(side: list[str]) -> LayeredTokens:
            return in_float64(side, tokenizer, encoder, known, unseen)

        ref, hyp = batch(pairs["reference"].tolist()), batch(pairs["candidate"].tolist())
        scores = mover_score(ref.embedding, ref.idf, ref.tokens, hyp.embedding, hyp.idf, hyp.tokens, n=n)
        for cells, score in zip(rows.values(), scores, strict=True):
            cells[column] = score
    return rows


def in_float64(
    texts: list[str], tokenizer: WordPieceTokenizer, encoder: MixingEncoder, known: dict[str, float], unseen: float
) -> LayeredTokens:
    """One side of a batch, without rounding to float32."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return collate(texts, tokenizer.tokenize, encoder, known, unseen)
    finally:
        torch.set_default_dtype(default)
