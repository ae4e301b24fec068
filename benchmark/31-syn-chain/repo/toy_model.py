"""An offline reader in place of a language model: it knows opinion words and reads parses, and nothing else."""

import re

POSITIVE = frozenset(
    "attentive bright clean comfortable crisp delicious easy enjoy excellent fast fresh friendly good great like love"
    " quiet recommend reliable superb tasty warm work".split()
)
NEGATIVE = frozenset(
    "awful bad bland break cheap cold crash die dirty disappoint dull expensive fail forget fragile hate heavy loud"
    " noisy overpriced poor rude ruin slow stale terrible".split()
)
#: Arcs between clauses: what lies beyond one of them is about something else more often than not.
CLAUSE_ARCS = frozenset({"conj", "advcl"})
CLAUSE_COST = 4

Row = dict[str, str]


class ToyReader:
    """Answers the prompts of `prompts.py`."""

    def reply(self, prompt: str) -> str:
        """Answer one prompt."""
        answers = {"Step 0": self._guess, "Step 1": self._relations, "Step 2": self._opinion, "Step 3": self._sentiment}
        return answers[prompt[:6]](prompt)

    def _guess(self, prompt: str) -> str:
        """Without a parse: the opinion word that stands nearest to the aspect."""
        words = re.findall(r"\w+|n't", _field(prompt, "Sentence").lower().replace("n't", " n't"))
        aspect = words.index(_aspect(prompt).lower().split()[-1])
        opinions = [place for place, word in enumerate(words) if word in POSITIVE | NEGATIVE]
        if not opinions:
            return "neutral"
        nearest = min(opinions, key=lambda place: abs(place - aspect))
        negated = {"not", "n't"} & set(words[max(nearest - 3, 0) : nearest])
        return _polarity(f"{'not ' if negated else ''}{words[nearest]}")

    def _relations(self, prompt: str) -> str:
        """With a parse: the opinion words on the shortest path from the aspect."""
        table = prompt.partition("Parse:\n")[2].partition("\nWhich words")[0]
        rows = read_table(table)
        wanted = _aspect(prompt).lower().split()[-1]
        aspect = next((row for row in rows.values() if row["text"].lower() == wanted), None)
        if aspect is None:
            return "none"
        distances = tree_distances(rows, aspect)
        opinions = [row for row in rows.values() if row["LEMMA"] in POSITIVE | NEGATIVE and row["ID"] in distances]
        if not opinions:
            return "none"
        nearest = min(distances[row["ID"]] for row in opinions)
        related = [row for row in opinions if distances[row["ID"]] == nearest < CLAUSE_COST]
        return ", ".join(f"{'not ' if is_negated(rows, row) else ''}{row['LEMMA']}" for row in related) or "none"

    def _opinion(self, prompt: str) -> str:
        return prompt.partition(f'aspect "{_aspect(prompt)}": ')[2].partition("\n")[0]

    def _sentiment(self, prompt: str) -> str:
        return _polarity(prompt.partition(f'aspect "{_aspect(prompt)}": ')[2].partition("\n")[0])


def read_table(table: str) -> dict[str, Row]:
    """Rows by the content of their first column, each a dict from column title to cell; broken rows are left out."""
    header, *lines = table.splitlines() or [""]
    titles = header.split()
    cells = [line.split() for line in lines]
    return {row[0]: dict(zip(titles, row, strict=True)) for row in cells if row and len(row) == len(titles)}


def tree_distances(rows: dict[str, Row], start: Row) -> dict[str, int]:
    """Length of the path from one row to every other; arcs between clauses are long."""
    arcs: dict[str, list[tuple[str, int]]] = {name: [] for name in rows}
    for name, row in rows.items():
        head = rows.get(row["HEAD"])
        if head is None or head is row:
            continue
        between_clauses = row["DEPREL"] in CLAUSE_ARCS and row["POS"] in ("VERB", "AUX")
        cost = CLAUSE_COST if between_clauses else 1
        arcs[name].append((row["HEAD"], cost))
        arcs[row["HEAD"]].append((name, cost))
    distances = {start["ID"]: 0}
    pending = [start["ID"]]
    while pending:
        name = pending.pop()
        for other, cost in arcs[name]:
            if distances[name] + cost < distances.get(other, len(rows) * CLAUSE_COST):
                distances[other] = distances[name] + cost
                pending.append(other)
    return distances


def is_negated(rows: dict[str, Row], row: Row) -> bool:
    """Whether a negation hangs on a word or on the verb that it belongs to."""
    negated = {other["HEAD"] for other in rows.values() if other["DEPREL"] == "neg"}
    return row["ID"] in negated or (row["DEPREL"] in ("acomp", "attr", "advmod") and row["HEAD"] in negated)


def _field(prompt: str, name: str) -> str:
    return prompt.partition(f"{name}: ")[2].partition("\n")[0]


def _aspect(prompt: str) -> str:
    return prompt.rpartition('aspect "')[2].partition('"')[0]


def _polarity(opinion: str) -> str:
    """Polarity of opinion words, each maybe with a negation in front, by majority."""
    score = 0
    for phrase in opinion.split(", "):
        word = phrase.removeprefix("not ")
        sign = -1 if word != phrase else 1
        score += sign * ((word in POSITIVE) - (word in NEGATIVE))
    return "positive" if score > 0 else "negative" if score < 0 else "neutral"
