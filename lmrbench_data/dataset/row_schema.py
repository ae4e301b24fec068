"""The Arrow schema of each configuration's rows."""

from typing import TYPE_CHECKING

from ..loader import COUNTERFACTUAL, FUNCTION, UNDERSPECIFIED

if TYPE_CHECKING:
    import pyarrow


def schema(config: str = FUNCTION) -> "pyarrow.Schema":
    """Return the Arrow schema of a configuration, equivalent to `DatasetRow`."""
    import pyarrow as pa

    text, number, binary = pa.string(), pa.int64(), pa.binary()
    case = {
        "name": text,
        "core": pa.bool_(),
        "varies": pa.bool_(),
        "rtol": pa.float64(),
        "atol": pa.float64(),
        "exact": pa.bool_(),
        "unordered": pa.bool_(),
        "sign_invariant": pa.bool_(),
        "checker": text,
        **({} if config == FUNCTION else {"goals": pa.list_(text)}),
    }
    tests = {
        "seeds": pa.list_(number),
        "timeout_s": number,
        "memory_mb": number,
        "cases": pa.list_(pa.struct(list(case.items()))),
    }
    goals: dict[str, pa.DataType] = dict.fromkeys(("goal_file", "goal_function", "class_name"), text)
    golden: dict[str, pa.DataType] = {"golden_file": text}
    if config != FUNCTION:
        goals = {"goals": pa.list_(pa.struct([("file", text), ("functions", pa.list_(text))]))}
        golden = {"golden_files": pa.list_(pa.struct([("path", text), ("text", text)]))}
    if config in (COUNTERFACTUAL, UNDERSPECIFIED):
        option = pa.struct([("name", text), ("expected", binary)])
        facts = [(name, text) for name in ("name", "question", "published", "stated")]
        facts += [("open", pa.bool_()), ("cases", pa.list_(text)), ("options", pa.list_(option))]
        goals["choices"] = pa.list_(pa.struct(facts))
    if config == UNDERSPECIFIED:
        goals["cpu_budget_s"] = number
    columns = {
        **dict.fromkeys(("instance_id", "category", "paper_title", "paper_url", "arxiv_id", "venue"), text),
        "year": number,
        **dict.fromkeys(("upstream_repo", "instruction"), text),
        **({"contract": text} if config == FUNCTION else {}),
        **dict.fromkeys(("paper_text", "repo_name"), text),
        "repo_archive": binary,
        "repo_sha256": text,
        **goals,
        **dict.fromkeys(("context_files", "evidence"), pa.list_(text)),
        **golden,
        "tests_archive": binary,
        "expected": binary,
        "recording": pa.struct([(name, text) for name in ("sha256", "image", "sandbox", "cpu")]),
        "tests": pa.struct(list(tests.items())),
        **dict.fromkeys(("test_protocol", "docker_image", "benchmark_version", "license", "canary"), text),
        "row_sha256": text,
    }
    return pa.schema(list(columns.items()))
