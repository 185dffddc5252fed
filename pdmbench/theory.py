"""The theorems of the paper as functions, in log₁₀ (algorithms of arXiv 1105.6041).

The bounds are of the order ε⁻¹ r^{1/ε} and overflow a double for small ε, so every function takes and
returns decimal logarithms of numbers of updates. Throughout, ``r`` = R/γ_d ≥ 1 is the largest norm of a
pattern over the maximum directional margin and ``eps`` = ε the accuracy asked for.
"""

from __future__ import annotations

import math
from itertools import pairwise

_LN10 = math.log(10.0)
_LN2 = math.log(2.0)
_LEMMA = math.log1p(math.exp(-1.0))  # ln(1 + 1/e), the factor in front of Lemma 1
_LOG_1E = math.log1p(math.e)  # ln(1 + e), inside its logarithm


def lemma1(log10_delta: float, c: float) -> float:
    """Bound of Lemma 1: t < δ(1 + C + ln t) implies t ≤ (1 + 1/e) δ (C + ln((1 + e) δ)).

    Parameters
    ----------
    log10_delta : float
        log₁₀ δ, with δ ≥ e^{−C}.
    c : float
        The constant C; the lemma speaks of t ≥ e^{−C}.

    Returns
    -------
    float
        log₁₀ of the bound on t.
    """
    ln_delta = log10_delta * _LN10
    if not ln_delta >= -c:
        raise ValueError(f"Lemma 1 needs delta >= exp(-C), got log10(delta)={log10_delta:g}, C={c:g}")
    return (_LEMMA + ln_delta + math.log(c + _LOG_1E + ln_delta)) / _LN10


def theorem1(eps: float, r: float) -> float:
    """Theorem 1: updates of PFM with β = (1−ε) γ_d.

    Parameters
    ----------
    eps : float
        ε = 1 − β/γ_d in (0, 1).
    r : float
        R/γ_d ≥ 1.

    Returns
    -------
    float
        log₁₀ of (1 + 1/e) r²/(2ε) · {4s/r + ln((1 + e) r s/ε)}, s = 1 − (1−ε)/r.
    """
    _check(eps, r)
    rs = (r - 1.0) + eps  # r·s without cancellation at r near 1
    braces = 4.0 * rs / r**2 + _LOG_1E + math.log(rs) - math.log(eps)
    return (_LEMMA + 2.0 * math.log(r) - math.log(2.0 * eps) + math.log(braces)) / _LN10


def theorem2_t0(eps: float, r: float) -> float:
    """The simple bound t₀ of Theorem 2 on the updates of PDM.

    Parameters
    ----------
    eps : float
        ε in (0, 1).
    r : float
        R/γ_d ≥ 1.

    Returns
    -------
    float
        log₁₀ t₀; at ε = 1/2, where the paper has one bound alone, that one.
    """
    return _theorem2(eps, r)[0]


def theorem2(eps: float, r: float) -> float:
    """The improved bound of Theorem 2 on the updates of PDM; it holds for PFM with β = (1−ε) γ_d too.

    It also covers PDM-succ: an update made at a larger ε_n obeys a·y ≤ (1−ε_n)‖a‖²/t ≤ (1−ε)‖a‖²/t, so
    successive runs are one run at the last ε over another order of presentation.

    Parameters
    ----------
    eps : float
        ε in (0, 1).
    r : float
        R/γ_d ≥ 1.

    Returns
    -------
    float
        log₁₀ of the bound; never above :func:`theorem2_t0`.
    """
    return _theorem2(eps, r)[1]


