"""Every environment keeps its promises."""

from __future__ import annotations

import pytest

from assay.check.contracts.environment_case import EnvironmentCase
from assay.check.contracts.environments import CONTRACTS
from assay.check.contracts.fault import examine
from assay.check.instruments.sites import environments

ENVIRONMENTS = environments()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_keeps_its_promises(name: str) -> None:
    faults = examine(EnvironmentCase(name, ENVIRONMENTS[name]), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))
