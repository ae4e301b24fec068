"""Let a model draft an instruction from the paper and the masked goal file; its form is checked, its content is not."""

from collections.abc import Sequence

from lmrbench_evaluate.checks.lint import MAX_SENTENCES, instruction_problems
from lmrbench_evaluate.checks.static import MAX_INSTRUCTION

from ..base.text import visible
from ..chat.client import ChatClient, Message, RequestFailed
from ..chat.endpoint import Endpoint
from ..chat.loop import run_to_end

#: Maximum number of attempts at a draft of the right form.
TRIES = 3
_ASK = """\
You write the instruction of a task of a benchmark. A colleague will get the paper, its repository with one function
masked, and your instruction; the colleague writes the function.

Write what an author of the paper would ask of a colleague, in one to {sentences} sentences and about 50 words, never
more than {words}: which function in which file, which method of the paper (give its section and equation), and what is
out of scope. Put the names of files, functions and arguments in backticks. No formula, no steps, no corner cases, and
nothing that gives the code away. Answer with the instruction alone, as plain text.

An example, for another paper:
Implement `preference_loss` in `trainers.py`: for each preference pair of a batch, the DPO loss of Section 4 (Eq. 7) and
the implicit rewards of both responses. Averaging over the batch is left to the trainer.

The function is `{function}` in `{file}`. The file, with the function masked:

```python
{source}
```

The paper, as far as its text could be read:

{paper}
"""


def draft_instruction(
    endpoint: Endpoint, *, goal_file: str, goal_function: str, masked: str, paper: str
) -> tuple[str, list[str]]:
    """Return (the draft, problems of its form after all attempts).

    Args:
        masked: the goal file with the function masked.
        paper: the paper's text.

    Raises:
        InputError: no key, or the server does not know it, the model or the address.
        InfraError: nothing answers at the address.
        RequestFailed: no answer after all retries.
    """
    client = ChatClient(endpoint)
    values = {"sentences": MAX_SENTENCES, "words": MAX_INSTRUCTION, "function": goal_function, "file": goal_file}
    asked = _ASK.format(**values, source=masked, paper=paper)
    text, problems = "", list[str]()

    async def work() -> None:
        nonlocal text, problems
        messages: list[Message] = [{"role": "user", "content": asked}]
        async with client:
            for _ in range(TRIES):
                completion = await client.complete(messages)
                if completion.problem:
                    raise RequestFailed(completion.problem, reached=True)
                text = _plain(completion.text)
                problems = _problems(text, goal_file, goal_function)
                if not problems:
                    return
                again = f"The form is wrong: {'; '.join(problems)}. Answer with the corrected instruction alone."
                said: Sequence[Message] = (
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": again},
                )
                messages = [*messages[:1], *said]

    run_to_end(work())
    return text, problems


def _problems(text: str, goal_file: str, goal_function: str) -> list[str]:
    words = len(text.split())
    long = [f"{words} words, at most {MAX_INSTRUCTION}"] if words > MAX_INSTRUCTION else []
    return [*long, *instruction_problems(text, goal_file, goal_function)]


def _plain(text: str) -> str:
    """One paragraph without invisible characters."""
    return " ".join(visible(text).split())
