"""A TOML file may hold whole numbers of any length."""

import pytest

from assay.core.errors import SpecError, StudyError
from assay.core.question import Question
from assay.studies.file import read

BASE = {"environments": ["color_count"], "methods": ["gradient"], "metrics": ["f1"]}
HUGE = 10**400


@pytest.mark.parametrize("field", ["temperature", "baseline"])
def test_a_question_has_numbers_that_a_float_can_hold(field):
    with pytest.raises(SpecError, match=field):
        Question.from_table({field: HUGE})


def test_a_gamma_is_a_number_that_a_float_can_hold():
    with pytest.raises(StudyError, match="gamma"):
        read({**BASE, "faithfulness": [{"metric": "f1", "gamma": HUGE}]}, "s")


@pytest.mark.parametrize("seed", [-1, 2**63 - 1])
def test_a_seed_may_be_any_whole_number_that_a_table_of_results_holds(seed):
    study = read({**BASE, "seeds": [seed], "data_seed": seed}, "s")
    assert study.seeds == (seed,)


@pytest.mark.parametrize("seed", [HUGE, 2**63])
def test_a_larger_one_is_refused(seed):
    with pytest.raises(StudyError, match="seeds: a whole number is too large"):
        read({**BASE, "seeds": [seed]}, "s")
