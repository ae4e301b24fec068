"""Labelled inputs for moverscore-word-mover.

Scores are differences of numbers near 1, so they are compared with an absolute tolerance only. That of core cases is
far above the effect of small constants, and far below that of another method.
"""

from dataclasses import dataclass, replace

import movescore
import preprocess
import torch
from idf import idf_of_unseen, idf_table
from lmrbench_cases import compare, core
from movescore import word_mover_score
from preprocess import collate
from tokenizer import WordPieceTokenizer
from torch import Tensor


@dataclass(frozen=True)
class Side:
    """One side of a batch: all layers, weights, tokens."""

    embedding: Tensor
    idf: Tensor
    tokens: list[list[str]]


def score(ref: Side, hyp: Side) -> list[float]:
    """Call on copies, which are the callee's to keep."""
    arguments = []
    for side in (ref, hyp):
        arguments += [side.embedding.clone(), side.idf.clone(), [list(tokens) for tokens in side.tokens]]
    return word_mover_score(*arguments)


def random_side(seed: int, layers: int, size: int, length: int, width: int = 4) -> Side:
    """Layers that differ in direction and in norm, uneven weights, and words that all count."""
    generator = torch.Generator().manual_seed(1000 * seed + 10 * length + size)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    vectors = normal(1, size, length, width) + 0.7 * normal(layers, size, length, width) + 0.3
    embedding = vectors * (normal(layers, size, length, 1)).exp()
    idf = 4 * torch.rand(size, length, generator=generator, dtype=torch.float64) ** 2 + 0.05
    return Side(embedding, idf, [[f"word{k}" for k in range(length)] for _ in range(size)])


def random_pair(seed: int, layers: int = 7, size: int = 2, width: int = 4) -> tuple[Side, Side]:
    return random_side(seed, layers, size, 6, width), random_side(seed, layers, size, 5, width)


def axes_side(*words: tuple[int, float, float]) -> Side:
    """One text; each word is (axis, sign, weight), the same vector in each of six layers."""
    embedding = torch.zeros(6, 1, len(words), 6, dtype=torch.float64)
    for k, (axis, sign, _) in enumerate(words):
        embedding[:, 0, k, axis] = sign
    idf = torch.tensor([[weight for _, _, weight in words]], dtype=torch.float64)
    return Side(embedding, idf, [[f"word{k}" for k in range(len(words))]])


def put(name: str, value: object) -> None:
    """Replace a value of `preprocess`, also where `movescore` has imported it."""
    setattr(preprocess, name, value)
    setattr(movescore, name, value)


@core
@compare(rtol=0, atol=1e-3)
def case_random_layers(seed):
    """Layers of unequal norms, uneven weights; texts of unequal lengths; as many layers as are pooled, and more."""
    return {
        f"L={layers}, B={size}, K={ref_length}, J={hyp_length}": score(
            random_side(seed, layers, size, ref_length), random_side(seed + 50, layers, size, hyp_length)
        )
        for layers, size, ref_length, hyp_length in ((7, 3, 6, 5), (13, 2, 3, 9), (5, 2, 8, 2), (7, 1, 4, 1))
    }


@core
@compare(rtol=0, atol=1e-3)
def case_tokens_that_do_not_count(seed):
    """Punctuation and pieces in front, between and behind words; weighted special tokens; columns beyond the lists."""
    ref, hyp = random_pair(seed, size=3)
    ref_tokens = [["[CLS]", "the", ",", "##s", "train", "[SEP]"], ['"', "...", "late", "##ing"], ["a", "b", "c", "d"]]
    hyp_tokens = [["[CLS]", "tram", "##s", ".", "[SEP]"], ["--", "$", "10", "%", "was"], ["e", "?"]]
    return score(replace(ref, tokens=ref_tokens), replace(hyp, tokens=hyp_tokens))


@core
@compare(rtol=0, atol=1e-3)
def case_transport_is_no_matching(seed):
    """Equal vectors with other masses, and words that have to share a counterpart or to split up."""
    x = 0.5 + 0.25 * (seed % 4)
    return {
        "other masses": score(axes_side((0, 1, x), (1, 1, 3)), axes_side((0, 1, 3), (1, 1, 1))),
        "split": score(axes_side((0, 1, 1), (1, 1, 1), (2, 1, x)), axes_side((0, 1, x), (3, 1, 2))),
        "repeated": score(axes_side((0, 1, x), (0, 1, 1), (1, 1, 1)), axes_side((0, 1, 1), (1, 1, 2), (1, 1, x))),
        "random": score(*(replace(side, idf=1 / side.idf) for side in random_pair(seed, size=3, width=2))),
    }


@core
@compare(rtol=0, atol=1e-3)
def case_far_and_near(seed):
    """Scores below 0 and of 1: opposite texts, partly opposite ones, the same words in another order."""
    weight = 0.5 + seed % 4
    side = random_side(seed, 6, 2, 5)
    order = [3, 0, 4, 1, 2]
    return {
        "opposite": score(axes_side((2, 1, weight)), axes_side((2, -1, 1.0))),
        "half": score(axes_side((2, 1, 1.0)), axes_side((2, -1, weight), (2, 1, 1.0))),
        "orthogonal": score(axes_side((0, 1, weight)), axes_side((1, 1, 1.0))),
        "random, opposite": score(side, replace(side, embedding=-side.embedding)),
        "other order": score(side, Side(side.embedding[:, :, order], side.idf[:, order], side.tokens)),
    }


