"""Every claim made to hold, to fail and to be unmeasured by hand-made records."""

from __future__ import annotations

import pytest

from pdmbench.report import claims


def verdict(records, name, environments=None):
    return claim(records, name, environments).verdict


def claim(records, name, environments=None):
    return next(c for c in claims.evaluate(records, environments) if c.id == name)


def timed(make, **seconds):
    """One record per solver with these CPU seconds on Adult; PFM has PDM's margin as its β."""
    return [make("adult", a.replace("_", "-"), train_seconds=s, **_target(a)) for a, s in seconds.items()]


def _target(algorithm):
    sources = {"pfm": "pdm", "pfm_succ": "pdm-succ"}
    return {"beta": 0.0099, "beta_from": sources[algorithm]} if algorithm in sources else {}


def counted(make, **updates):
    return [make("adult", a.replace("_", "-"), updates=t, **_target(a)) for a, t in updates.items()]


CASES = {  # id: what makes it hold, what makes it fail; a thunk over make
    "P1": (lambda m: timed(m, pdm=1.0, pfm=1.5), lambda m: timed(m, pdm=1.0, pfm=1.1)),
    "P2": (lambda m: counted(m, pdm=30, pfm=10), lambda m: counted(m, pdm=14, pfm=10)),
    "P3": (lambda m: counted(m, pdm_succ=11, pfm_succ=10), lambda m: counted(m, pdm_succ=16, pfm_succ=10)),
    "P4": (lambda m: timed(m, pdm_succ=1.2, pdm=1.0), lambda m: timed(m, pdm_succ=0.9, pdm=1.0)),
    "P5": (
        lambda m: [m("adult", "pdm", margin=0.00995, bound=0.01)],
        lambda m: [
            m("adult", "mpu", margin=0.00995, bound=0.01),
            m("adult", "pdm", margin=0.0098, bound=0.01),
        ],
    ),
    "P6": (
        lambda m: [m("adult", "pdm", margin=0.0099), m("adult", "mpu", margin=0.00991)],
        lambda m: [m("adult", "pdm", margin=0.0099), m("adult", "mpu", margin=0.00989)],
    ),
    "P7": (
        lambda m: timed(m, romma=10.0, svm=20.0, dcd_l1=0.5, dcd_l2=1.0, mpu=1.0),
        lambda m: timed(m, romma=10.0, svm=20.0, dcd_l1=0.5, dcd_l2=1.0, mpu=1.1),
    ),
    "P8": (lambda m: timed(m, romma=10.0, pdm=1.0), lambda m: timed(m, romma=9.0, pdm=1.0)),
    "P9": (
        lambda m: timed(m, svm=50.0, pdm=1.0, dcd_l1=0.5, dcd_l2=0.2),
        lambda m: timed(m, svm=50.0, pdm=1.0, dcd_l1=0.05, dcd_l2=0.05),
    ),
    "P10": (lambda m: timed(m, pdm=3.0, mpu=1.0), lambda m: timed(m, pdm=30.0, mpu=1.0)),
    "P11": (
        lambda m: [m("adult", "dcd-l1", margin=0.0099), m("adult", "dcd-l2", margin=0.00985)],
        lambda m: [m("adult", "dcd-l1", margin=0.0099), m("adult", "dcd-l2", margin=0.0095)],
    ),
    "P12": (
        lambda m: [m("adult", "pdm", margin=0.0099, geometric_margin=0.01)],
        lambda m: [m("adult", "pdm", margin=0.0099, geometric_margin=0.02)],
    ),
    "P13": (
        lambda m: counted(m, pdm=10**6, pfm=10**5),
        lambda m: [m("adult", "pfm", beta=0.005, beta_from="pdm", updates=10**9)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_can_hold_fail_and_be_unmeasured(make, name):
    holding, failing = CASES[name]
    assert verdict(holding(make), name) == "holds"
    assert verdict(failing(make), name) == "does not hold"
    assert verdict([], name) == "not measured"
    assert verdict([make("adult", "my-plug-in")], name) == "not measured"


def test_the_numbers_behind_a_verdict_are_given(make):
    found = claim(timed(make, pdm=1.0, pfm=1.5), "P1")
    assert [(row.dataset, dict(row.values), row.holds) for row in found.rows] == [
        ("Adult", {"PFM / PDM": 1.5}, True)
    ]
    assert found.rows[0].text == "PFM / PDM = 1.50"
    assert found.tally == "1 of 1"


def test_one_row_against_a_claim_on_every_row_decides(make):
    records = [
        *timed(make, pdm=1.0, pfm=1.5),
        make("web", "pdm", train_seconds=1.0),
        make("web", "pfm", train_seconds=1.0, beta=0.0099, beta_from="pdm"),
    ]
    found = claim(records, "P1")
    assert (found.verdict, found.tally) == ("does not hold", "1 of 2")


def test_a_time_limit_is_a_lower_bound_of_the_time(make, unfinished):
    limit = [unfinished("adult", "romma", "time-limit", time_limit=10.0)]
    assert verdict([*limit, make("adult", "pdm", train_seconds=1.0)], "P8") == "holds"
    undecided = claim([*limit, make("adult", "pdm", train_seconds=2.0)], "P8")
    assert undecided.verdict == "not measured"
    assert undecided.rows[0].text == "ROMMA / PDM > 5.00"


def test_times_of_two_machines_are_not_compared(make):
    records = [
        make("adult", "romma", train_seconds=20.0, environment="e1"),
        make("adult", "pdm", environment="e2"),
    ]
    machine = {"cpu": "one", "python": "CPython 3.12", "load": 0.1, "time": "then", "jobs": 1}
    assert verdict(records, "P8") == "not measured"
    assert verdict(records, "P8", {"e1": machine, "e2": {**machine, "load": 0.9, "time": "now"}}) == "holds"
    assert verdict(records, "P8", {"e1": machine, "e2": {**machine, "cpu": "two"}}) == "not measured"


def test_pfm_with_a_margin_of_ones_own_is_no_evidence(make):
    records = [make("adult", "pdm"), make("adult", "pfm", beta=0.005, train_seconds=9.0)]
    assert verdict(records, "P1") == "not measured"


def test_the_guarantee_is_undecided_within_a_wide_interval(make):
    """γ_d is only known to lie between 0.0099 and 0.0101: 0.99 of it may or may not be reached."""
    found = claim([make("adult", "pdm", margin=0.0099, bound=0.0101)], "P5")
    assert (found.verdict, found.rows[0].holds) == ("not measured", None)


def test_the_interval_of_gamma_uses_every_record_of_the_same_data(make):
    """A plug-in's bound, at another ε, shows that PDM missed (1−ε) γ_d."""
    records = [
        make("adult", "pdm", margin=0.0099, bound=0.0101),
        make("adult", "cd", eps=0.001, margin=0.010099, bound=0.0101),
    ]
    assert verdict(records, "P5") == "does not hold"
    elsewhere = [records[0], make("adult", "cd", eps=0.001, delta=2.0, margin=0.010099, bound=0.0101)]
    assert verdict(elsewhere, "P5") == "not measured"


def test_table_of_claims(make):
    rows = claims.as_grid(claims.evaluate(timed(make, pdm=1.0, pfm=1.5))).rows
    assert [row[0] for row in rows] == [f"P{k}" for k in range(1, 14)]
    assert rows[0][2:] == ["holds", "1 of 1", "Adult: PFM / PDM = 1.50"]