def _theorem2(eps: float, r: float) -> tuple[float, float]:
    """(log₁₀ t₀, log₁₀ of the improved bound)."""
    _check(eps, r)
    ln_r = math.log(r)
    d = 1.0 - 2.0 * eps
    if d == 0.0:
        bound = lemma1(2.0 * ln_r / _LN10, 0.0)
        return bound, bound
    if d > 0.0:
        # 1/x = (1−2ε) t₀/r² as a sum of positive logarithms: exact also where ε → 1/2 and x → 1.
        n = math.floor(1.0 / eps * (1.0 + 4e-16))  # 1/ε is meant in decimals: ε = 0.01 gives 100
        ln_inverse = math.log1p(n * d) + d / (2.0 * eps) * math.log1p(1.0 / (n * d)) + d / eps * ln_r
        ln_t0 = ln_inverse + 2.0 * ln_r - math.log(d)
        ln_bound = ln_t0 + _log1mexp(ln_inverse) / (2.0 * eps)
    else:
        ln_t0 = math.log(eps * (3.0 - 2.0 * eps)) - math.log(-d) + 2.0 * ln_r
        ln_bound = ln_t0 + _log1mexp(-math.log1p(d) - d * ln_t0)
    return ln_t0 / _LN10, ln_bound / _LN10


def successive_step(log10_t: float, eps: float, next_eps: float, r: float) -> float:
    """One step of successive runs: updates when a run at ε_n that took t_n is continued at ε_{n+1}.

    Parameters
    ----------
    log10_t : float
        log₁₀ t_n, the updates when the run at ε_n converged.
    eps, next_eps : float
        ε_n and ε_{n+1} = ε_n/η < min(ε_n, 1/2).
    r : float
        R/γ_d ≥ 1.

    Returns
    -------
    float
        log₁₀ of t_n (1/(1−ε_n))^{η/ε_n} (1 + (1−ε_n)²/(1 − 2ε_n/η) · r²/t_n)^{η/(2ε_n)}.
    """
    _check(eps, r)
    if not (0.0 < next_eps < eps and next_eps < 0.5):
        raise ValueError(f"successive accuracies must fall below 1/2, got {eps:g} then {next_eps:g}")
    ln_t, inverse = log10_t * _LN10, 1.0 / next_eps
    ln_kappa = 2.0 * math.log1p(-eps) - math.log1p(-2.0 * next_eps) + 2.0 * math.log(r)
    growth = -inverse * math.log1p(-eps) + 0.5 * inverse * _log1pexp(ln_kappa - ln_t)
    return (ln_t + growth) / _LN10


def successive(eps: float, eta: float, r: float) -> float:
    """Successive runs, every run taken to use up its bound: Theorem 2 at ε₀ = 1/2, then step by step.

    The step is not monotone in t_n, so this is the paper's estimate and no guarantee for runs that
    converge early; :func:`theorem2` at the last ε is one.

    Parameters
    ----------
    eps : float
        The last accuracy ε in (0, 1).
    eta : float
        Factor η > 1 between accuracies.
    r : float
        R/γ_d ≥ 1.

    Returns
    -------
    float
        log₁₀ of the bound on all updates.
    """
    sequence = accuracies(eps, eta)
    log10_t = theorem2(sequence[0], r)
    for current, following in pairwise(sequence):
        log10_t = successive_step(log10_t, current, following, r)
    return log10_t


def accuracies(eps: float, eta: float) -> list[float]:
    """The accuracies of successive runs: 1/2, 1/(2η), 1/(2η²), … above ε, then ε itself.

    0.5, 0.0625, 0.01 for ε = 0.01, η = 8.
    """
    _check(eps, 1.0)
    if not eta > 1.0:
        raise ValueError(f"eta must be above 1, got {eta:g}")
    sequence, current = [], 0.5
    while current > eps:
        sequence.append(current)
        current /= eta
    return [*sequence, eps]


def novikoff(r: float) -> float:
    """log₁₀ of Novikoff's bound r² on the updates of the perceptron."""
    _check(0.5, r)
    return 2.0 * math.log10(r)


def _check(eps: float, r: float) -> None:
    if not 0.0 < eps < 1.0:
        raise ValueError(f"eps must be in (0, 1), got {eps:g}")
    if not (math.isfinite(r) and r >= 1.0):
        raise ValueError(f"r = R/gamma_d must be finite and at least 1, got {r:g}")


def _log1mexp(x: float) -> float:
    """ln(1 − e^{−x}) for x > 0."""
    return math.log(-math.expm1(-x)) if x < _LN2 else math.log1p(-math.exp(-x))


def _log1pexp(x: float) -> float:
    """ln(1 + e^x) without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
