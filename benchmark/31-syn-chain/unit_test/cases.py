"""Labelled inputs for dependency-parse-to-conll-table. All outputs are text and compared exactly.

Core cases compare lines without what is blank at their ends, and use words that fit into their columns.
"""

import random
from collections.abc import Sequence

from conll_tree import spacy_result_to_conll
from lmrbench_cases import compare, core
from nlp.parser import Pipeline
from nlp.tokens import Doc

CLAUSES = ["the fish was fresh", "the waiter didn't smile", "we love the bright screen", "it cost $24.50 (or more)"]
CLAUSES += ["the keyboard feels cheap", "I recommend the chef's sushi", "the room was not very quiet"]
#: Columns of a token that hold strings, and their widths.
FIELDS = {"text": 10, "lemma_": 10, "pos_": 6, "tag_": 6, "dep_": 8}
Row = tuple[str, str, str, str, str, int]


def sentences(seed: int, count: int) -> list[str]:
    """Sentences of one or two clauses."""
    rng = random.Random(seed)
    joined = [
        rng.choice([", but ", " and ", " because ", ", although "]).join(rng.sample(CLAUSES, 2)) for _ in range(3)
    ]
    return [f"{text[0].upper()}{text[1:]}{rng.choice('.!?')}" for text in rng.sample([*joined, *CLAUSES], count)]


def lines(table: str) -> list[str]:
    """Lines of a table without blanks at their ends."""
    return [line.rstrip(" ") for line in table.rstrip("\n").split("\n")]


def document(rows: Sequence[Row]) -> Doc:
    """A document with these attributes: text, lemma, coarse tag, fine tag, label, position of the head from 0."""
    doc = Doc([row[0] for row in rows])
    for token, (_, *values, head) in zip(doc, rows, strict=True):
        token.lemma_, token.pos_, token.tag_, token.dep_ = values
        token.head = doc[head]
        token.morph = "Number=Sing|Case=Nom"
    return doc


def table_of(doc: Doc) -> str:
    """The table of a document that stands in for the parse of any text."""
    Pipeline.__call__ = lambda self, text: doc
    return spacy_result_to_conll("any text")


def random_rows(seed: int, count: int, alphabet: str, longest: int) -> list[Row]:
    """Rows of random strings and heads."""
    rng = random.Random(f"{seed} {count} {alphabet}")
    word = lambda: "".join(rng.choices(alphabet, k=rng.randint(1, longest)))  # noqa: E731
    return [(word(), word(), word(), word(), word(), rng.randrange(count)) for _ in range(count)]


@core
@compare(exact=True)
def case_single_sentences(seed):
    """The repository's own parses: contractions, punctuation, numbers, a symbol, clauses that hang on others."""
    return [lines(spacy_result_to_conll(text)) for text in sentences(seed, 6)]


@core
@compare(exact=True)
def case_several_sentences(seed):
    """Several sentences, each with a root of its own."""
    return [lines(spacy_result_to_conll(" ".join(sentences(seed + 10 * count, count)))) for count in (2, 3, 4)]


@core
@compare(exact=True)
def case_many_tokens(seed):
    """Numbers of one to three digits."""
    rng = random.Random(seed)
    words = ["service", "the", "good", "was", "pizza", ",", "bad", "and", "never"]
    return lines(spacy_result_to_conll(" ".join(rng.choices(words, k=120)) + "."))


@core
@compare(exact=True)
def case_surface_lemma_and_tags(seed):
    """Case of words, lemmas and tags stays; labels do not tell which tokens are their own heads."""
    rows = [
        ("Paris", "Paris", "PROPN", "NNP", "nsubj", 1),
        ("WAS", "be", "AUX", "VBD", "ROOT", 1),
        ("n't", "not", "PART", "RB", "neg", 1),
        ("(", "(", "PUNCT", "-LRB-", "punct", 1),
        ("NICE", "nice", "ADJ", "JJ", "conj", 4),
    ]
    random.Random(seed).shuffle(rows)
    return lines(table_of(document([*rows, ("Ok", "ok", "INTJ", "UH", "ROOT", 5)])))


@compare(exact=True)
def case_whole_table(seed):
    """Padding at the ends of lines, and the last line end."""
    first, second = sentences(seed, 2)
    return [spacy_result_to_conll(first), spacy_result_to_conll(f"{first} {second}")]


@compare(exact=True)
def case_header_alone(seed):
    """No text, no rows; whatever the parser returns is shown."""
    word = CLAUSES[seed % len(CLAUSES)].split()[-1]
    return {"no text": spacy_result_to_conll(""), "a word": spacy_result_to_conll(word)}


@compare(exact=True)
def case_white_space(seed):
    """Blanks and line breaks that are tokens, at the start, in the middle, at the end, or all there is."""
    first, second = sentences(seed, 2)
    texts = ("   ", f" {first}", f"{first}  ", f"{first}  {second}", f"{first}\n\n{second}\n", f"{first}\t{second}")
    return [spacy_result_to_conll(text) for text in texts]


@compare(exact=True)
def case_long_cells(seed):
    """Each column in turn, filled just to its width and beyond."""
    tables = []
    for field, width in FIELDS.items():
        doc = document(random_rows(seed, 4, "abcXYZ", 4))
        for token, extra in zip(doc, (-1, 0, 1, 15), strict=True):
            setattr(token, field, "q" * (width + extra))
        tables.append(table_of(doc))
    return tables


@compare(exact=True)
def case_arbitrary_attributes(seed):
    """Strings that no tagger gives, in every column, empty ones included; letters of any script; format characters."""
    empty = document(random_rows(seed, 5, "abc", 5))
    for field, token in zip(list(FIELDS)[1:], empty, strict=False):
        setattr(token, field, "")
    return {
        "letters": table_of(document(random_rows(seed, 12, "abcXYZéß", 6))),
        "wide letters": table_of(document(random_rows(seed, 8, "日本語🍕", 5))),
        "punctuation": table_of(document(random_rows(seed, 12, "{}%_-|\\'\"#.:<>0", 5))),
        "empty": table_of(empty),
    }


@compare(exact=True)
def case_document_unchanged(seed):
    """The document is only read."""
    doc = document(random_rows(seed, 5, "abc", 6))
    table = table_of(doc)
    return {
        "table": lines(table),
        "document": [[token.i, token.head.i, *map(vars(token).get, FIELDS)] for token in doc],
    }
