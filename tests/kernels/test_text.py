"""The parsers' kernels: exactly rounded numbers, and nothing accepted that the Python rules refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pdmbench.kernels import text as kernels

pytestmark = pytest.mark.skipif(kernels.disabled(), reason="without the JIT lines are read in Python")

FIVES = kernels.powers_of_five()


def read(token: str) -> tuple[float, int]:
    """What the kernel makes of a token that a newline follows."""
    return kernels._number(np.frombuffer(token.encode() + b"\n", dtype=np.uint8), 0, FIVES)


decimals = st.builds(
    "{}{}.{}{}".format,
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.sampled_from(["", "e5", "E-7", "e+22", "e-40", "e290", "e-300"]),
)


@settings(deadline=None)  # the first example compiles
@given(st.floats(allow_nan=False, allow_infinity=False).map(repr) | decimals)
@example("9007199254740993")  # 2^53 + 1, a tie: the even neighbour is below
@example("9007199254740995")  # a tie whose even neighbour is above
@example("8.5070591730234615865843651857942052864e37")
@example("7205759403792793200001e-5")
@example("2.2250738585072011e-308")  # the double below the smallest normal one
@example("1.7976931348623157e308")
@example("0.00000000000000000000012345678901234567")
@example(
    "0.50000000000000005551115123125782702118158340454101562"
)  # 2^-1 + 2^-54, a tie, in more than 19 digits
@example("0.50000000000000005551115123125782702118158340454101563")  # just above it
@example("123456789012345678901234567890e-10")
def test_a_number_is_the_nearest_double_or_left_to_python(token):
    """Python's float() is correctly rounded."""
    value, end = read(token)
    if end >= 0:
        assert end == len(token)
        assert value == float(token)


@settings(deadline=None)
@given(st.floats(1e-290, 1e290).map(repr) | st.floats(1e-9, 1e3).map("{:.16e}".format))
def test_usual_numbers_are_never_left_to_python(token):
    """17 digits fit the 64 bits of the mantissa, and 128 bits of 5^p decide all but one case in 2^60."""
    assert read(token)[1] == len(token)


@pytest.mark.parametrize("token", ["", "+", ".", "-.", "e5", "1e", "1e+", "nan", "inf", "1e999"])
def test_what_is_not_plain_is_left_to_python(token):
    assert read(token)[1] == -1


def test_powers_of_five_are_their_leading_bits():
    """5^3 = 125 = 0b1111101; 1/5 = 0.0011 0011 … in binary, rounded up in the last of 128 bits."""
    assert int(FIVES[342 + 3, 0]) == 0b1111101 << 57
    assert int(FIVES[342 + 3, 1]) == 0
    assert int(FIVES[342 - 1, 0]) == 0xCCCCCCCCCCCCCCCC
    assert int(FIVES[342 - 1, 1]) == 0xCCCCCCCCCCCCCCCD
