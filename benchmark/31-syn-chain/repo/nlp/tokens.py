"""Documents and tokens; attributes have the names and meanings that they have in spaCy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class Token:
    """One token of a document. Two tokens are equal if they are the same object.

    Attributes:
        doc: the document it belongs to.
        i: position in the document, counted from 0 over all of its sentences.
        idx: offset of the first character in the text.
        text: surface form, without the blank that may follow.
        whitespace_: the blank that follows in the text, or "".
        lemma_: base form.
        pos_: coarse tag (universal part of speech).
        tag_: fine tag (Penn Treebank).
        dep_: label of the arc from the head; "ROOT" for the root of a sentence.
        morph: morphological features such as "Number=Sing", or "".
        is_sent_start: whether a sentence begins here.
    """

    doc: "Doc" = field(repr=False)
    i: int
    idx: int
    text: str
    whitespace_: str
    lemma_: str = ""
    pos_: str = ""
    tag_: str = ""
    dep_: str = ""
    morph: str = ""
    is_sent_start: bool = False
    _head: int = 0

    @property
    def head(self) -> "Token":
        """The token that this one depends on; the root of a sentence is its own head."""
        return self.doc[self._head]

    @head.setter
    def head(self, token: "Token") -> None:
        self._head = token.i

    @property
    def children(self) -> list["Token"]:
        """The tokens that depend on this one, in order of the text."""
        return [token for token in self.doc if token.head is self and token is not self]

    @property
    def is_space(self) -> bool:
        """Whether the token consists of white space."""
        return self.text.isspace()


class Doc:
    """A parsed text: a sequence of tokens, of one sentence or several.

    Args:
        words: surface forms.
        spaces: for each word, whether a blank follows; always if None.
    """

    def __init__(self, words: Sequence[str], spaces: Sequence[bool] | None = None) -> None:
        self._tokens: list[Token] = []
        offset = 0
        for i, (word, space) in enumerate(zip(words, spaces or [True] * len(words), strict=True)):
            self._tokens.append(Token(self, i, offset, word, " " if space else "", _head=i))
            offset += len(word) + space

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, i: int) -> Token:
        return self._tokens[i]

    def __iter__(self) -> Iterator[Token]:
        return iter(self._tokens)

    @property
    def text(self) -> str:
        """The text that was parsed, to the letter."""
        return "".join(token.text + token.whitespace_ for token in self)

    @property
    def sents(self) -> Iterator[list[Token]]:
        """The sentences, each a list of tokens; white space belongs to the sentence before it."""
        sentence: list[Token] = []
        for token in self:
            if token.is_sent_start and sentence:
                yield sentence
                sentence = []
            sentence.append(token)
        if sentence:
            yield sentence
