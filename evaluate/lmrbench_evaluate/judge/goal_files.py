"""Show a goal file in parts: its goal functions, and the rest in bounded size."""

from collections.abc import Iterable, Sequence

from lmrbench_data.base.source import block_end, find_function, split_lines

_SAME = "[the same as in the reference's file]"


class GoalFile:
    """A file split at its goal functions."""

    def __init__(self, source: str, goals: Iterable[str]) -> None:
        """Split a file.

        Raises:
            SourceError: it cannot be parsed, or does not define each function once.
        """
        self.functions: dict[str, str] = {}
        """Qualified name → source, in the order of the file."""
        self.rest: list[str] = []
        """The text above the first function, between each two, and below the last."""
        lines, done = split_lines(source), 0
        for target, name in sorted(
            ((find_function(source, name), name) for name in goals), key=lambda item: item[0].first_line
        ):
            start, end = target.first_line - 1, block_end(lines, target.node)
            self.functions[name] = "".join(lines[start:end]).rstrip("\n")
            self.rest.append("".join(lines[done:start]))
            done = end
        self.rest.append("".join(lines[done:]))

    def same_rest(self, other: "GoalFile") -> list[bool]:
        """Return for each part of the rest whether another file has the same one in its place."""
        alike = list(self.functions) == list(other.functions)
        return [alike and mine == theirs for mine, theirs in zip(self.rest, other.rest, strict=True)]

    def around(self, limit: int, same: Sequence[bool] = ()) -> str:
        """Return the file without its goal functions.

        Args:
            limit: characters of each part; the middle of a longer one is cut.
            same: the parts that equal those of the reference's file, which need not be shown twice.
        """
        names = list(self.functions)
        shown: list[str] = []
        for number, text in enumerate(self.rest):
            if number:
                shown.append(f"[here stands `{names[number - 1]}`]")
            is_gap = 0 < number < len(names) and not text.strip()
            is_same = not is_gap and bool(same) and same[number]
            shown.append(_SAME if is_same else shorten(text.strip("\n"), limit))
        return "\n\n".join(filter(None, shown))


def common_limit(texts: Iterable[str], each: int, together: int) -> int:
    """Return the length to which texts are cut, so that none has more than `each`, and all have at most `together`."""
    lengths, left = sorted(map(len, texts)), together
    for number, length in enumerate(lengths):
        share = left // (len(lengths) - number)
        if length > share:
            return min(each, share)
        left -= length
    return each


def shorten(text: str, limit: int) -> str:
    """Cut the middle of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"
