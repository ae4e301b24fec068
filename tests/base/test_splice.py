"""Code that is put into a file takes the file's line ends."""

import pytest

from lmrbench_data.base.splice import splice_code

FILE = "x = 1\n\n\ndef f():\n    raise NotImplementedError\n"
CODE = "import math\n\n\ndef f():\n    value = math.pi\n    return value\n"
RESULT = "x = 1\n\n\nimport math\n\ndef f():\n    value = math.pi\n    return value\n"


@pytest.mark.parametrize("code_newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_code_takes_the_line_ends_of_the_file(newline: str, code_newline: str) -> None:
    result = splice_code(FILE.replace("\n", newline), "f", CODE.replace("\n", code_newline))
    assert result == RESULT.replace("\n", newline)
