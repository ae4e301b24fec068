"""Labelled inputs for dependency-parse-to-conll-table. All outputs are text and compared exactly."""

import random
from collections.abc import Sequence

from conll_tree import spacy_result_to_conll
from lmrbench_cases import compare
from nlp.parser import Pipeline
from nlp.tokens import Doc

SENTENCES = [
    "The fish was fresh.",
    "I love the bright screen of this laptop, although the keyboard feels cheap.",
    "The waiter didn't forget our drinks, but the pizza wasn't very good!",
    "Great food at a fair price",
    "They say the chef's sushi isn't worth $24.50 (or 1,000 yen).",
    "Although the room was noisy, the dessert didn't disappoint.",
]

#: Columns of a token that hold strings.
FIELDS = ("text", "lemma_", "pos_", "tag_", "dep_")


def rotated(items: Sequence[str], seed: int) -> list[str]:
    """The items, beginning elsewhere for each seed."""
    start = seed % len(items)
    return [*items[start:], *items[:start]]


def document(rows: Sequence[tuple[str, str, str, str, str, int]], starts: Sequence[int] = (0,)) -> Doc:
    """A document with these attributes: text, lemma, coarse tag, fine tag, label, position of the head from 0."""
    doc = Doc([row[0] for row in rows])
    for token, (_, *values, head) in zip(doc, rows, strict=True):
        token.lemma_, token.pos_, token.tag_, token.dep_ = values
        token.head = doc[head]
        token.morph = "Number=Sing|Case=Nom"
        token.is_sent_start = token.i in starts
    return doc


def table_of(doc: Doc, text: str = "any text") -> str:
    """The table of a document that stands in for the parse of any text."""
    Pipeline.__call__ = lambda self, text: doc
    return spacy_result_to_conll(text)


def random_rows(seed: int, count: int, alphabet: str, longest: int) -> list[tuple[str, str, str, str, str, int]]:
    """Rows of random strings and heads."""
    rng = random.Random(f"{seed} {count} {alphabet}")
    word = lambda: "".join(rng.choices(alphabet, k=rng.randint(1, longest)))  # noqa: E731
    return [(word(), word(), word(), word(), word(), rng.randrange(count)) for _ in range(count)]


@compare(exact=True)
def case_single_sentences(seed):
    """The repository's own parses: subjects before and after, contractions, punctuation, numbers, a symbol."""
    return [spacy_result_to_conll(sentence) for sentence in rotated(SENTENCES, seed)]


@compare(exact=True)
def case_several_sentences(seed):
    """Numbers and heads run on; every sentence has a root that is its own head."""
    order = random.Random(seed).sample(SENTENCES[:3] + SENTENCES[4:], 4)
    return {
        "two": spacy_result_to_conll(f"{order[0]} {order[1]}"),
        "no blank": spacy_result_to_conll("Bad. Worse! Who knows? Not me..."),
        "four": spacy_result_to_conll(" ".join(order)),
    }


@compare(exact=True)
def case_header_alone(seed):
    """No text, no rows."""
    return {"no text": spacy_result_to_conll(""), "no tokens": table_of(Doc([]), rotated(SENTENCES, seed)[0])}


@compare(exact=True)
def case_white_space(seed):
    """Blanks and line breaks that are tokens, at the start, in the middle, at the end, or all there is."""
    texts = (" ", "   ", "\n", "\t", " good", "good ", "good  ", "good   bad", "So good.  So bad.", "good\nbad")
    texts += ("good \n\n bad", "Good.\r\nBad.", "good\tbad ", "\n Good. \n", "good\u00a0bad", "\u2028good", "\x0b\x0c")
    return {repr(text): spacy_result_to_conll(text) for text in rotated(texts, seed)}


@compare(exact=True)
def case_other_scripts_and_symbols(seed):
    """Letters of any script, emojis, combining marks, braces, percent signs, quotation marks and bars."""
    texts = [
        "Crème brûlée für 5 €: très bon!",
        "寿司 is good. 🍣🍣 Straße",
        "e\u0301tude A\u030angstro\u0308m",
        "{0} {text} %s %(lemma)s $x \\n {{}}",
        "\"Good\" 'bad' “dull” a|b _ - # comment",
        "DON'T can’t I'm they'd well-known 12:30 3.5% ...",
    ]
    return [spacy_result_to_conll(text) for text in rotated(texts, seed)]


