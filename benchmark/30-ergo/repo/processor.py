"""Documents with events and causal links, and how they become tensors."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from graph import criss_cross_mask, event_pairs
from torch import Tensor

PAD, UNKNOWN = 0, 1


@dataclass(frozen=True)
class Document:
    """A document.

    Attributes:
        words: its words.
        events: position of each event's mention among the words.
        causal_links: (cause, effect), numbers of events.
    """

    words: tuple[str, ...]
    events: tuple[int, ...]
    causal_links: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Batch:
    """B documents of up to T words, with E events and P pairs of events in total."""

    input_ids: Tensor  # (B, T) int64, padded
    is_token: Tensor  # (B, T) bool
    event_positions: Tensor  # (E, 2) int64, document and position of each mention
    pairs: Tensor  # (P, 2) int64, numbers of events within the batch
    pair_mask: Tensor  # (P, P) bool, which pairs are neighbours in the graph
    labels: Tensor  # (P,) int64, 1 for a causal pair


class Vocabulary:
    """Lower-case words by number; 0 is padding and 1 any word that was not seen."""

    def __init__(self, documents: Iterable[Document]) -> None:
        words = sorted({word.lower() for document in documents for word in document.words})
        self.numbers = {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}

    def __len__(self) -> int:
        return len(self.numbers) + UNKNOWN + 1

    def encode(self, words: Iterable[str]) -> Tensor:
        """(T,) int64."""
        return torch.tensor([self.numbers.get(word.lower(), UNKNOWN) for word in words], dtype=torch.int64)


def load_documents(path: Path) -> list[Document]:
    """Read one JSON object a line, with the keys `text` (words and blanks), `events` and `causal_links`."""
    documents = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            links = frozenset((cause, effect) for cause, effect in raw["causal_links"])
            documents.append(Document(tuple(raw["text"].split()), tuple(raw["events"]), links))
    return documents


def pair_labels(document: Document, pairs: Tensor) -> Tensor:
    """(P,) int64, the labels of a document's pairs (P, 2): 1 for a causal pair, else 0."""
    return torch.tensor(
        [int((i, j) in document.causal_links or (j, i) in document.causal_links) for i, j in pairs.tolist()],
        dtype=torch.int64,
    )


def collate(documents: Sequence[Document], vocabulary: Vocabulary) -> Batch:
    """Pad the words of some documents and number their events from the first document to the last."""
    longest = max(len(document.words) for document in documents)
    input_ids = torch.full((len(documents), longest), PAD, dtype=torch.int64)
    positions: list[tuple[int, int]] = []
    pairs, labels = [], []
    for row, document in enumerate(documents):
        input_ids[row, : len(document.words)] = vocabulary.encode(document.words)
        own_pairs = event_pairs(len(document.events))
        labels.append(pair_labels(document, own_pairs))
        pairs.append(own_pairs + len(positions))
        positions += [(row, position) for position in document.events]
    all_pairs = torch.cat(pairs)
    return Batch(
        input_ids=input_ids,
        is_token=input_ids != PAD,
        event_positions=torch.tensor(positions, dtype=torch.int64).view(-1, 2),
        pairs=all_pairs,
        pair_mask=criss_cross_mask(all_pairs),
        labels=torch.cat(labels),
    )
