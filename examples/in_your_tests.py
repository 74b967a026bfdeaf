"""assay in your own test suite: a method that a designed network refutes fails the test."""

import assay
from assay.environments.color_count import ColorCount


def test_input_x_gradient_is_not_refuted_by_colour_counting():
    assay.assert_faithful("input_x_gradient", environment=ColorCount(side=32, sizes=(5, 10)), gamma=0.5)


def test_a_random_map_is_refuted():
    try:
        assay.assert_faithful("random_map", environment=ColorCount(side=32, sizes=(5, 10)), gamma=0.5)
    except AssertionError as refuted:
        print(refuted)
    else:
        raise AssertionError("a random map must not pass")


if __name__ == "__main__":
    test_input_x_gradient_is_not_refuted_by_colour_counting()
    test_a_random_map_is_refuted()
