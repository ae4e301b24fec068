"""Experiments on generated systems and an encoder without training: scores and layers, in double precision."""

import torch
from bert_score.corpus import make_corpus
from bert_score.encoder import OneLayer
from bert_score.idf import TokenWeights, idf_weights
from bert_score.layers import layer_quality
from bert_score.references import score_references
from bert_score.score import BERTScorer
from bert_score.tokenizer import WordPieceTokenizer
from bert_score.toy_systems import make_slotted, make_systems
from bert_score_goal import greedy_cos_idf
from torch import Tensor

LAYERS = 4


class MixingEncoder:
    """A random vector for each piece, and in each layer more of its neighbours."""

    def __init__(self, vocabulary_size: int, width: int = 12) -> None:
        generator = torch.Generator().manual_seed(0)
        self.table = torch.randn(vocabulary_size, width, generator=generator, dtype=torch.float64) + 0.6
        self.mixing = 0.3 * torch.randn(LAYERS, width, width, generator=generator, dtype=torch.float64)

    def encode_layers(self, ids: list[int]) -> list[Tensor]:
        """Vectors (length, width) of one text in each layer."""
        vectors, layers = self.table[list(ids)], []
        for mixing in self.mixing:
            padded = torch.nn.functional.pad(vectors, (0, 0, 1, 1))
            vectors = vectors + 0.4 * (padded[:-2] + 0.5 * padded[2:]) @ mixing
            layers.append(vectors)
        return layers


def table_study() -> dict[str, dict[str, float]]:
    """Scores of outputs and quality of each layer, for weights of two kinds; mixed weights are (1 + idf) / 2."""
    torch.set_num_threads(1)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return study()
    finally:
        torch.set_default_dtype(default)


def study() -> dict[str, dict[str, float]]:
    """The rows of `table_study`."""
    tokenizer = WordPieceTokenizer(make_corpus(100, 0))
    encoder = MixingEncoder(len(tokenizer))
    sets = [make_slotted(size, size) for size in (6, 9, 14)]
    outputs = [make_systems(references, (0.1, 0.5), seed=1) for references in sets]
    ratings = [part.ratings.flatten() for part in outputs]
    texts = [list(map(str, references)) for references in sets]
    idf = idf_weights([tokenizer.encode(text) for part in texts for text in part], tokenizer.special_ids)

    def mixed(token: int) -> float:
        return 0.0 if token in tokenizer.special_ids else (1 + idf(token)) / 2

    rows: dict[str, dict[str, float]] = {}
    for layer in range(LAYERS):
        scorer = BERTScorer(tokenizer, OneLayer(encoder, layer))
        cells = rows[f"layer {layer + 1}"] = {}
        for name, weights in (("idf", idf), ("mixed", mixed)):
            scores = [
                score_pairs(scorer, [text for row in part.candidates for text in row], refs * 2, weights)
                for part, refs in zip(outputs, texts, strict=True)
            ]
            cells[f"{name}, good outputs"] = scores[2][:14].mean().item()
            cells[f"{name}, bad outputs"] = scores[2][14:].mean().item()
            cells[f"{name}, quality"] = float(layer_quality(scores, ratings))
        pairs = [[*pair] for pair in zip(texts[0], texts[1], strict=False)]
        cells["two references"] = score_references(scorer, outputs[0].candidates[1], pairs, idf=True).mean().item()
    return rows


def score_pairs(scorer: BERTScorer, cands: list[str], refs: list[str], weights: TokenWeights) -> Tensor:
    """Scores (N,) of N pairs of texts with given weights of tokens."""
    ref, hyp = scorer.pad(refs, weights), scorer.pad(cands, weights)
    return greedy_cos_idf(ref.embedding, ref.masks, ref.weights, hyp.embedding, hyp.masks, hyp.weights)
