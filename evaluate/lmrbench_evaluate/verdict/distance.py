"""Describe two numbers that differ: both with enough digits to tell them apart, their distance and the tolerance."""

import math

Number = float | complex

#: Fewest significant digits of a number, and of an error.
_LEAST, _LEAST_OF_ERRORS = 3, 2
#: Significant digits that tell any two doubles apart.
_MOST = 17


def describe_numbers(actual: Number, expected: Number, rtol: float, atol: float) -> str:
    """Return "got 0.786, expected 0.785 (relative error 1.8e-3, tolerance 1e-4)".

    A distance of up to `atol + rtol * |expected|` passes. The text states the error and the tolerance of the larger
    term: the relative error and `rtol`, or the absolute error and `atol`. NaN and infinities have no distance.

    Args:
        actual, expected: floats or complex numbers.
        rtol, atol: the tolerances; both are 0 in an exact comparison.
    """
    digits = _LEAST
    while digits < _MOST and _rounded(actual, digits) == _rounded(expected, digits):
        digits += 1
    text = f"got {_number(actual, digits)}, expected {_number(expected, digits)}"
    details = [*_error(actual, expected, rtol, atol), *([] if rtol or atol else ["compared exactly"])]
    return f"{text} ({', '.join(details)})" if details else text


def error_text(error: float, tolerance: float) -> str:
    """Print an error with two digits, or with as many as show that it exceeds its tolerance."""
    digits = _LEAST_OF_ERRORS
    while digits < _MOST and _rounded(error, digits).real <= tolerance:
        digits += 1
    return _scientific(f"{error:.{digits}g}")


def tolerance_text(tolerance: float) -> str:
    """Print a tolerance in full: 1e-4, 0.05, 0."""
    return _scientific(repr(float(tolerance)).removesuffix(".0"))


def _error(actual: Number, expected: Number, rtol: float, atol: float) -> list[str]:
    """Return error and tolerance; nothing if the distance is not a finite number above 0."""
    # Halves, because the distance of two finite numbers can overflow.
    distance, size = _modulus(actual / 2 - expected / 2), _modulus(expected / 2)
    is_relative = size > 0 and rtol * size >= atol / 2
    error, kind, tolerance = (distance / size, "relative", rtol) if is_relative else (2 * distance, "absolute", atol)
    if not 0 < error < math.inf:
        return []
    stated = f"{kind} error {error_text(error, tolerance)}"
    return [stated, f"tolerance {tolerance_text(tolerance)}"] if rtol or atol else [stated]


def _modulus(value: Number) -> float:
    return math.hypot(value.real, value.imag)


def _rounded(value: Number, digits: int) -> Number:
    """Return the number that is printed with this many significant digits."""
    if isinstance(value, complex):
        return complex(_rounded(value.real, digits).real, _rounded(value.imag, digits).real)
    return float(f"{value:.{digits}g}")


def _number(value: Number, digits: int) -> str:
    if isinstance(value, complex):
        imaginary = _number(value.imag, digits)
        return f"{_number(value.real, digits)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if not math.isfinite(value) or value == _rounded(value, digits):
        return _short_exponent(repr(float(value)))  # 5.0 and -0.0 rather than 5 and -0
    if 1 <= abs(value) < 1e6:  # 12346 rather than 1.23e4
        digits = max(digits, 1 + int(math.log10(abs(value))))
    return _short_exponent(f"{value:.{digits}g}")


def _scientific(text: str) -> str:
    """Write a positive number below 0.01 as 1.8e-3."""
    if not text.startswith("0.00"):
        return _short_exponent(text)
    shown = text.removeprefix("0.").lstrip("0")
    power = len(text) - len("0.") - len(shown) + 1
    return f"{shown[0]}.{shown[1:]}e-{power}".replace(".e", "e")


def _short_exponent(text: str) -> str:
    """Write 1e-7 and 1e16 for Python's 1e-07 and 1e+16."""
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if exponent else text
