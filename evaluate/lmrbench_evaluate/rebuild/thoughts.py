"""Take a model's thoughts out of its reply, whatever marks stand around them.

Thoughts hold drafts; the answer stands behind them. A mark has a shape, not a fixed name: a word in
brackets, such as `<word>` and `</word>`, `[BEGIN WORD]` and `[END WORD]`, `<|word>` and `<word|>`.
Names decide only what the place of a mark leaves open.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: Marks of chat templates, such as <|im_end|>, which servers should have removed.
TOKEN = (
    r"(?:<[|\uff5c][\w\u2581./:-]{1,50}[|\uff5c]>|</?s>|<(?:start|end)_of_turn>|<eos>|\[/?INST\])"
)
#: A message of a gpt-oss model begins with its channel; some servers drop the marks, not the words.
_CHANNEL = r"""(?:<\|start\|>\w+)?<\|channel\|>[ ]*\w*(?:[^\n]{0,200}?<\|message\|>)?
    | <\|start\|>\w+<\|message\|>
    | assistant(?:analysis|commentary|final) | \A\s*(?:analysis|commentary)(?=\s*[A-Z\n])
    | \Afinal(?=[ \t]*(?:`{3}|~{3}|@\w|(?:async|def|class|import|from)[ \t]))"""
_MARKS = re.compile(
    rf"""(?P<channel>{_CHANNEL})
    | (?<!["'])[<\[\u25c1\u3010](?P<bar>[|\uff5c]?)(?P<slash>/?)
      (?P<label>[^\W\d_][\w\u2581:.-]{{0,50}}(?:[ \t][^<>\[\]\n]{{0,200}})?)
      (?P<last_bar>[|\uff5c]?)[>\]\u25b7\u3011](?!["']|`(?!``))
    | {TOKEN}""",
    re.VERBOSE,
)
_THOUGHT = re.compile(
    r"think|thought|reason|reflect|analy|comment|scratch|ponder|monolog|draft|plan|deliberat"
    r"|brainstorm|musing|channel|\bcot\b"
)
_ANSWER = re.compile(
    r"answer|final|respon|reply|solution|output|result|code|python|file|function|implement"
    r"|artifact|script|\bpre\b|\."
)
_SIDES = {"begin", "start", "end", "of"}
#: What begins and ends with a turn of a conversation, not with thoughts.
_TURNS = {"im", "text", "turn", "sentence", "header", "message", "s", "inst"}
#: White space and the marks of a template.
_NOTHING = re.compile(rf"(?:\s|{TOKEN}|assistant\b)*+")
#: White space, with the summary of HTML details.
_SUMMARY = re.compile(r"\s*(?:<summary>[^<\n]*</summary>\s*)?")
#: A sentence goes on here.
_GOES_ON = re.compile(r" ?(?!async |def |class |import )[a-z.,;:)]")
Span = tuple[int, int]


class _Mark(NamedTuple):
    """A mark, and where it stands."""

    start: int
    end: int
    key: str
    """The word that an opening mark and its closing mark have in common; empty for a channel."""
    closes: bool
    is_thought: bool
    is_answer: bool
    """Whether it is named like thoughts, or like an answer."""
    stands_out: bool = True
    """It begins a line, or closes and is no part of a sentence; unnamed, it opens the reply."""

    @property
    def opens(self) -> bool:
        """Whether thoughts may begin here."""
        return not self.closes and not self.is_answer


def without_thoughts(
    text: str,
    answer: re.Pattern[str],
    code: Sequence[Span] = (),
    *,
    ends_with_code: bool = False,
) -> str:
    """Return a reply without its thoughts and without the marks around its answer.

    Thoughts are what two marks enclose that are named like thoughts, or that open the reply if more
    follows, unless they enclose nothing but code; and all that stands before a closing mark without
    an opening one, such as that of the final channel. Thoughts that do not end are the rest of the
    reply, or what stands before an answer's mark in it, unless the reply ends with code.

    Args:
        answer: matches where an answer may begin.
        code: spans of the text that are code, in order: what stands in them is no mark.
        ends_with_code: whether the reply ends with code and was not cut.
    """
    ends = [match.end() for match in answer.finditer(text)]
    thoughts = _Thoughts(text, code, max(ends, default=0))
    for mark in _marks(text, code):
        if mark.opens:
            thoughts.open(mark)
        elif mark.is_answer:
            thoughts.note_answer(mark)
        else:
            thoughts.close(mark)
    for mark in thoughts.opened.values():
        if _never_ends(mark, text, ends_with_code):
            is_answered = mark.start < thoughts.answer_start
            end = thoughts.answer_start if is_answered else len(text)
            thoughts.left_out.append((mark.start, end))
    return _cut_out(text, thoughts.left_out)


class _Thoughts:
    """The thoughts of a reply, of which the marks are read in order."""

    def __init__(self, text: str, code: Sequence[Span], last_answer: int) -> None:
        self.text = text
        self.code = code
        self.last_answer = last_answer
        """The end of the last place where an answer may begin."""
        self.left_out: list[Span] = []
        self.opened: dict[str, _Mark] = {}
        self.answer_start = 0
        """The place of the last mark that begins a line and an answer; 0 if there is none."""
        self.head = _skip(_NOTHING, text, 0)
        """Where the reply begins behind the thoughts so far."""

    def open(self, mark: _Mark) -> None:
        """Note a mark that may begin thoughts."""
        stands_out = mark.stands_out if mark.is_thought else mark.start <= self.head
        self.opened.setdefault(mark.key, mark._replace(stands_out=stands_out))

    def note_answer(self, mark: _Mark) -> None:
        """Leave out the mark of an answer."""
        self.leave_out(mark.start, mark.end)
        if not mark.closes and mark.stands_out and mark.end <= self.last_answer:
            self.answer_start = mark.start

    def close(self, mark: _Mark) -> None:
        """Leave out what a mark ends, if it ends thoughts."""
        opening = self.opened.pop(mark.key, None)
        if opening and not opening.is_thought and self._is_code(opening.end, mark.start):
            self.leave_out(opening.start, opening.end)
            self.leave_out(mark.start, mark.end)
            return
        is_followed = _skip(_NOTHING, self.text, mark.end) < len(self.text)
        if _are_thoughts(opening, mark, is_followed, self.last_answer >= mark.end):
            self.leave_out(opening.start if opening else 0, mark.end)

    def _is_code(self, start: int, end: int) -> bool:
        """Return whether nothing but code stands here, perhaps with a summary: drafts have prose.

        It stops at the first other text, so that nested marks take no more than linear time.
        """
        position = _skip(_SUMMARY, self.text, start)
        is_code = False
        while position < end:
            block = _span_at(position, self.code)
            if not block:
                return False
            is_code = True
            position = _skip(_SUMMARY, self.text, block[1])
        return is_code

    def leave_out(self, start: int, end: int) -> None:
        """Leave out a part of the reply."""
        self.left_out.append((start, end))
        if start <= self.head:
            self.head = _skip(_NOTHING, self.text, end)


def _are_thoughts(
    opening: _Mark | None, closing: _Mark, is_followed: bool, is_answered: bool
) -> bool:
    """Return whether two marks, or the reply's start and a mark, enclose thoughts.

    Args:
        is_followed: some text stands behind them.
        is_answered: an answer may begin behind them.
    """
    first = opening or closing
    if first.is_thought:
        return first.stands_out or is_answered
    return first.stands_out and (is_followed if opening else is_answered)


def _never_ends(mark: _Mark, text: str, ends_with_code: bool) -> bool:
    """Return whether an opening mark without a closing one begins thoughts."""
    is_shouted = mark.is_thought and text[mark.start : mark.end].isupper()
    is_heading = text[mark.start] == "[" and not is_shouted
    if is_heading or not mark.stands_out:
        return False
    is_channel = not mark.key
    return is_channel or not ends_with_code


def _cut_out(text: str, spans: list[Span]) -> str:
    """Return a text with a line end in the place of each span."""
    pieces = list[str]()
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces.append(text[position:start])
        position = max(position, end)
    return "\n".join([*pieces, text[position:]])


def _skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where what stands here and matches a pattern ends."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _marks(text: str, code: Sequence[Span]) -> Iterator[_Mark]:
    """Yield the marks of a text outside of its code."""
    end = 0
    begins_line = True
    for match in _MARKS.finditer(text):
        if _span_at(match.start(), code):
            continue
        gap = text[end : match.start()]
        line = gap.rpartition("\n")[2]
        begins_line = (begins_line or "\n" in gap) and not line.strip()
        end = match.end()
        mark = _read_mark(match)
        if mark and mark.key and not begins_line:
            is_in_prose = gap[-1:].isspace() and _GOES_ON.match(text, end)
            mark = mark._replace(stands_out=mark.closes and not is_in_prose)
        if mark:
            yield mark


def _span_at(position: int, spans: Sequence[Span]) -> Span | None:
    """Return the span that holds a position; the spans are in order."""
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    if index < 0 or position >= spans[index][1]:
        return None
    return spans[index]


def _read_mark(match: re.Match[str]) -> _Mark | None:
    """Return a mark; None for a token of a chat template."""
    if match["channel"]:
        is_final = not _THOUGHT.search(match[0].replace("channel", ""))
        return _Mark(*match.span(), "", closes=is_final, is_thought=True, is_answer=False)
    label = (match["label"] or "").lower()
    words = re.findall(r"[^\W_]+", label)
    names = [word for word in words if word not in _SIDES]
    if not names or names[0] in _TURNS:
        return None
    is_thought = bool(_THOUGHT.search(label))
    if not is_thought and _is_token(match, words):
        return None
    is_answer = not is_thought and bool(_ANSWER.search(label))
    return _Mark(*match.span(), names[0], _is_closing(match, words), is_thought, is_answer)


def _is_token(match: re.Match[str], words: Sequence[str]) -> bool:
    """Return whether a mark has two bars and no side, such as <|word|>."""
    has_bars = bool(match["bar"] and match["last_bar"])
    return has_bars and not match["slash"] and _SIDES.isdisjoint(words)


def _is_closing(match: re.Match[str], words: Sequence[str]) -> bool:
    """Return whether a mark closes, such as </word>, <word|> and [END WORD]."""
    is_last_bar = match["last_bar"] and not match["bar"]
    return bool(match["slash"] or is_last_bar) or "end" in (words[0], words[-1])
