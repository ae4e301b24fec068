"""Labelled inputs for moverscore-word-mover.

Most cases use float64 and compare with an absolute tolerance only: scores are differences of numbers near 1, and any
exact solver agrees far beyond 1e-5.
"""

import string
from dataclasses import dataclass, replace

import movescore
import preprocess
import torch
from idf import idf_of_unseen, idf_table
from lmrbench_cases import compare
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


def random_side(
    seed: int, layers: int, size: int, length: int, width: int = 4, dtype: torch.dtype = torch.float64
) -> Side:
    """Layers that differ in direction and in norm, uneven weights, and words that all count."""
    generator = torch.Generator().manual_seed(1000 * seed + 10 * length + size)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    vectors = normal(1, size, length, width) + 0.7 * normal(layers, size, length, width) + 0.3
    embedding = vectors * (normal(layers, size, length, 1)).exp()
    idf = 4 * torch.rand(size, length, generator=generator, dtype=torch.float64) ** 2 + 0.05
    return Side(embedding.to(dtype), idf.to(dtype), [[f"word{k}" for k in range(length)] for _ in range(size)])


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


@compare(rtol=0, atol=1e-5)
def case_random_layers(seed):
    """Seven layers, uneven weights; batches of three and of one, and more words on either side."""
    return {
        f"B={size}, K={ref_length}, J={hyp_length}": score(
            random_side(seed, 7, size, ref_length), random_side(seed + 50, 7, size, hyp_length)
        )
        for size, ref_length, hyp_length in ((3, 6, 5), (1, 3, 9), (2, 4, 4), (2, 8, 1), (1, 1, 1))
    }


@compare(rtol=0, atol=1e-4)
def case_float32(seed):
    return score(*(random_side(seed, 6, 3, length, width=16, dtype=torch.float32) for length in (7, 9)))


@compare(rtol=0, atol=1e-5)
def case_number_of_layers(seed):
    """Fewer layers than are pooled, exactly as many, and more."""
    return {str(layers): score(*random_pair(seed, layers, size=1)) for layers in (1, 3, 4, 5, 6, 13)}


@compare(rtol=0, atol=1e-5)
def case_lower_layers_do_not_matter(seed):
    """All layers before the last five are replaced by others, then by zeros."""
    ref, hyp = random_pair(seed, layers=8)
    scores = {"as they are": score(ref, hyp)}
    for name, factor in (("reversed", -1.0), ("zero", 0.0)):
        lower = [torch.cat([factor * side.embedding[:3], side.embedding[3:]]) for side in (ref, hyp)]
        scores[name] = score(replace(ref, embedding=lower[0]), replace(hyp, embedding=lower[1]))
    return scores


@compare(rtol=0, atol=1e-5)
def case_other_number_of_pooled_layers(seed):
    ref, hyp = random_pair(seed, layers=9, size=1)
    scores = {}
    for layers in (1, 2, 4, 7, 9, 20):
        put("POOLED_LAYERS", layers)
        scores[str(layers)] = score(ref, hyp)
    return scores


@compare(rtol=0, atol=1e-5)
def case_vector_norms(seed):
    """Norms between 1e-4 and 1e4, of their own for every layer and word."""
    generator = torch.Generator().manual_seed(seed)
    sides = []
    for side in random_pair(seed):
        exponents = 8 * torch.rand(*side.embedding.shape[:3], 1, generator=generator, dtype=torch.float64) - 4
        sides.append(
            replace(side, embedding=side.embedding / side.embedding.norm(dim=-1, keepdim=True) * 10**exponents)
        )
    return score(*sides)


@compare(rtol=0, atol=1e-5)
def case_tokens_that_do_not_count(seed):
    """Dropped tokens at the start, in the middle and at the end, others in each row; look-alikes that stay."""
    ref, hyp = random_pair(seed, size=4)
    ref_tokens = [
        ["[CLS]", "the", ",", "##s", "train", "[SEP]"],
        ['"', "...", "late", "''", "#", "##ing"],
        ["a##b", "e", "—", "?!", "end##", "..."],
        ["word", "[", "CLS", "]", "##", "###"],
    ]
    hyp_tokens = [
        ["[CLS]", "tram", "##s", ".", "[SEP]"],
        ["-", "--", "$", "10", "%"],
        ["«", "£", "_", "__", "`"],
        ["", " ", ". ", "[UNK]", "[PAD]"],
    ]
    return score(replace(ref, tokens=ref_tokens), replace(hyp, tokens=hyp_tokens))


@compare(rtol=0, atol=1e-5)
def case_each_punctuation_mark(seed):
    """Four texts with eight marks each, all of them between words."""
    ref, hyp = random_side(seed, 5, 4, 17), random_side(seed, 5, 4, 2)
    words = [[f"word{k}", mark] for k, mark in enumerate(string.punctuation)]
    return score(replace(ref, tokens=[[*sum(words[i : i + 8], []), "end"] for i in (0, 8, 16, 24)]), hyp)


