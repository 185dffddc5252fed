"""The environment says what a time means, in plain JSON."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from pdmbench.bench import environment


def test_it_is_json_and_knows_the_libraries():
    found = json.loads(json.dumps(environment.gather(jobs=2)))
    assert found["jobs"] == 2
    assert found["libraries"]["numpy"] == version("numpy")
    assert found["logical_cores"] >= 1
    assert found["memory_gib"] > 0
    assert found["cpu"]


@pytest.mark.parametrize(
    ("load", "jobs", "cores", "warned"),
    [(0.0, 1, 1, False), (1.2, 1, 2, False), (1.6, 1, 2, True), (0.2, 4, 2, True)],
)
def test_a_warning_when_a_job_has_no_core_to_itself(load, jobs, cores, warned):
    found = {"load": load, "jobs": jobs, "logical_cores": cores}
    assert (environment.busy(found) is not None) == warned


def test_no_warning_where_the_system_does_not_tell_its_load():
    assert environment.busy({"load": None, "jobs": 1, "logical_cores": 2}) is None
