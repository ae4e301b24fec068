"""What `unit_test/cases.py` may import inside the sandbox: levels and comparisons of cases, and how errors are told.

This module is sent into the sandbox beside the runner; it needs nothing but the standard library.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Case = TypeVar("Case", bound=Callable[..., Any])

#: The attribute under which a case carries its comparison; read once, when the reference's outputs are recorded.
COMPARISON_ATTRIBUTE = "lmrbench_comparison"
#: The attribute under which a case says that it is a core case; read at the same time.
CORE_ATTRIBUTE = "lmrbench_core"


def core(case: Case) -> Case:
    """Declare that a case follows from the paper and the repository alone; all others test the contract.

    An answer that passes every core case has reproduced the method. Where no case is marked, all of them are core.
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
    """Declare how the outputs of one case are compared with the recorded ones (see `verdict/compare.py`).

    Args:
        rtol, atol: elementwise tolerances of `numpy.isclose`; the defaults are 1e-4 and 1e-6.
        exact: floats must be equal bit for bit (NaN equals NaN).
        unordered: the items of the outermost list or tuple may come in any order.
        sign_invariant: each float array may differ by one global sign.
        checker: name of a checker registered in `verdict/compare.py`, in place of the elementwise comparison.

    The comparison is recorded with the expected outputs and never read from a candidate's run.
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
        # Identity, not equality: a tolerance of 0 is a declaration too.
        given = {key: value for key, value in declared.items() if value is not None and value is not False}
        setattr(case, COMPARISON_ATTRIBUTE, given)
        return case

    return mark


def outcome(
    function: Callable[..., Any],
    *args: Any,
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
    **kwargs: Any,
) -> tuple[str, Any]:
    """Call `function` and return `("returned", value)`, or `("raised", name)` for one of the expected `errors`.

    The name is that of the expected class, so that a subclass (KeyError for LookupError) counts as what was asked for.
    Exceptions of other classes propagate: they are the candidate's error.
    """
    expected = errors if isinstance(errors, tuple) else (errors,)
    try:
        return "returned", function(*args, **kwargs)
    except expected as error:
        matching = next(kind for kind in expected if isinstance(error, kind))
        return "raised", matching.__name__
