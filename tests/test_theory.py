"""The bounds against an independent evaluation in 60 digits, and the lemma behind them."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf

from pdmbench import theory

mpmath.mp.dps = 60

# ε and r as decimal strings, so that both evaluations mean the same number; corners and the paper's 0.01.
POINTS = [
    ("0.01", "469"),  # Adult: R/γ_d = 4/0.00853
    ("0.01", "510.36"),  # Web
    ("1e-6", "1000000"),
    ("1e-6", "1"),
    ("0.3", "1"),
    ("0.49999", "12.5"),
    ("0.5", "469"),
    ("0.50001", "37"),
    ("0.75", "1000000"),
    ("0.999", "2.5"),
]

eps_values = st.floats(1e-6, 0.999)
r_values = st.floats(1.0, 1e6)


def exact_theorem1(eps: mpf, r: mpf) -> mpf:
    s = 1 - (1 - eps) / r
    return (1 + 1 / mpmath.e) * r**2 / (2 * eps) * (4 * s / r + mpmath.log((1 + mpmath.e) * r * s / eps))


def exact_theorem2(eps: mpf, r: mpf) -> tuple[mpf, mpf]:
    """(t₀, improved) as printed in algorithms.md 11."""
    if eps < 0.5:
        n = mpmath.floor(1 / eps + mpf("1e-40"))  # 1e-6 is no binary number: its reciprocal is meant exactly
        t0 = n * r ** (1 / eps) * (1 + 1 / (n * (1 - 2 * eps))) ** (1 / (2 * eps))
        return t0, t0 * (1 - r**2 / ((1 - 2 * eps) * t0)) ** (1 / (2 * eps))
    if eps == 0.5:
        bound = (1 + 1 / mpmath.e) * r**2 * mpmath.log((1 + mpmath.e) * r**2)
        return bound, bound
    t0 = eps * (3 - 2 * eps) / (2 * eps - 1) * r**2
    return t0, t0 * (1 - 2 * (1 - eps) * t0 ** (1 - 2 * eps))


@pytest.mark.parametrize(("eps", "r"), POINTS)
def test_theorem1_equals_its_formula_in_sixty_digits(eps, r):
    exact = mpmath.log10(exact_theorem1(mpf(eps), mpf(r)))
    assert theory.theorem1(float(eps), float(r)) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("eps", "r"), POINTS)
def test_theorem2_equals_its_formula_in_sixty_digits(eps, r):
    t0, improved = exact_theorem2(mpf(eps), mpf(r))
    assert theory.theorem2_t0(float(eps), float(r)) == pytest.approx(float(mpmath.log10(t0)), rel=1e-10)
    assert theory.theorem2(float(eps), float(r)) == pytest.approx(float(mpmath.log10(improved)), rel=1e-10)


@pytest.mark.parametrize(
    ("t", "eps", "eta", "r"),
    [
        ("4e6", "0.5", "8", "469"),
        ("3e11", "0.0625", "6.25", "469"),
        ("10", "0.5", "8", "1e6"),
        ("1e9", "1e-5", "10", "30"),
    ],
)
def test_successive_step_equals_its_formula_in_sixty_digits(t, eps, eta, r):
    t_n, e, h, rr = mpf(t), mpf(eps), mpf(eta), mpf(r)
    exact = t_n * (1 / (1 - e)) ** (h / e)
    exact *= (1 + (1 - e) ** 2 / (1 - 2 * e / h) * rr**2 / t_n) ** (h / (2 * e))
    got = theory.successive_step(math.log10(float(t)), float(eps), float(eps) / float(eta), float(r))
    assert got == pytest.approx(float(mpmath.log10(exact)), rel=1e-12)


def test_accuracies_of_the_paper():
    """ε = 0.01, η = 8 (algorithms.md 4)."""
    assert theory.accuracies(0.01, 8.0) == [0.5, 0.0625, 0.01]
    assert theory.accuracies(0.5, 8.0) == [0.5]
    assert theory.accuracies(0.7, 8.0) == [0.7]


def test_successive_is_the_chain_of_its_steps():
    first = theory.theorem2(0.5, 469.0)
    second = theory.successive_step(first, 0.5, 0.0625, 469.0)
    assert theory.successive(0.01, 8.0, 469.0) == theory.successive_step(second, 0.0625, 0.01, 469.0)


def test_successive_runs_promise_far_fewer_updates_than_one_run():
    """The reason for successive runs: at the paper's ε the estimate is tens of orders below Theorem 2."""
    assert theory.successive(0.01, 8.0, 469.0) < theory.theorem2(0.01, 469.0) - 100


@given(eps=eps_values, r=r_values)
def test_improved_bound_never_exceeds_t0(eps, r):
    assert theory.theorem2(eps, r) <= theory.theorem2_t0(eps, r)


@given(eps=st.floats(0.45, 0.55), r=r_values)
def test_theorem2_stays_finite_and_sound_around_one_half(eps, r):
    """Every run makes an update, so a bound below one would be wrong."""
    assert 0.0 <= theory.theorem2(eps, r) < 100


@given(eps=eps_values, r=r_values, eta=st.floats(1.5, 100.0))
def test_everything_is_finite_on_the_whole_range(eps, r, eta):
    for value in (theory.theorem1(eps, r), theory.theorem2(eps, r), theory.novikoff(r)):
        assert math.isfinite(value)
    assert math.isfinite(theory.successive(eps, eta, r))


@given(
    ln_delta=st.floats(-5.0, 40.0),
    c=st.floats(-5.0, 20.0),
    fraction=st.floats(0.0, 1.0),
    top=st.floats(0.0, 60.0),
)
def test_lemma1(ln_delta, c, fraction, top):
    """Whatever t meets the premises of Lemma 1 is below its bound."""
    assume(ln_delta > -c + 1e-9)
    ln_t = -c + fraction * (top + max(0.0, c))
    assume(ln_t < ln_delta + math.log(max(1.0 + c + ln_t, 1e-300)))
    assert ln_t <= theory.lemma1(ln_delta / math.log(10), c) * math.log(10) + 1e-9


def test_lemma1_is_nearly_tight():
    """At δ = 100, C = 0 the largest t that meets the premise lies within a fifth below the bound."""
    delta = mpf(100)
    largest = mpmath.findroot(lambda t: t - delta * (1 + mpmath.log(t)), mpf(700))
    bound = 10 ** theory.lemma1(2.0, 0.0)
    assert float(largest) <= bound <= 1.2 * float(largest)


def test_lemma1_needs_its_premise():
    with pytest.raises(ValueError, match="delta"):
        theory.lemma1(-1.0, 0.0)


def test_theorem2_at_one_half_is_lemma1_with_delta_r_squared():
    assert theory.theorem2(0.5, 469.0) == pytest.approx(theory.lemma1(2 * math.log10(469.0), 0.0), rel=1e-14)


def test_novikoff():
    assert theory.novikoff(1e6) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("eps", "r"), [(0.0, 2.0), (1.0, 2.0), (0.1, 0.99), (0.1, math.inf), (math.nan, 2.0)]
)
def test_arguments_outside_the_theorems_are_refused(eps, r):
    with pytest.raises(ValueError):
        theory.theorem2(eps, r)