class TableEncoder:
    """Eight random vectors a piece, one a layer, whatever surrounds it."""

    def __init__(self, seed: int, pieces: list[str]) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.ids = {piece: index for index, piece in enumerate(pieces)}
        self.table = torch.randn(8, len(pieces), 12, generator=generator)

    def encode(self, tokens: list[str]) -> Tensor:
        return self.table[:, [self.ids[token] for token in tokens]]


@core
@compare(rtol=0, atol=2e-3)
def case_batch_of_the_repository(seed):
    """float32; tokens, padding and weights as the repository makes them, special tokens of weight 0 included."""
    references = ["The trains are late.", "A thief, they said, stole it...", "Floods hit the village!"]
    candidates = ["The train is delayed?", "The thief stole it.", "The village was hit by a flood; people fled."]
    tokenizer = WordPieceTokenizer(["the train is late , the thief stole it , a flood hit the village"] * 2)
    documents = [tokenizer.tokenize(text) for text in references]
    encoder = TableEncoder(seed, tokenizer.pieces)
    ref, hyp = (
        collate(texts, tokenizer.tokenize, encoder, idf_table(documents), idf_of_unseen(documents))
        for texts in (references, candidates)
    )
    return {
        "scores": word_mover_score(ref.embedding, ref.idf, ref.tokens, hyp.embedding, hyp.idf, hyp.tokens),
        "same": word_mover_score(ref.embedding, ref.idf, ref.tokens, ref.embedding, ref.idf, ref.tokens),
    }


@compare(rtol=0, atol=1e-5)
def case_small_constants(seed):
    """Weights so small that constants matter; some vectors are then much shorter than others before the last step."""
    ref, hyp = random_pair(seed)
    falling = (10.0 ** -torch.arange(0, 10, 2, dtype=torch.float64)).expand(2, 5)
    tiny = (1e-9 * (1 + torch.arange(5.0, dtype=torch.float64))).expand(2, 5)
    return {
        "as they are": score(ref, hyp),
        "falling": score(ref, replace(hyp, idf=falling)),
        "rising": score(replace(ref, idf=1e-5 * ref.idf), replace(hyp, idf=falling.flip(1))),
        "tiny": score(ref, replace(hyp, idf=tiny)),
        "both tiny": score(replace(ref, idf=torch.full_like(ref.idf, 2e-9)), replace(hyp, idf=tiny)),
    }


@compare(rtol=0, atol=1e-5)
def case_extra_mass(seed):
    """The largest cost is between two words of one text, of the longer or of the other, or across."""
    light = 1e-5 * (1 + seed % 4)
    return {
        "within the heavy text": score(axes_side((0, 1, 1.0), (0, -1, 2.0)), axes_side((1, 1, light))),
        "within the light text": score(axes_side((1, 1, 1.0)), axes_side((0, 1, light), (0, -1, light))),
        "across": score(axes_side((0, 1, light), (1, 1, light)), axes_side((0, -1, 1.0), (2, 1, 1.0))),
        "a word without mass": score(axes_side((0, 1, 1.0)), axes_side((1, 1, light), (0, -1, 0.0))),
    }


@compare(rtol=0, atol=1e-5)
def case_nothing_left(seed):
    """No counted token, no token at all, or only weights of 0, on one side and on both; no pairs."""
    ref, hyp = random_pair(seed, size=5)
    words = [f"word{k}" for k in range(6)]
    ref_tokens = [[".", "##s"], [], words, ["?"], words]
    hyp_tokens = [words[:5], words[:5], [","], ["##a", "!"], words[:5]]
    return {
        "left out": score(replace(ref, tokens=ref_tokens), replace(hyp, tokens=hyp_tokens)),
        "reference without weight": score(replace(ref, idf=0 * ref.idf), hyp),
        "neither": score(replace(ref, idf=0 * ref.idf), replace(hyp, idf=0 * hyp.idf)),
        "light word": score(axes_side(), axes_side((0, 1, 3e-5))),
        "no pairs": score(random_side(seed, 5, 0, 3), random_side(seed, 5, 0, 2)),
    }


@compare(rtol=0, atol=1e-3)
def case_settings_of_the_repository(seed):
    """`POOLED_LAYERS` and `is_counted` decide, whatever they say; fewer layers than are pooled."""
    ref, hyp = random_pair(seed, layers=6)
    tokens = ["[CLS]", "a", ".", "##b", "c", "[SEP]"]
    ref, hyp = replace(ref, tokens=[tokens, tokens[::-1]]), replace(hyp, tokens=[tokens[:5], tokens[1:]])
    scores = {}
    for layers in (1, 4, 6, 20):
        put("POOLED_LAYERS", layers)
        scores[f"{layers} layers"] = score(ref, hyp)
    for name, rule in {"words": str.isalpha, "all": lambda token: True, "marks": lambda token: token == "."}.items():
        put("is_counted", rule)
        scores[name] = score(ref, hyp)
    return scores


@compare(rtol=0, atol=1e-3)
def case_arguments_unchanged(seed):
    """Arguments by keyword, twice over; they come back as they were."""
    ref, hyp = random_pair(seed)
    tokens = [["[CLS]", "a", ".", "##b", "c", "[SEP]"], ["a", "b", ",", "c", "d", "e"]]
    arguments = {
        "hyp_tokens": [row[:5] for row in tokens],
        "hyp_idf": hyp.idf,
        "hyp_embedding": hyp.embedding,
        "ref_tokens": tokens,
        "ref_idf": ref.idf,
        "ref_embedding": ref.embedding,
    }
    return {"scores": [word_mover_score(**arguments) for _ in range(2)], "arguments": arguments}
