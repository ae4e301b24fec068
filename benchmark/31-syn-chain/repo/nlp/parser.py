"""Rule-based dependency parser: a sentence is cut into clauses, each hangs on its predicate, the rest on neighbours."""

from functools import cache

from nlp.tagger import analyse
from nlp.tokenizer import tokenize
from nlp.tokens import Doc, Token

_NOMINAL = frozenset({"NOUN", "PROPN", "PRON"})
#: Coarse tag of a word before a noun -> its label.
_MODIFIERS = {"DET": "det", "ADJ": "amod", "NUM": "nummod", "NOUN": "compound", "PROPN": "compound"}


class Pipeline:
    """Text in, parsed document out; called like a spaCy pipeline, `nlp(text)`."""

    def __call__(self, text: str) -> Doc:
        """Tokenise, tag and parse a text of any number of sentences, the empty one included."""
        doc = Doc(*tokenize(text))
        starts = True
        for token in doc:
            token.is_sent_start = token.i == 0 or (starts and not token.is_space)
            result = analyse(token.text, starts)
            token.lemma_, token.pos_, token.tag_, token.morph = result
            starts = (starts and token.is_space and token.i > 0) or token.tag_ == "."
        for sentence in doc.sents:
            parse_sentence(sentence)
        return doc


@cache
def load_pipeline() -> Pipeline:
    """The parser of this repository; there is only one."""
    return Pipeline()


def attach(token: Token, head: Token, label: str) -> None:
    """Make `token` a dependent of `head`."""
    token.head, token.dep_ = head, label


def parse_sentence(sentence: list[Token]) -> None:
    """Set head and label of every token of one sentence."""
    clauses = split_clauses([token for token in sentence if not token.is_space])
    if not clauses:  # nothing but white space
        clauses = [sentence]
    predicates = [find_predicate(clause) for clause in clauses]
    main = (predicate for clause, predicate in zip(clauses, predicates, strict=True) if clause[0].pos_ != "SCONJ")
    root = next(main, predicates[0])
    attach(root, root, "ROOT")
    for clause, predicate in zip(clauses, predicates, strict=True):
        first = clause[0]
        if predicate is not root:
            attach(predicate, root, "advcl" if first.pos_ == "SCONJ" else "conj")
        parse_clause(clause, predicate, root)
    for token in sentence:
        if token.is_space and token is not root:
            attach(token, token.doc[token.i - 1] if token.i > sentence[0].i else root, "dep")


def split_clauses(tokens: list[Token]) -> list[list[Token]]:
    """Cut before conjunctions, and at the comma behind a subordinate clause, if there is a verb on either side."""
    clauses: list[list[Token]] = [[]]
    for place, token in enumerate(tokens):
        ends_subordinate = token.text == "," and clauses[-1] and clauses[-1][0].pos_ == "SCONJ"
        starts_clause = token.pos_ in ("SCONJ", "CCONJ") or ends_subordinate
        if starts_clause and any(map(is_verbal, clauses[-1])) and any(map(is_verbal, tokens[place:])):
            clauses.append([])
        clauses[-1].append(token)
    return [clause for clause in clauses if clause]


def is_verbal(token: Token) -> bool:
    """Whether a token can be the predicate of a full clause."""
    return token.pos_ in ("VERB", "AUX")


def find_predicate(clause: list[Token]) -> Token:
    """The first full verb, or else an auxiliary, a noun, anything but punctuation, anything."""
    tests = (
        lambda token: token.pos_ == "VERB",
        lambda token: token.pos_ == "AUX",
        lambda token: token.pos_ in ("NOUN", "PROPN"),
        lambda token: token.pos_ != "PUNCT",
    )
    return next((token for test in tests for token in clause if test(token)), clause[0])


def parse_clause(clause: list[Token], predicate: Token, root: Token) -> None:
    """Attach everything in a clause except its predicate."""
    last_preposition: Token | None = None
    last_noun: Token | None = None
    for place, token in enumerate(clause):
        following = clause[place + 1] if place + 1 < len(clause) else None
        noun = phrase_head(clause, place)
        if token is predicate:
            last_preposition = last_noun = None
        elif token.pos_ == "PUNCT":
            attach(token, root, "punct")
        elif token.pos_ == "CCONJ":
            attach(token, root if place == 0 and predicate is not root else last_noun or predicate, "cc")
        elif token.pos_ == "SCONJ":
            attach(token, predicate, "mark")
        elif noun is not None and token.pos_ in _MODIFIERS:
            attach(token, noun, _MODIFIERS[token.pos_])
        elif noun is not None and token.tag_ == "PRP$":
            attach(token, noun, "poss")
        elif token.pos_ in _NOMINAL:
            attach_nominal(token, predicate, last_preposition, last_noun)
            last_preposition, last_noun = None, token
        elif token.pos_ == "ADP":
            attach(token, last_noun or predicate, "prep")
            last_preposition = token
        elif token.lemma_ == "not":
            attach(token, predicate, "neg")
        elif token.pos_ == "ADV":
            modified = following is not None and following.pos_ in ("ADJ", "ADV") and following is not predicate
            attach(token, following if modified and following else predicate, "advmod")
        elif token.pos_ == "ADJ":
            attach(token, predicate, "acomp")
        elif token.pos_ in ("AUX", "PART"):
            attach(token, next_verb(clause, place) or predicate, "aux")
        elif token.pos_ == "VERB":
            attach(token, predicate, "xcomp")
        else:
            attach(token, predicate, "dep")


def attach_nominal(token: Token, predicate: Token, preposition: Token | None, noun: Token | None) -> None:
    """Attach a noun or pronoun that ends its phrase."""
    if preposition is not None:
        attach(token, preposition, "pobj")
    elif token.i < predicate.i:
        attach(token, predicate if noun is None else noun, "nsubj" if noun is None else "conj")
    elif noun is not None:
        attach(token, noun, "conj")
    else:
        attach(token, predicate, "attr" if predicate.pos_ == "AUX" else "dobj")


def phrase_head(clause: list[Token], place: int) -> Token | None:
    """The noun that closes the noun phrase which the token at `place` is in, if it comes later."""
    head = None
    for token in clause[place + 1 :]:
        if token.pos_ in ("NOUN", "PROPN"):
            head = token
        elif head is not None or token.pos_ not in ("ADJ", "NUM", "ADV"):
            break
    return head


def next_verb(clause: list[Token], place: int) -> Token | None:
    """The first verb after `place`."""
    return next((token for token in clause[place + 1 :] if token.pos_ == "VERB"), None)
