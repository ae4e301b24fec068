"""Training triples and evaluation pairs from a taxonomy."""

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Triple:
    """A child, one of its parents, and an entity that is not above the child."""

    child: str
    parent: str
    negative: str


@dataclass(frozen=True)
class LabelledPair:
    """Two entities, and whether the second is above the first."""

    child: str
    parent: str
    holds: bool


@dataclass
class Taxonomy:
    """A directed acyclic graph of entities, given by its child-parent pairs."""

    pairs: list[tuple[str, str]]
    parents: dict[str, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.parents = {entity: set() for pair in reversed(self.pairs) for entity in reversed(pair)}
        for child, parent in self.pairs:
            self.parents[child].add(parent)

    @property
    def entities(self) -> list[str]:
        """All entities, in a fixed order."""
        return sorted(self.parents)

    def ancestors(self, entity: str) -> set[str]:
        """All entities above `entity`, at any distance."""
        found: set[str] = set()
        waiting = set(self.parents[entity])
        while waiting:
            found |= waiting
            waiting = {parent for ancestor in waiting for parent in self.parents[ancestor]} - found
        return found

    def siblings(self, entity: str) -> set[str]:
        """The other entities that share a parent with `entity`."""
        return {other for other in self.parents if self.parents[other] & self.parents[entity]} - {entity}

    def depth(self, entity: str) -> int:
        """Length of the longest path from `entity` up to an entity without parents."""
        return max((1 + self.depth(parent) for parent in self.parents[entity]), default=0)


def load_taxonomy(path: Path) -> Taxonomy:
    """Read a table of child-parent pairs: tab-separated, with the header `child`, `parent`."""
    with path.open(encoding="utf-8", newline="") as lines:
        return Taxonomy([(row["child"], row["parent"]) for row in csv.DictReader(lines, delimiter="\t")])


def negative_candidates(taxonomy: Taxonomy, child: str) -> tuple[list[str], list[str]]:
    """The negative parents that a child may get.

    Returns:
        All candidates, and the hard ones among them; both sorted.
    """
    above = taxonomy.ancestors(child) | {child}
    candidates = [entity for entity in taxonomy.entities if entity not in above]
    siblings = taxonomy.siblings(child)
    return candidates, [entity for entity in candidates if entity in siblings]


def build_triples(taxonomy: Taxonomy, negatives: int, rng: random.Random) -> list[Triple]:
    """Triples for training: `negatives` of them for each child-parent pair, up to half of them with hard negatives."""
    triples = []
    for child, parent in taxonomy.pairs:
        candidates, hard_ones = negative_candidates(taxonomy, child)
        hard = rng.sample(hard_ones, k=min(len(hard_ones), negatives // 2))
        others = rng.sample([entity for entity in candidates if entity not in hard], k=negatives - len(hard))
        triples += [Triple(child, parent, negative) for negative in hard + others]
    return triples


def build_inferred_pairs(taxonomy: Taxonomy, negatives: int, rng: random.Random) -> list[LabelledPair]:
    """Pairs for evaluation: each entity with each ancestor that is not a parent, and with entities not above it.

    These ancestors follow from the child-parent pairs by transitivity; no training triple shows them.
    """
    pairs = []
    for child in taxonomy.entities:
        for ancestor in sorted(taxonomy.ancestors(child) - taxonomy.parents[child]):
            wrong = rng.sample(negative_candidates(taxonomy, child)[0], k=negatives)
            pairs += [LabelledPair(child, ancestor, True), *(LabelledPair(child, entity, False) for entity in wrong)]
    return pairs


def build_direct_pairs(triples: list[Triple]) -> list[LabelledPair]:
    """The pairs that training shows: children with their parents and with their negatives."""
    positives = dict.fromkeys(LabelledPair(triple.child, triple.parent, True) for triple in triples)
    negatives = dict.fromkeys(LabelledPair(triple.child, triple.negative, False) for triple in triples)
    return [*positives, *negatives]


def iterate_batches(triples: list[Triple], batch_size: int, rng: random.Random) -> Iterator[list[Triple]]:
    """One epoch of shuffled batches; the last one may be smaller."""
    shuffled = rng.sample(triples, k=len(triples))
    for start in range(0, len(shuffled), batch_size):
        yield shuffled[start : start + batch_size]
