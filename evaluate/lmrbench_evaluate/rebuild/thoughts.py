"""Take a model's thoughts out of its reply, whatever marks stand around them.

Thoughts hold drafts; the answer stands behind them. A mark has a shape, not a name of ours: a word in brackets, such as
`<word>` and `</word>`, `[BEGIN WORD]` and `[END WORD]`, `<|word>` and `<word|>`. Names decide only what the place of a
mark leaves open.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from lmrbench_data.base.source import SourceError, parse

#: Marks of chat templates, such as <|im_end|>, which servers should have removed.
TOKEN = r"(?:<[|\uff5c][\w\u2581./:-]{1,50}[|\uff5c]>|</?s>|<(?:start|end)_of_turn>|<eos>|\[/?INST\])"
#: The end of a mark behind which a line of an answer may begin.
BEHIND_MARK = r"(?<=[>\]\u25b7\u3011])|(?<=\bassistantfinal)|(?<=\Afinal)"
_CODE = r"(?=[ \t]*(?:`{3}|~{3}|@\w|(?:async[ \t]+)?def[ \t]|class[ \t]|import[ \t]|from[ \t]))"
#: A message of a gpt-oss model begins with its channel; some servers drop the marks and keep the words.
_CHANNEL = rf"""(?:<\|start\|>\w+)?<\|channel\|>[ ]*(?P<channel>\w*)(?:[^\n]{{0,200}}?<\|message\|>)?
    | <\|start\|>\w+<\|message\|>
    | assistant(?P<spoken>analysis|commentary|final)
    | \A\s*(?P<first>analysis|commentary)(?=\s*[A-Z\n]) | \Afinal{_CODE}"""
_MARKS = re.compile(
    rf"""(?P<header>{_CHANNEL})
    | (?<!["'])(?P<left>[<\[\u25c1\u3010][|\uff5c]?)(?P<slash>/?)
      (?P<label>[^\W\d_][\w\u2581:.-]{{0,50}}(?:[ \t][^<>\[\]\n]{{0,200}})?)
      (?P<right>[|\uff5c]?[>\]\u25b7\u3011])(?!["']|`(?!``))(?=(?P<word>\w{{0,20}}))
    | {TOKEN}""",
    re.VERBOSE,
)
_BEGIN_OR_END = re.compile(
    r"(?P<kind>begin|start|end)[\W_]+(?:of[\W_]+)?(?P<of>.+)|(?P<what>.+?)[\W_]+(?P<last>begin|start|end)"
)
_THOUGHT = re.compile(
    r"think|thought|reason|reflect|analy|comment|scratch|ponder|monolog|draft|plan|deliberat|brainstorm|musing|\bcot\b"
)
_ANSWER = re.compile(
    r"answer|final|respon|reply|solution|output|result|code|python|file|function|implement|artifact|script|\bpre\b|\."
)
#: What begins and ends with a turn of a conversation, not with thoughts.
_TURNS = {"im", "text", "turn", "sentence", "header_id", "message", "s", "inst"}
_NOTHING = re.compile(rf"(?:\s|{TOKEN}|assistant\b)*+")
_LINE_END = re.compile(rf"[ \t]*+$|{_CODE}|[A-Z#*]", re.MULTILINE)
Span = tuple[int, int]


class _Mark(NamedTuple):
    """A mark, and where it stands."""

    start: int
    end: int
    closes: bool
    key: str
    """The word that an opening mark and its closing mark have in common; empty for a channel."""
    label: str
    """All words of the mark."""
    begins_line: bool
    """Nothing but other marks stands before it in its line."""
    ends_line: bool
    """Nothing stands behind it in its line, or code or a sentence begins there."""
    leads: bool = False
    """Nothing but other marks and thoughts stands before it in the reply."""

    @property
    def is_thought(self) -> bool:
        """Whether it is named like thoughts."""
        return bool(_THOUGHT.search(self.label))

    @property
    def is_answer(self) -> bool:
        """Whether it is named like an answer."""
        return not self.is_thought and bool(_ANSWER.search(self.label))


def without_thoughts(text: str, answer: re.Pattern[str], code: Sequence[Span] = (), *, is_cut: bool = False) -> str:
    """Return a reply without its thoughts and without the marks around its answer.

    Thoughts are what two marks enclose that are named like thoughts, or that open the reply if more follows; all that
    stands before a closing mark without an opening one; and all before the final channel.

    Args:
        answer: matches where an answer may begin.
        code: spans of the text that are code, in order: what stands in them is no mark.
        is_cut: whether the reply was cut, so that thoughts may lack their end.
    """
    marks, filled = _marks(text, code)
    last_answer = max((match.end() for match in answer.finditer(text)), default=0)
    left_out, opened, head = list[Span](), dict[str, _Mark](), _end_of_nothing(text, 0)
    for mark in marks:
        mark = mark._replace(leads=mark.start <= head)
        if not mark.closes:
            opened.setdefault(mark.key, mark)
            if not (mark.is_answer and (mark.begins_line or mark.leads)):
                continue
            start = mark.start
        elif not mark.key:  # the final channel
            start = 0
            opened.clear()
        else:
            opening = opened.pop(mark.key, None)
            if _is_thoughts(opening, mark, last_answer >= mark.end, filled > mark.end):
                start = opening.start if opening else 0
            elif opening and opening.is_answer and (opening.begins_line or opening.leads):
                start = mark.start
            else:
                continue
        left_out.append((start, mark.end))
        if start <= head:
            head = _end_of_nothing(text, mark.end)
    for opening in opened.values():
        is_thought = opening.is_thought or (opening.leads and not opening.is_answer)
        words = text[opening.start : opening.end]
        is_heading = words.startswith("[") and not words.isupper()
        is_harmless = not is_cut and opening.key and (is_heading or _ends_with_code(text, answer))
        if opening.begins_line and is_thought and not is_harmless:
            left_out.append((opening.start, len(text)))
    return _cut_out(text, left_out)


def _is_thoughts(opening: _Mark | None, closing: _Mark, is_answered: bool, is_followed: bool) -> bool:
    """Return whether two marks, or the text's start and a mark, enclose thoughts.

    Args:
        is_answered: an answer may begin behind them.
        is_followed: some text stands behind them.
    """
    first = opening or closing
    if first.is_answer:
        return False
    if opening is None:
        stands_out = closing.begins_line or closing.ends_line
        return [stands_out, is_answered, closing.is_thought].count(True) >= 2
    if first.is_thought:
        return opening.begins_line or is_answered
    return opening.leads and is_followed


def _ends_with_code(text: str, answer: re.Pattern[str]) -> bool:
    """Return whether code stands last in a text: then it is the answer, although its thoughts do not end."""
    if text.rstrip().endswith(("```", "~~~")):
        return True
    try:
        parse(text[max((match.start() for match in answer.finditer(text)), default=0) :])
    except SourceError:
        return False
    return True


def _cut_out(text: str, spans: list[Span]) -> str:
    """Return a text with a line end in the place of each span."""
    kept, position = list[str](), 0
    for start, end in sorted(spans):
        if start >= position:
            kept.append(text[position:start])
        position = max(position, end)
    return "\n".join([*kept, text[position:]])


def _end_of_nothing(text: str, start: int) -> int:
    """Return where the white space and the marks of a template end that stand here."""
    nothing = _NOTHING.match(text, start)
    return nothing.end() if nothing else start


def _marks(text: str, code: Sequence[Span]) -> tuple[list[_Mark], int]:
    """Return the marks of a text, and where the last mark with text before it starts."""
    marks, end, filled, begins_line = list[_Mark](), 0, 0, True
    for match in _MARKS.finditer(text):
        place = bisect_right(code, (match.start(), len(text))) - 1
        if place >= 0 and match.start() < code[place][1]:
            continue
        gap = text[end : match.start()]
        filled = match.start() if gap.strip() else filled
        begins_line = (begins_line or "\n" in gap) and not gap.rpartition("\n")[2].strip()
        end = match.end()
        if kind := _kind(match):
            marks.append(_Mark(match.start(), end, *kind, begins_line, bool(_LINE_END.match(text, end))))
    return marks, len(text) if text[end:].strip() else filled


def _kind(match: re.Match[str]) -> tuple[bool, str, str] | None:
    """Return of a mark whether it closes, its key and its label; None for a token of a chat template."""
    if match["header"]:
        channel = (match["channel"] or match["spoken"] or match["first"] or "final").lower()
        return not _THOUGHT.search(channel), "", channel
    if match["label"] is None:
        return None
    label, has_left_bar, has_right_bar = match["label"].lower(), match["left"][1:] != "", match["right"][:-1] != ""
    parts = _BEGIN_OR_END.fullmatch(label)
    if parts:
        key = parts["of"] or parts["what"]
        return None if key in _TURNS else ("end" in (parts["kind"], parts["last"]), key, key)
    key = label.split()[0]
    if key in _TURNS or (has_left_bar and has_right_bar and not match["slash"] and not _THOUGHT.search(label)):
        return None
    word = match["word"] or "" if has_left_bar and not has_right_bar else ""
    return bool(match["slash"]) or (has_right_bar and not has_left_bar), key, f"{label} {word}".lower()
