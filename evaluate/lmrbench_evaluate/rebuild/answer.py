"""Put a model's answer for one function into the masked goal file.

Models answer with prose, fences, imports, helpers, a class around the method, or an indented method. All of these are
accepted, but nothing is guessed: an answer without exactly one definition of the goal function is malformed.
"""

from lmrbench_data.base.source import MalformedAnswerError, SourceError, find_function
from lmrbench_data.base.splice import splice_code

from .extract import extract_code


def splice_function(masked_file: str, goal_function: str, answer: str) -> str:
    """Replace the goal function in the masked goal file by the one in the answer (see `splice_code`).

    Raises:
        MalformedAnswerError: no definition of the goal function, more than one, a syntax error, or an encoding other
            than UTF-8.
    """
    try:
        find_function(masked_file.removeprefix("\ufeff"), goal_function)
        code = extract_code(answer, goal_function)
    except MalformedAnswerError:
        raise
    except SourceError as error:
        raise MalformedAnswerError(str(error)) from None
    return splice_code(masked_file, goal_function, code)


def check_goal_file(name: str, source: str, goal_function: str) -> None:
    """Check that a complete goal file defines the goal function once.

    Raises:
        MalformedAnswerError: it does not, or cannot be parsed.
    """
    try:
        find_function(source, goal_function)
    except SourceError as error:
        raise MalformedAnswerError(f"{name}: {error}") from None
