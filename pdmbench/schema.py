"""Strict reading of TOML: every key is known, present where needed and of its type, or the error names it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pdmbench.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Reader = Callable[[Any], Any]  # returns the value as it is kept, or raises ValueError("what it must be")
_T = TypeVar("_T")


def load(path: Path) -> dict[str, Any]:
    """The table in a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", str(path)) from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise UsageError(f"is not valid TOML: {error}", str(path)) from None


def convert(table: Mapping[str, Any], readers: Mapping[str, Reader], where: str) -> dict[str, Any]:
    """Read each key of a table by its reader.

    Parameters
    ----------
    table : mapping
        As TOML gives it.
    readers : mapping
        The known keys and how each is read.
    where : str
        The file, and the place in it, for messages.
    """
    values = {}
    for key, value in table.items():
        if key not in readers:
            raise UsageError(f"unknown key {key}{nearest(key, readers)}", where)
        try:
            values[key] = readers[key](value)
        except ValueError as error:
            raise UsageError(f"{key} must be {error}, not {value!r}", where) from None
    return values


def build(cls: type[_T], values: Mapping[str, Any], where: str) -> _T:
    """A dataclass from its values; a field that has neither value nor default is a missing key."""
    for field in fields(cls):  # type: ignore[arg-type]
        if field.default is MISSING and field.default_factory is MISSING and field.name not in values:
            raise UsageError(f"the key {field.name} is missing", where)
    return cls(**values)


def nearest(word: str, known: Iterable[str]) -> str:
    """``"; did you mean …?"``, or nothing when no known word is near."""
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def text(value: Any) -> str:
    """A string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def matching(pattern: str, meaning: str) -> Reader:
    """A string that matches a regular expression as a whole."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(meaning)
        return value

    return read


def flag(value: Any) -> bool:
    """``true`` or ``false``."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def number(least: float = -math.inf, above: float = -math.inf, most: float = math.inf) -> Reader:
    """A finite number, ``>= least``, ``> above`` and ``<= most``."""
    limits = [
        f"of at least {least:g}" * (least > -math.inf),
        f"above {above:g}" * (above > -math.inf),
        f"up to {most:g}" * (most < math.inf),
    ]
    meaning = " ".join(["a finite number", *filter(None, limits)])

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(meaning)
        try:
            value = float(value)
        except OverflowError:  # TOML's integers know no limit
            raise ValueError(meaning) from None
        if not (math.isfinite(value) and least <= value <= most and value > above):
            raise ValueError(meaning)
        return value

    return read


def whole(least: int) -> Reader:
    """An integer ``>= least``."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number of at least {least}")
        return value

    return read


def one_of(choices: Iterable[str]) -> Reader:
    """One of some words."""
    allowed = tuple(choices)

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return value

    return read


def list_of(item: Reader) -> Reader:
    """A list; becomes a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("a list")
        try:
            return tuple(item(element) for element in value)
        except ValueError as error:
            raise ValueError(f"a list, each item {error}") from None

    return read


def table(value: Any) -> dict[str, Any]:
    """A table, read further by the caller."""
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value
