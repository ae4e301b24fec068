"""Read hand-written YAML strictly: duplicate keys, unknown keys and ambiguous values are errors.

Every error is one line with file, key and fix.
"""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import InputError
from .text import one_line

_TAG = "tag:yaml.org,2002:"
_KEYS = (f"{_TAG}str", f"{_TAG}merge")
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")
#: Numbers of base 8 and 60 in YAML 1.1.
_OTHER_BASE = re.compile(r"[-+]?0[0-9_]+$|.*:")


def read_yaml(path: Path, fix: str = "see CONTRIBUTING.md") -> dict[str, Any]:
    """Read the mapping in a YAML file.

    Args:
        fix: what to do if it is missing or not a mapping.

    Raises:
        InputError: it is missing, not YAML, not a mapping, or has a duplicate key or a number that
            YAML misreads.
    """
    import yaml

    parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = parser(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        for place, message in _faults(node):
            raise InputError(f"{path}: line {place.start_mark.line + 1}: {message}")
        data = loader.construct_document(node) if node is not None else None
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {fix}") from None
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        # PyYAML has a name for a text without a file.
        problem = one_line(error).replace(' in "<unicode string>",', " in")
        raise InputError(f"{path}: not YAML: {problem[:300]}") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a mapping at the top; {fix}")
    return data


def check(data: Any, schema: str, path: Path) -> None:
    """Check data from `path` against a JSON Schema of the package.

    Raises:
        InputError: naming the first violation.
    """
    errors = list(_validator(schema).iter_errors(data))
    if not errors:
        return
    first = min(errors, key=lambda error: (str(error.absolute_path), error.message))
    place = ""
    for part in first.absolute_path:
        place += f"[{part}]" if isinstance(part, int) else f".{part}"
    raise InputError(f"{path}: {place.lstrip('.') or 'top level'}: {_explain(first)}")


def _faults(node: Any) -> Iterator[tuple[Any, str]]:
    """Yield nodes that people read otherwise than YAML does, with the reason."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):  # the constructor refuses others
                if key.value in keys:
                    yield key, f"duplicate key {key.value}"
                elif key.tag not in _KEYS:
                    yield key, f"key {key.value} is not text; put it in quotes"
                keys.add(key.value)
            yield from _faults(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _faults(item)
    elif node is not None and node.tag in _NUMBERS and _OTHER_BASE.match(node.value):
        fix = "write it without leading zeros or colons, or quote it"
        yield node, f"YAML reads {node.value} in base 8 or 60; {fix}"


@functools.cache
def _validator(schema: str) -> Any:
    import jsonschema

    base: Any = jsonschema.Draft202012Validator
    extend: Any = jsonschema.validators.extend
    types = base.TYPE_CHECKER.redefine("integer", _is_integer)
    strict = extend(base, {"pattern": _check_pattern}, type_checker=types)
    path = Path(__file__).parents[1] / "schema" / schema
    content = json.loads(path.read_text(encoding="utf-8"))
    return strict(content, format_checker=base.FORMAT_CHECKER)


def _is_integer(checker: Any, value: Any) -> bool:
    return type(value) is int  # JSON Schema accepts 1.0; the dataset does not


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    import jsonschema

    # `$` is the end of the text in JSON Schema; in Python a line ending may follow.
    strict = re.sub(r"\$\Z", r"\\Z", pattern)
    if isinstance(value, str) and not re.search(strict, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _explain(error: Any) -> str:
    match error.validator:
        case "additionalProperties":
            known = error.schema["properties"]
            unknown = ", ".join(sorted(str(key) for key in error.instance if key not in known))
            return f"unknown key {unknown}; known are {', '.join(sorted(known))}"
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            return f"missing key {', '.join(missing)}"
        case "enum":
            return f"{error.instance!r} is not one of: {'; '.join(map(str, error.validator_value))}"
        case "pattern" | "format" if "description" in error.schema:
            return f"{repr(error.instance)[:100]} is not {error.schema['description']}"
        case "type" if "string" in error.validator_value and not isinstance(
            error.instance, dict | list
        ):
            return f"{error.instance!r} is not text; put it in quotes"
    return str(error.message)[:300]
