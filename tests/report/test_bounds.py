"""Which theorem speaks of which solver, and with which numbers."""

from __future__ import annotations

import math

import pytest

from pdmbench import theory
from pdmbench.report import bounds, grid


def test_theorem_2_for_pdm_at_the_certified_upper_bound_of_gamma(make):
    found = {
        row.theorem: row for row in bounds.rows([make("adult", "pdm", R=4.0, bound=0.01, updates=10**6)])
    }
    assert found["Theorem 2"].r == 400.0
    assert found["Theorem 2"].log10_t == pytest.approx(6.0)
    assert found["Theorem 2"].log10_bound == theory.theorem2(0.01, 400.0)
    assert all(row.holds for row in found.values())


def test_theorem_1_for_pfm_at_the_eps_its_beta_means(make):
    record = make("adult", "pfm", beta=0.0075, beta_from="pdm", margin=0.008, bound=0.01)
    found = {row.theorem: row for row in bounds.rows([record])}
    assert found["Theorem 1"].eps == pytest.approx(0.25)
    assert found["Theorem 1"].log10_bound == pytest.approx(theory.theorem1(0.25, 400.0))
    assert "Theorem 2" in found


def test_successive_runs_are_an_estimate_beside_the_guarantee(make):
    found = {row.theorem: row for row in bounds.rows([make("adult", "pdm-succ", eta=8.0)])}
    assert not found["Successive runs"].guaranteed
    assert found["Theorem 2"].guaranteed
    assert found["Successive runs"].log10_bound == theory.successive(0.01, 8.0, 400.0)


def test_novikoff_for_the_perceptron_and_nothing_for_others(make):
    found = bounds.rows([make("adult", "perceptron", updates=100), make("adult", "mpu")])
    assert [(row.algorithm, row.theorem) for row in found] == [("perceptron", "Novikoff")]
    assert found[0].log10_bound == pytest.approx(2 * math.log10(400))


def test_of_several_seeds_the_one_nearest_to_the_bound_is_shown(make):
    found = bounds.rows([make("adult", "perceptron", seed=s, updates=t) for s, t in enumerate((10, 99, 50))])
    assert [row.updates for row in found] == [99]


def test_a_run_above_its_bound_is_seen(make):
    found = bounds.rows([make("adult", "perceptron", updates=160_001)])
    assert not found[0].holds
    assert bounds.as_grid(found).rows[0][-1] == "NO"


def test_a_cell_that_was_stopped_counts_the_updates_it_made(make):
    from pdmbench.solvers.base import Status

    stopped = make("adult", "pdm", status=Status.EPOCH_LIMIT, updates=10**5)
    assert bounds.rows([stopped])[0].updates == 10**5


def test_nothing_is_said_without_a_certificate(make, unfinished):
    assert bounds.rows([unfinished("adult", "pdm", "failed", error="x")]) == []


def test_the_table_prints(make):
    text = grid.text(bounds.as_grid(bounds.rows([make("adult", "pdm-succ", eta=8.0)])))
    assert "Theorem 2" in text
    assert "estimate" in text
