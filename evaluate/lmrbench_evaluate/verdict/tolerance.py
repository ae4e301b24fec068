"""How close two numbers of a case must be, and how a difference is described."""

import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from lmrbench_data.base.text import cut

RTOL = 1e-4
ATOL = 1e-6
#: Characters of a value in a message.
MAX_SHOWN = 120
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = MAX_SHOWN
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20
#: Numbers of an array widened at a time: all at once, a number of two bytes would take a hundred.
_BLOCK = 1 << 18


class Comparison:
    """The comparison of one case, as its entry in the row's `tests.cases` declares it."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self.exact = bool(declared.get("exact"))
        self.rtol = 0.0 if self.exact else float(declared.get("rtol", RTOL))
        self.atol = 0.0 if self.exact else float(declared.get("atol", ATOL))
        self.unordered = bool(declared.get("unordered"))
        self.sign_invariant = bool(declared.get("sign_invariant"))
        self.checker = declared.get("checker") or None

    def close(self, expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
        """Compare elementwise within the tolerances; NaN equals NaN, and infinity itself.

        The numbers become float64 at least, because float16 would round or overflow. With `exact`,
        0.0 and -0.0 differ. The real and the imaginary parts of complex numbers are compared apart.
        """
        want = expected.reshape(-1)
        got = actual.reshape(-1)
        result = np.empty(want.size, bool)
        for start in range(0, want.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = self._wide(want[block], got[block])
        return result.reshape(expected.shape)

    def close_floats(self, expected: float, actual: float) -> bool:
        """Compare two numbers by the same rule; NumPy would be slow for one."""
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        if self.exact:
            return expected == actual and math.copysign(1, expected) == math.copysign(1, actual)
        if expected == actual:
            return True
        allowed = self.atol + self.rtol * abs(expected)
        return math.isfinite(expected) and abs(actual - expected) <= allowed

    def describe(self, expected: Any, actual: Any) -> str:
        """Describe two values of one type: "got 0.786, expected 0.785 (relative error ...)".

        The error is relative where `rtol` allows more than `atol`, else absolute; NaN and
        infinities have none.
        """
        if not isinstance(expected, float):
            return f"got {show(actual)}, expected {show(expected)}"
        got, want = _different_digits(actual, expected)
        error = self._error(expected, actual)
        return f"got {got}, expected {want}{error and f' ({error})'}"

    def _error(self, expected: float, actual: float) -> str:
        with np.errstate(all="ignore"):  # the distance of two finite numbers can overflow
            distance = float(np.abs(np.subtract(actual, expected)))
            size = abs(expected)
        if not 0 < distance < math.inf:
            return "" if self.rtol or self.atol else "compared exactly"
        if size > 0 and self.rtol * size >= self.atol:
            return self._describe_error("relative", distance / size, self.rtol)
        return self._describe_error("absolute", distance, self.atol)

    def _describe_error(self, kind: str, error: float, tolerance: float) -> str:
        allows = self.rtol or self.atol
        allowed = f"tolerance {tolerance:g}" if allows else "compared exactly"
        return f"{kind} error {above(error, tolerance)}, {allowed}"

    def _wide(self, expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
        wide = np.result_type(expected.dtype, actual.dtype, np.float64)
        want = expected.astype(wide)
        got = actual.astype(wide)
        with np.errstate(all="ignore"):
            if wide.kind != "c":
                return self._close(want, got)
            return np.asarray(self._close(want.real, got.real) & self._close(want.imag, got.imag))

    def _close(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        near = np.asarray(np.isclose(got, want, rtol=self.rtol, atol=self.atol, equal_nan=True))
        if not self.exact:
            return near
        is_same_sign = np.signbit(want) == np.signbit(got)
        return np.asarray(near & (is_same_sign | np.isnan(want)))


def _different_digits(first: float, second: float) -> tuple[str, str]:
    """Print two numbers with at least three digits, and as many as tell them apart."""
    for digits in range(3, 17):
        texts = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return repr(first), repr(second)


def above(error: float, tolerance: float) -> str:
    """Print an error with two digits, or with as many as show that it exceeds its tolerance."""
    digits = next((n for n in range(2, 17) if float(f"{error:.{n}g}") > tolerance), 17)
    return f"{error:.{digits}g}"


def show(value: Any) -> str:
    """Return the start of a value's representation; all of it may be huge."""
    return cut(_SHORT.repr(value), MAX_SHOWN)
