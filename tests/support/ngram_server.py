"""A loopback server with an n-gram language model with backoff, trained on a test's text.

It offers completions with `echo` and `logprobs`, chat completions with `logprobs`, or neither. It memorises its
training text, so a test knows the expected findings.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from support.openai_server import Reply, Request, Server, completion, refusal

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
ORDER = 12


class NgramModel:
    """Interpolated n-grams of tokens: each order gets half of the remaining weight."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.contexts: Counter[tuple[str, ...]] = Counter()
        self.next: dict[tuple[str, ...], Counter[str]] = {}
        for text in texts:
            tokens = _TOKEN.findall(text)
            for end in range(len(tokens)):
                for length in range(min(ORDER, end + 1)):
                    gram = tuple(tokens[end - length : end + 1])
                    self.counts[gram] += 1
                    self.contexts[gram[:-1]] += 1
                    self.next.setdefault(gram[:-1], Counter())[gram[-1]] += 1

    def probability(self, context: list[str], token: str) -> float:
        """Return the probability of a token after others."""
        found = 1 / 100_000
        for length in range(min(ORDER, len(context) + 1)):
            before = tuple(context[len(context) - length :])
            if self.contexts[before]:
                found = 0.5 * found + 0.5 * self.counts[(*before, token)] / self.contexts[before]
        return found

    def score(self, text: str) -> tuple[list[str], list[float | None], list[int]]:
        """Return tokens, their log-probabilities (None for the first) and their offsets."""
        tokens = _TOKEN.findall(text)
        values = [math.log(self.probability(tokens[max(0, i - ORDER) : i], token)) for i, token in enumerate(tokens)]
        starts = [match.start() for match in _TOKEN.finditer(text)]
        return tokens, [None, *values[1:]], starts

    def go_on(self, text: str, count: int) -> str:
        """Return the most frequent continuation of the longest known prefix."""
        tokens = _TOKEN.findall(text)
        start = len(tokens)
        for _ in range(count):
            known = next(
                self.next[context]
                for length in range(min(ORDER - 1, len(tokens)), -1, -1)
                if (context := tuple(tokens[len(tokens) - length :])) in self.next
            )
            tokens.append(known.most_common(1)[0][0])
        return "".join(tokens[start:])


class NgramServer(Server):
    """Offers `echo`, `chat` or `text` (see `chat/logprobs`)."""

    def __init__(self, model: NgramModel, way: str) -> None:
        super().__init__()
        self.model, self.way = model, way

    def reply(self, request: Request) -> Reply:
        """Return the response to a request."""
        scripted = self.script.pop(0) if self.script else None
        self.requests.append(request)
        if scripted:
            return scripted
        body = request.body
        if request.path == "/v1/completions" and self.way == "echo":
            return Reply(body=self._complete(body))
        if request.path != "/v1/chat/completions":
            return Reply(404, {"detail": "Not Found"})
        if "logprobs" in body and self.way == "text":
            return refusal("logprobs")
        asked = request.user.rpartition("```python\n")[2]
        text = self.model.go_on(asked, body.get("max_completion_tokens", 50))
        answer = completion(text)
        if self.way == "chat":
            tokens, values, _ = self.model.score(text)
            content = [
                {"token": a, "logprob": b or -1.0, "top_logprobs": []} for a, b in zip(tokens, values, strict=True)
            ]
            answer["choices"][0]["logprobs"] = {"content": content}
        return Reply(body=answer)

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        written = self.model.go_on(body["prompt"], body["max_tokens"])
        text = body["prompt"] + written if body.get("echo") else written
        tokens, values, starts = self.model.score(text)
        numbers = {"tokens": tokens, "token_logprobs": values, "text_offset": starts, "top_logprobs": None}
        choice = {"index": 0, "text": text, "logprobs": numbers, "finish_reason": "length"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
