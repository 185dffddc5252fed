"""Numbers and lines out of bytes: the inner loops of the parsers.

Each kernel reads whole lines of a block that ends with a newline and stops before the first line that is
not plain. The caller parses that one line in Python, which either understands it or says what is wrong
with it: the rules stand there, the kernels accept a subset of what they accept.
"""

from __future__ import annotations

import functools
import math

import numba
import numpy as np

from pdmbench.kernels import OPTIONS

_jit = numba.njit(cache=True, nogil=True, **OPTIONS)  # parsing overlaps with the thread that reads

_TAB, _NEWLINE, _RETURN, _BLANK, _HASH, _PLUS, _MINUS, _POINT, _COLON = (ord(c) for c in "\t\n\r #+-.:")
_ZERO, _NINE, _LARGE_E, _SMALL_E, _Q, _I, _D = (ord(c) for c in "09Eeqid")

MAX_INDEX = 2**31 - 1
_MAX_DIGITS = 19  # of a mantissa in 64 bits
_MIN_POWER, _MAX_POWER = -342, 308
_POWERS_OF_TEN = 10.0 ** np.arange(23)  # exact in double precision

_U0, _U1, _U2, _U3, _U10, _U32, _U63 = (np.uint64(x) for x in (0, 1, 2, 3, 10, 32, 63))
_LOW_HALF = np.uint64(2**32 - 1)
_LOW_BITS, _ALL_BITS = np.uint64(0x1FF), np.uint64(2**64 - 1)
_EXACT = np.uint64(2**53)


def disabled() -> bool:
    """Whether the kernels are interpreted (``NUMBA_DISABLE_JIT=1``): Python code for lines is faster."""
    return bool(numba.config.DISABLE_JIT)


@functools.cache
def powers_of_five() -> np.ndarray:
    """The 128 leading bits of 5^p for p = -342 … 308, rounded as in section 5 of Lemire (2021).

    Returns
    -------
    ndarray of uint64, shape (651, 2)
        High and low word.
    """
    table = np.empty((_MAX_POWER - _MIN_POWER + 1, 2), dtype=np.uint64)
    for row, power in enumerate(range(_MIN_POWER, _MAX_POWER + 1)):
        five = 5 ** abs(power)
        if power < 0:
            five = (1 << (five.bit_length() + 127 + 128)) // five  # 128 bits more than are kept
            excess = five.bit_length() - 128
            five = (five >> excess) + (power >= -27)
        else:
            excess = five.bit_length() - 128
            five = five >> excess if excess > 0 else five << -excess
        table[row] = five >> 64, five & (2**64 - 1)
    return table


@_jit
def _multiply(a, b):
    """High and low word of the product of two 64-bit words."""
    a1, a0, b1, b0 = a >> _U32, a & _LOW_HALF, b >> _U32, b & _LOW_HALF
    middle = a1 * b0 + (a0 * b0 >> _U32)
    other = a0 * b1 + (middle & _LOW_HALF)
    return a1 * b1 + (middle >> _U32) + (other >> _U32), a * b


@_jit
def _nearest(mantissa, power, fives):
    """The double nearest to mantissa·10^power (mantissa > 0), nan where 128 bits do not decide it.

    D. Lemire, *Number parsing at a gigabyte per second*, Software: Practice and Experience 51 (2021);
    results outside the normal range are left undecided.
    """
    if power < _MIN_POWER or power > _MAX_POWER:
        return np.nan
    shift = 0
    while not mantissa >> _U63:
        mantissa <<= _U1
        shift += 1
    row = power - _MIN_POWER
    high, low = _multiply(mantissa, fives[row, 0])
    if high & _LOW_BITS == _LOW_BITS:
        carry, _ = _multiply(mantissa, fives[row, 1])
        low += carry
        if low < carry:
            high += _U1
    if low == _ALL_BITS and (power < -27 or power > 55):
        return np.nan
    upper = np.int64(high >> _U63)
    dropped = np.uint64(upper + 9)
    kept = high >> dropped  # 53 bits and the one that rounds
    exponent = ((217706 * power) >> 16) + 63 + upper - shift
    if exponent < -1022 or exponent > 1022:
        return np.nan
    halfway = low <= _U1 and -4 <= power <= 23 and kept & _U3 == _U1 and kept << dropped == high
    if not halfway:  # a tie goes to the even neighbour, which is below
        kept += kept & _U1
    return math.ldexp(np.float64(kept >> _U1), exponent - 52)


@_jit
def _at(text, i):
    """The byte at a position that is not negative: numba then need not ask whether it counts from the end."""
    return text[np.uint64(i)]


