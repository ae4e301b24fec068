"""The reasoning chain: syntax, then opinion, then sentiment, each step with the answer of the one before."""

import re
from dataclasses import dataclass
from typing import Protocol

from conll_tree import spacy_result_to_conll
from metrics import LABELS
from prompts import DIRECT, OPINION, SENTIMENT, SYNTAX


class LanguageModel(Protocol):
    """Anything that answers a prompt."""

    def reply(self, prompt: str) -> str: ...


@dataclass(frozen=True)
class ChainResult:
    """Answers of the three steps.

    Attributes:
        relations: words that the parse relates to the aspect.
        opinion: the opinion among them.
        sentiment: "positive", "negative" or "neutral".
    """

    relations: str
    opinion: str
    sentiment: str


def read_label(reply: str) -> str:
    """The label, one of `LABELS`, that a model's answer to the last prompt stands for; the answer may be any text."""
    found = re.findall(rf"\b({'|'.join(LABELS)})\b", reply.lower())
    return found[-1] if found else "neutral"


def run_chain(model: LanguageModel, sentence: str, aspect: str) -> ChainResult:
    """Find the sentiment of a sentence towards one aspect in three steps.

    Args:
        model: answers each prompt of `prompts.py` once.
        sentence: the text as it is.
        aspect: a word or phrase of the text.

    Returns:
        The answers to the first two prompts as they are, and the label that `read_label` finds in the third.
    """
    table = spacy_result_to_conll(sentence)
    relations = model.reply(SYNTAX.format(sentence=sentence, table=table, aspect=aspect))
    opinion = model.reply(OPINION.format(sentence=sentence, aspect=aspect, relations=relations))
    sentiment = model.reply(SENTIMENT.format(sentence=sentence, aspect=aspect, opinion=opinion))
    return ChainResult(relations, opinion, read_label(sentiment))


def run_direct(model: LanguageModel, sentence: str, aspect: str) -> str:
    """Ask for the sentiment at once, without a parse."""
    return model.reply(DIRECT.format(sentence=sentence, aspect=aspect))