@compare(exact=True)
def case_long_words(seed):
    """Cells of exactly the width, one more and many more, from the parser."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdef", k=length)) for length in (8, 9, 10, 11, 12, 30)]
    return [spacy_result_to_conll(f"The {word} was unbelievably-disappointing.") for word in words]


@compare(exact=True)
def case_every_column_overflows(seed):
    """Each column in turn, filled just to its width and beyond."""
    widths = dict(zip(FIELDS, (10, 10, 6, 6, 8), strict=True))
    tables = []
    for field, width in widths.items():
        doc = document(random_rows(seed, 4, "abcXYZ", 4))
        for token, extra in zip(doc, (-1, 0, 1, 15), strict=True):
            setattr(token, field, "q" * (width + extra))
        tables.append(table_of(doc))
    tables.append(table_of(document(random_rows(seed, 5, "abcdefgh", 25))))
    return tables


@compare(exact=True)
def case_arbitrary_attributes(seed):
    """Strings that no tagger gives, in every column, and heads anywhere."""
    return {
        "letters": table_of(document(random_rows(seed, 12, "abcXYZ", 6))),
        "punctuation": table_of(document(random_rows(seed, 12, "{}%_-|\\'\"#.:<>0", 5))),
        "blanks": table_of(document(random_rows(seed, 12, "a \t", 4))),
        "line breaks": table_of(document(random_rows(seed, 6, "ab\n\r\u2028\x85", 4))),
        "letters of two columns": table_of(document(random_rows(seed, 8, "日本語한국🍕é\u0301", 7))),
    }


@compare(exact=True)
def case_empty_attributes(seed):
    """Attributes that the parser left empty give blank cells, one column at a time and all at once."""
    tables = []
    for field in FIELDS[1:]:
        doc = document(random_rows(seed, 3, "abc", 5))
        setattr(doc[seed % 3], field, "")
        tables.append(table_of(doc))
    tables.append(table_of(Doc(["bare", "words"])))
    return tables


@compare(exact=True)
def case_heads(seed):
    """Chains to either side, a star, all roots, and labels that do not tell who is the root."""
    rng = random.Random(seed)
    count = 14
    shapes = {
        "to the left": [max(i - 1, 0) for i in range(count)],
        "to the right": [min(i + 1, count - 1) for i in range(count)],
        "star": [7] * count,
        "all roots": list(range(count)),
        "any": [rng.randrange(count) for _ in range(count)],
    }
    tables = {}
    for name, heads in shapes.items():
        labels = ["ROOT" if rng.random() < 0.3 else rng.choice(["nsubj", "root", "dep", "Root"]) for _ in heads]
        rows = [
            (f"w{i}", "w", "X", "XX", label, head) for i, (label, head) in enumerate(zip(labels, heads, strict=True))
        ]
        tables[name] = table_of(document(rows))
    return tables


@compare(exact=True)
def case_sentence_starts(seed):
    """A document of several sentences, one of a single token, with arcs inside each and across."""
    rows = random_rows(seed, 13, "abcde", 8)
    inside = [(*row[:-1], start) for row, start in zip(rows, [0, 0, 0, 3, 4, 4, 4, 4, 4, 9, 9, 9, 9], strict=True)]
    return {
        "inside": table_of(document(inside, starts=(0, 3, 4, 9))),
        "across": table_of(document(rows, starts=(0, 3, 4, 9))),
    }


@compare(exact=True)
def case_many_tokens(seed):
    """Numbers of one to four digits."""
    rng = random.Random(seed)
    words = ["service", "the", "good", "was", "pizza", ",", "bad", "and", "never"]
    text = " ".join(rng.choices(words, k=130))
    return {"parsed": spacy_result_to_conll(text), "given": table_of(document(random_rows(seed, 1005, "abc", 3)))}


@compare(exact=True)
def case_surface_and_lemma(seed):
    """Case stays: lemmas and tags are not lower-cased, and the text is not taken for the lemma."""
    rows = [
        ("Paris", "Paris", "PROPN", "NNP", "nsubj", 1),
        ("WAS", "BE", "Aux", "vbd", "root", 1),
        ("n't", "Not", "part", "Rb", "NEG", 1),
        ("(", "(", "PUNCT", "-LRB-", "punct", 1),
        ("I", "-PRON-", "", "", "x", 0),
    ]
    random.Random(seed).shuffle(rows)
    return table_of(document(rows))


@compare(exact=True)
def case_text_reaches_the_parser_whole(seed):
    """The parser is given the text as it is, and whatever it returns is shown; the document is only read."""
    seen = set()
    doc = document(random_rows(seed, 5, "abc", 6), starts=(0, 2))

    def parse(self: Pipeline, text: str) -> Doc:
        seen.add(text)
        return doc

    Pipeline.__call__ = parse
    before = [tuple(getattr(token, field) for field in (*FIELDS, "i", "_head", "morph")) for token in doc]
    first, second, *_ = rotated(SENTENCES, seed)
    texts = [f"  {first} {second}\n", "", "A. B. c's"]
    tables = [spacy_result_to_conll(text) for text in texts]
    after = [tuple(getattr(token, field) for field in (*FIELDS, "i", "_head", "morph")) for token in doc]
    return {"seen": seen, "tables": tables, "document_unchanged": before == after}