@compare(rtol=0, atol=1e-5)
def case_other_rules_of_counting(seed):
    """The function in `preprocess` decides, whatever it says."""
    ref, hyp = random_pair(seed)
    tokens = ["[CLS]", "a", ".", "##b", "c", "[SEP]"]
    ref, hyp = replace(ref, tokens=[tokens, tokens[::-1]]), replace(hyp, tokens=[tokens[:5], tokens[1:]])
    scores = {}
    for name, rule in {
        "no special tokens": lambda token: not token.startswith("["),
        "all": lambda token: True,
        "none": lambda token: False,
        "punctuation and pieces": lambda token: token in (".", "##b"),
    }.items():
        put("is_counted", rule)
        scores[name] = score(ref, hyp)
    return scores


@compare(rtol=0, atol=1e-5)
def case_padding_means_nothing(seed):
    """Short token lists; beyond them, and at punctuation, columns hold zeros, NaN or infinities, with weights."""
    ref, hyp = random_pair(seed, size=3)
    ref_tokens = [["a", "b", "c", "d"], ["a", ".", "c", "d", "e", "f"], ["a"]]
    hyp_tokens = [["a", "b", "c", "d", "e"], ["a", "b"], ["##a", "b", "c", "!"]]
    scores = {}
    for name, junk in (("zero", 0.0), ("NaN", float("nan")), ("infinite", float("inf")), ("large", 1e6)):
        sides = []
        for side, tokens in ((ref, ref_tokens), (hyp, hyp_tokens)):
            embedding, idf = side.embedding.clone(), side.idf.clone()
            for i, row in enumerate(tokens):
                unused = [k for k in range(idf.shape[1]) if k >= len(row) or row[k] in (".", "##a", "!")]
                embedding[:, i, unused] = junk
                idf[i, unused] = junk
            sides.append(Side(embedding, idf, tokens))
        scores[name] = score(*sides)
    return scores


@compare(rtol=0, atol=1e-5)
def case_equal_texts(seed):
    """The same text, and its words in another order with the same vectors: 1."""
    side = random_side(seed, 6, 3, 5)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    return {
        "same": score(side, side),
        "other order": score(side, Side(side.embedding[:, :, order], side.idf[:, order], side.tokens)),
    }


@compare(rtol=0, atol=1e-5)
def case_transport_is_no_matching(seed):
    """Equal vectors with other masses, and words that have to share a counterpart or to split up."""
    x = 0.5 + 0.25 * seed
    return {
        "other masses": score(axes_side((0, 1, 1), (1, 1, 3)), axes_side((0, 1, 3), (1, 1, 1))),
        "split": score(axes_side((0, 1, 1), (1, 1, 1), (2, 1, x)), axes_side((0, 1, x), (3, 1, 2))),
        "repeated": score(axes_side((0, 1, x), (0, 1, 1), (1, 1, 1)), axes_side((0, 1, 1), (1, 1, 2), (1, 1, x))),
        "mixed": score(*(replace(side, idf=1 / side.idf) for side in random_pair(seed, size=3, width=2))),
    }


@compare(rtol=0, atol=1e-6)
def case_opposite_vectors(seed):
    """About -3, and a mixture; texts so short that the effect of every small constant can be told."""
    weight = 0.5 + seed
    return {
        "opposite": score(axes_side((2, 1, weight)), axes_side((2, -1, 1.0))),
        "half": score(axes_side((2, 1, 1.0)), axes_side((2, -1, weight), (2, 1, 1.0))),
        "orthogonal": score(axes_side((0, 1, weight)), axes_side((1, 1, 1.0))),
    }


@compare(rtol=0, atol=1e-5)
def case_scaled_weights(seed):
    """Weights times 10 on one or both sides, and so small that the sums are far from 1."""
    ref, hyp = random_pair(seed, size=1)
    return {
        f"{ref_factor}, {hyp_factor}": score(
            replace(ref, idf=ref_factor * ref.idf), replace(hyp, idf=hyp_factor * hyp.idf)
        )
        for ref_factor in (1.0, 10.0, 1e-5)
        for hyp_factor in (1.0, 1e-4, 1e-7)
    }


