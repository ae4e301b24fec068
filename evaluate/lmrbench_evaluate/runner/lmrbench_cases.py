"""Decorators for the cases in `unit_test/`: level, comparison, and the functions of a method that a case tests.

This module goes into the sandbox beside the runner and needs only the standard library.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Case = TypeVar("Case", bound=Callable[..., Any])

#: Attributes of a case with its comparison, its level and its place in a method; read when outputs are recorded.
COMPARISON_ATTRIBUTE, CORE_ATTRIBUTE, METHOD_ATTRIBUTE = (
    "lmrbench_comparison",
    "lmrbench_core",
    "lmrbench_method",
)


def core(case: Case) -> Case:
    """Declare that a case follows from the paper and the repository alone; the other cases test the contract.

    An answer that passes every core case has reproduced the method. If no case is marked, all cases are core.
    """
    setattr(case, CORE_ATTRIBUTE, True)
    return case


def compare(
    *,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
    unordered: bool = False,
    sign_invariant: bool = False,
    checker: str | None = None,
) -> Callable[[Case], Case]:
    """Declare the comparison of a case's outputs with the recorded ones (see `verdict/compare.py`).

    The comparison is recorded with the expected outputs and never read from a candidate's run.

    Args:
        rtol, atol: elementwise tolerances of `numpy.isclose` (default: 1e-4 and 1e-6).
        exact: floats must be equal bit for bit (NaN equals NaN).
        unordered: the items of the outermost list or tuple may be in any order.
        sign_invariant: each float array may differ by one global sign.
        checker: name of a checker registered in `verdict/compare.py`, in place of the elementwise comparison.
    """
    declared = {
        "rtol": rtol,
        "atol": atol,
        "exact": exact,
        "unordered": unordered,
        "sign_invariant": sign_invariant,
        "checker": checker,
    }

    def mark(case: Case) -> Case:
        # Identity, not equality, because a tolerance of 0 is a declaration too.
        given = {
            key: value
            for key, value in declared.items()
            if value is not None and value is not False
        }
        setattr(case, COMPARISON_ATTRIBUTE, given)
        return case

    return mark


def goal(*functions: str) -> Callable[[Case], Case]:
    """Declare the masked functions of a method that a case tests, by qualified name."""

    def mark(case: Case) -> Case:
        setattr(case, METHOD_ATTRIBUTE, {"goals": list(functions)})
        return case

    return mark


def experiment(case: Case) -> Case:
    """Declare that a case is an experiment: a short training, decoding or search with all functions of a method."""
    setattr(case, METHOD_ATTRIBUTE, {"goals": []})
    return case


def outcome(
    function: Callable[..., Any],
    *args: Any,
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
    **kwargs: Any,
) -> tuple[str, Any]:
    """Call `function` and return `("returned", value)`, or `("raised", name)` for one of the expected `errors`.

    The name is that of the expected class, so that a subclass (KeyError for LookupError) counts as the class.
    Exceptions of other classes propagate as errors of the candidate.
    """
    expected = errors if isinstance(errors, tuple) else (errors,)
    try:
        return "returned", function(*args, **kwargs)
    except expected as error:
        matching = next(kind for kind in expected if isinstance(error, kind))
        return "raised", matching.__name__
