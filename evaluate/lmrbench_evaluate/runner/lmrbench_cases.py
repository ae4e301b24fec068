"""Decorators for the cases in `unit_test/`: level, comparison, and goals of a method.

This module goes into the sandbox beside the runner and needs only the standard library.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

Case = TypeVar("Case", bound=Callable[..., Any])

#: Attributes of a case with its comparison, its level and its place in a method; read when outputs
#: are recorded.
COMPARISON_ATTRIBUTE = "lmrbench_comparison"
CORE_ATTRIBUTE = "lmrbench_core"
METHOD_ATTRIBUTE = "lmrbench_method"


def core(case: Case) -> Case:
    """Declare that a case follows from the paper and the repository alone.

    The other cases test the contract. An answer that passes every core case has reproduced the
    method. If no case is marked, all cases are core.
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
    """Declare how a case's outputs are compared with the recorded ones (`verdict/compare.py`).

    The comparison is recorded with the expected outputs and never read from a candidate's run.

    Args:
        rtol, atol: elementwise tolerances of `numpy.isclose` (default: 1e-4 and 1e-6).
        exact: floats must be equal bit for bit (NaN equals NaN).
        unordered: the items of the outermost list or tuple may be in any order.
        sign_invariant: each float array may differ by one global sign.
        checker: name of a checker registered in `verdict/compare.py`, in place of the elementwise
            comparison.

    Raises:
        ValueError: a tolerance is not a finite number >= 0.
    """
    _check_tolerances(rtol=rtol, atol=atol)
    options = {
        "rtol": rtol,
        "atol": atol,
        "exact": exact,
        "unordered": unordered,
        "sign_invariant": sign_invariant,
        "checker": checker,
    }
    # Identity, not equality, because a tolerance of 0 is a declaration too.
    declared = {
        name: value for name, value in options.items() if value is not None and value is not False
    }

    def mark(case: Case) -> Case:
        setattr(case, COMPARISON_ATTRIBUTE, declared)
        return case

    return mark


def _check_tolerances(**tolerances: Any) -> None:
    for name, value in tolerances.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value < math.inf):
            problem = "not a finite number >= 0; name one, such as 1e-6"
            raise ValueError(f"@compare({name}={value!r}): {problem}")


def goal(*functions: str) -> Callable[[Case], Case]:
    """Declare the masked functions of a method that a case tests, by qualified name."""

    def mark(case: Case) -> Case:
        setattr(case, METHOD_ATTRIBUTE, {"goals": list(functions)})
        return case

    return mark


def experiment(case: Case) -> Case:
    """Declare that a case is a short training, decoding or search with all masked functions."""
    return goal()(case)


def outcome(
    function: Callable[..., Any],
    *args: Any,
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
    **kwargs: Any,
) -> tuple[str, Any]:
    """Call a function; return `("returned", value)` or, for expected errors, `("raised", name)`.

    The name is that of the expected class, because a subclass (KeyError for LookupError) counts as
    the class. Exceptions of other classes propagate as errors of the candidate.
    """
    expected = errors if isinstance(errors, tuple) else (errors,)
    try:
        return "returned", function(*args, **kwargs)
    except expected as error:
        matching = next(kind for kind in expected if isinstance(error, kind))
        return "raised", matching.__name__