@_jit
def _number(text, i, fives):
    """The decimal number at position i, exactly rounded, and the position after it; -1 if it is not plain."""
    sign = 1.0
    if _at(text, i) == _MINUS or _at(text, i) == _PLUS:
        if _at(text, i) == _MINUS:
            sign = -1.0
        i += 1
    first = i
    mantissa = _U0
    while _ZERO <= _at(text, i) <= _NINE:
        mantissa = mantissa * _U10 + np.uint64(_at(text, i) - _ZERO)
        i += 1
    digits = i - first
    power = 0
    if _at(text, i) == _POINT:
        i += 1
        point = i
        while _ZERO <= _at(text, i) <= _NINE:
            mantissa = mantissa * _U10 + np.uint64(_at(text, i) - _ZERO)
            i += 1
        power = point - i
        digits -= power
    if digits == 0:
        return 0.0, -1
    cut = False
    if digits > _MAX_DIGITS:
        while _at(text, first) == _ZERO or _at(text, first) == _POINT:
            digits -= _at(text, first) == _ZERO
            first += 1
        cut = digits > _MAX_DIGITS
        if cut:  # the leading digits alone: the number lies between their mantissa and the next one
            mantissa, kept = _U0, 0
            while kept < _MAX_DIGITS:
                if _at(text, first) != _POINT:
                    mantissa = mantissa * _U10 + np.uint64(_at(text, first) - _ZERO)
                    kept += 1
                first += 1
            power += digits - _MAX_DIGITS
    if _at(text, i) == _SMALL_E or _at(text, i) == _LARGE_E:
        i += 1
        negative = _at(text, i) == _MINUS
        if negative or _at(text, i) == _PLUS:
            i += 1
        first, exponent = i, 0
        while _ZERO <= _at(text, i) <= _NINE:
            exponent = exponent * 10 + np.int64(_at(text, i) - _ZERO)
            i += 1
        if i == first or i - first > 5:
            return 0.0, -1
        power += -exponent if negative else exponent
    if mantissa == _U0:
        return 0.0, i
    if not cut and mantissa <= _EXACT and -22 <= power <= 22:
        # One rounding of two exact numbers (Clinger 1990).
        value = np.float64(mantissa)
        value = value / _POWERS_OF_TEN[-power] if power < 0 else value * _POWERS_OF_TEN[power]
    else:
        value = _nearest(mantissa, power, fives)
        if math.isnan(value) or (cut and value != _nearest(mantissa + _U1, power, fives)):
            return 0.0, -1
    return sign * value, i


@_jit
def _skip_blanks(text, i):
    while _at(text, i) == _BLANK or _at(text, i) == _TAB or _at(text, i) == _RETURN:
        i += 1
    return i


@_jit
def _ends_token(c):
    return c == _BLANK or c == _TAB or c == _RETURN or c == _NEWLINE or c == _HASH


@_jit
def parse_svmlight(text, start, labels, ends, indices, values, row, entry, fives):
    """Parse ``label [qid:n] index:value ...`` lines until the end of the text or a line that is not plain.

    Parameters
    ----------
    text : ndarray of uint8
        Ends with a newline.
    start : int
        Where to begin: at the beginning of a line.
    labels, ends : ndarray of float64, of int64
        Label of each row and number of entries up to its end; filled from ``row`` on.
    indices, values : ndarray of uint32, of float64
        Entries as they stand, explicit zeros among them; filled from ``entry`` on.
    fives : ndarray
        From :func:`powers_of_five`.

    Returns
    -------
    position, row, entry : int
        Where it stopped, rows and entries there.
    unsorted : bool
        Some row's indices do not ascend strictly.
    """
    i = start
    unsorted = False
    while i < text.size:
        line, row_entry = i, entry
        i = _skip_blanks(text, i)
        plain = True
        if _at(text, i) != _NEWLINE and _at(text, i) != _HASH:
            labels[row], i = _number(text, i, fives)
            plain = i >= 0 and _ends_token(_at(text, i))
            if plain:
                i = _skip_blanks(text, i)
                if (
                    _at(text, i) == _Q
                    and _at(text, i + 1) == _I
                    and _at(text, i + 2) == _D
                    and _at(text, i + 3) == _COLON
                ):
                    first = i + 4
                    i = first
                    while _ZERO <= _at(text, i) <= _NINE:
                        i += 1
                    plain = i > first and _ends_token(_at(text, i))
                previous = -1
                while plain:
                    i = _skip_blanks(text, i)
                    if _at(text, i) == _NEWLINE or _at(text, i) == _HASH:
                        break
                    first, index = i, 0
                    while _ZERO <= _at(text, i) <= _NINE:
                        index = index * 10 + np.int64(_at(text, i) - _ZERO)
                        i += 1
                    if i == first or i - first > 10 or index > MAX_INDEX or _at(text, i) != _COLON:
                        plain = False
                        break
                    i = _skip_blanks(text, i + 1)
                    value, i = _number(text, i, fives)
                    if i < 0 or not _ends_token(_at(text, i)):
                        plain = False
                        break
                    unsorted |= index <= previous
                    previous = index
                    indices[entry] = index
                    values[entry] = value
                    entry += 1
            if plain:
                ends[row] = entry
                row += 1
        if not plain:
            return line, row, row_entry, unsorted
        while _at(text, i) != _NEWLINE:
            i += 1
        i += 1
    return i, row, entry, unsorted


@_jit
def parse_table(text, start, separator, out, row, fives):
    """Parse lines of numbers between single separators until the end or a line that is not plain.

    Parameters
    ----------
    text, start, fives
        As in :func:`parse_svmlight`.
    separator : int
        The byte between two numbers.
    out : ndarray of float64, shape (rows, columns)
        Filled from ``row`` on.

    Returns
    -------
    position, row : int
        Where it stopped, rows there.
    """
    i = start
    columns = out.shape[1]
    while i < text.size:
        line = i
        for column in range(columns):
            out[row, column], i = _number(text, i, fives)
            if i < 0 or (column + 1 < columns and _at(text, i) != separator):
                return line, row
            i += 1
        i -= 1
        if _at(text, i) == _RETURN:
            i += 1
        if _at(text, i) != _NEWLINE:
            return line, row
        i += 1
        row += 1
    return i, row