@compare(rtol=0, atol=1e-5)
def case_uneven_small_weights(seed):
    """Weights from 1 down to 1e-9 in one text: some vectors are much shorter than others before the last division."""
    ref, hyp = random_pair(seed)
    falling = 10.0 ** -torch.arange(0, 10, 2, dtype=torch.float64)
    tiny = 1e-9 * (1 + torch.arange(5.0, dtype=torch.float64))
    return {
        "falling": score(ref, replace(hyp, idf=falling.expand(2, 5))),
        "rising": score(ref, replace(hyp, idf=falling.flip(0).expand(2, 5))),
        "tiny": score(ref, replace(hyp, idf=tiny.expand(2, 5))),
        "both tiny": score(replace(ref, idf=torch.full_like(ref.idf, 2e-9)), replace(hyp, idf=tiny.expand(2, 5))),
        "opposite, tiny": score(axes_side((0, 1, 1.0)), axes_side((0, -1, 1e-9 * (1 + seed)))),
    }


@compare(rtol=0, atol=1e-5)
def case_extra_mass(seed):
    """The largest cost is between two words of one text, of the longer or of the other, or across."""
    light = 1e-5 * (1 + seed)
    return {
        "within the heavy text": score(axes_side((0, 1, 1.0), (0, -1, 2.0)), axes_side((1, 1, light))),
        "within the light text": score(axes_side((1, 1, 1.0)), axes_side((0, 1, light), (0, -1, light))),
        "across": score(axes_side((0, 1, light), (1, 1, light)), axes_side((0, -1, 1.0), (2, 1, 1.0))),
        "a word without mass": score(axes_side((0, 1, 1.0)), axes_side((1, 1, light), (0, -1, 0.0))),
    }


@compare(rtol=0, atol=1e-5)
def case_words_without_weight(seed):
    """Weights of 0, as [CLS] and [SEP] have; they stay in the cost matrix as zero vectors."""
    ref, hyp = random_pair(seed)
    ref_idf, hyp_idf = ref.idf.clone(), hyp.idf.clone()
    ref_idf[:, [0, -1]] = 0
    hyp_idf[0, [0, 2, -1]] = 0
    small = replace(hyp, idf=1e-5 * hyp_idf)
    ref = replace(ref, idf=ref_idf)
    return {"some": score(ref, replace(hyp, idf=hyp_idf)), "some, unequal masses": score(ref, small)}


@compare(rtol=0, atol=1e-5)
def case_nothing_left(seed):
    """No counted token, no token at all, or only weights of 0, on one side and on both; equal rows to compare with."""
    ref, hyp = random_pair(seed, size=5)
    words = [f"word{k}" for k in range(6)]
    ref_tokens = [[".", "##s"], [], words, ["?"], words]
    hyp_tokens = [words[:5], words[:5], [","], ["##a", "!"], words[:5]]
    one = random_side(seed, 5, 1, 1)
    empty = Side(one.embedding, one.idf, [["-"]])
    return {
        "left out": score(replace(ref, tokens=ref_tokens), replace(hyp, tokens=hyp_tokens)),
        "reference without weight": score(replace(ref, idf=0 * ref.idf), hyp),
        "candidate without weight": score(ref, replace(hyp, idf=0 * hyp.idf)),
        "neither": score(replace(ref, idf=0 * ref.idf), replace(hyp, idf=0 * hyp.idf)),
        "one word": [score(one, empty), score(empty, one), score(empty, empty)],
        "light word": score(empty, replace(one, idf=torch.full_like(one.idf, 3e-5))),
    }


def case_empty_batch(seed):
    """No pairs in, no scores out."""
    none = [Side(torch.empty(5, 0, length, 4), torch.empty(0, length), []) for length in (3, 2)]
    return score(*none)


@compare(rtol=0, atol=1e-5)
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


@compare(rtol=0, atol=1e-5)
def case_non_contiguous(seed):
    """Views: every second pair, batch before layers in memory, one row of weights for all pairs."""
    ref, hyp = random_pair(seed, size=4)
    swapped = [side.embedding.transpose(0, 1).contiguous().transpose(0, 1) for side in (ref, hyp)]
    return {
        "every second": word_mover_score(
            *(ref.embedding[:, ::2], ref.idf[::2], ref.tokens[::2]),
            *(hyp.embedding[:, ::2], hyp.idf[::2], hyp.tokens[::2]),
        ),
        "swapped": word_mover_score(
            *(swapped[0], ref.idf[:1].expand(4, 6), ref.tokens), *(swapped[1], hyp.idf.t().contiguous().t(), hyp.tokens)
        ),
    }


class TableEncoder:
    """Eight random vectors a piece, one a layer, whatever surrounds it."""

    def __init__(self, seed: int, pieces: list[str]) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.ids = {piece: index for index, piece in enumerate(pieces)}
        self.table = torch.randn(8, len(pieces), 12, generator=generator)

    def encode(self, tokens: list[str]) -> Tensor:
        return self.table[:, [self.ids[token] for token in tokens]]


@compare(rtol=0, atol=1e-4)
def case_batch_of_the_repository(seed):
    """Tokens, padding and weights as the repository makes them, with vectors that do not depend on its encoder."""
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
