"""The environment of public tables, on the invented one."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest
import torch

from assay.catalogue.registry import resolve
from assay.core.errors import AssayError, SpecError
from assay.core.spec import Spec
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import make_place
from assay.environments.public_table import PublicTable, drawn_table
from unit.data.test_credit import clients

TINY = PublicTable.tiny()
TABLE = drawn_table()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_fifth_of_the_rows_is_for_testing_and_classes_keep_their_share(seed: int) -> None:
    test = set(TINY.identities(range(100), seed))
    assert len(test) == 100 == ceil(0.2 * len(TABLE.label))
    positives = int(TABLE.label.sum())
    assert sum(int(TABLE.label[row]) for row in test) in (positives // 5, positives // 5 + 1)
    reference = TINY.training_rows(seed)
    assert len(reference.x) == 400
    assert int(reference.label.sum()) + sum(int(TABLE.label[row]) for row in test) == positives


def test_samples_are_test_rows_in_standard_units_of_the_training_rows() -> None:
    reference, samples, rows = TINY.training_rows(3), TINY.sample(range(100), 3), TINY.identities(range(100), 3)
    others = [row for row in range(500) if row not in rows]
    raw = torch.tensor(TABLE.x).double()
    mean, deviation = raw[others].mean(dim=0), raw[others].std(dim=0, correction=0)
    torch.testing.assert_close(samples.x.double(), (raw[rows] - mean) / deviation, atol=1e-5, rtol=1e-5)
    assert samples.label.tolist() == [int(TABLE.label[row]) for row in rows]
    torch.testing.assert_close(reference.x.double().mean(dim=0), torch.zeros(7).double(), atol=1e-5, rtol=0)


def test_the_seed_divides_the_rows_unless_the_division_is_fixed() -> None:
    fixed = replace(TINY, split_seed=0)
    assert set(TINY.identities(range(100), 0)) != set(TINY.identities(range(100), 1))
    assert set(fixed.identities(range(100), 0)) == set(fixed.identities(range(100), 1))
    assert fixed.identities(range(100), 0) != fixed.identities(range(100), 1)  # another order
    spec = "public_table(dataset='drawn'{})"
    drawn, same = (
        Component("environments", resolve("environments", Spec.parse(spec.format(more))))
        for more in ("", ", split_seed=0")
    )
    with pytest.raises(AssayError, match="split_seed=0"):
        make_place(drawn, 0, 1)
    make_place(same, 0, 1)


def test_more_samples_than_test_rows_are_refused() -> None:
    with pytest.raises(AssayError, match="sample 100 was asked for, and drawn has 100 test rows"):
        TINY.sample([3, 100], 0)


def test_a_category_is_one_feature_if_asked_for() -> None:
    weights = TINY.train(0)
    one_by_one, columns = (replace(TINY, features=kind).setting(0, weights).features for kind in ("entries", "columns"))
    assert one_by_one.shape == one_by_one.entries == columns.entries == (7,)
    assert columns.shape == (4,)
    entries = torch.arange(7.0)
    assert columns.pool(entries).tolist() == [0, 1, 2 + 3 + 4, 5 + 6]


def test_networks_trained_together_are_those_trained_alone() -> None:
    reference = TINY.training_rows(0)
    x = torch.stack([reference.x, reference.x * torch.tensor([0.0] + [1.0] * 6)])
    setting = TINY.setting(0, TINY.train(0))
    assert setting.recipe is not None
    together = setting.recipe.train_many(x, reference.label, [5, 6])
    for rows, seed, model in zip(x, (5, 6), together, strict=True):
        alone = setting.recipe.train(rows, reference.label, seed)
        torch.testing.assert_close(model(reference.x), alone(reference.x), atol=1e-4, rtol=1e-4)


def test_the_network_learns_the_invented_table() -> None:
    model, samples = TINY.setting(0, TINY.train(0)).model, TINY.sample(range(100), 0)
    assert float((model(samples.x).argmax(dim=1) == samples.label).double().mean()) > 0.85


def test_a_file_of_ones_own_is_read_and_read_again_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clients.csv"
    clients(monkeypatch).to_csv(path, index=False)
    environment = PublicTable("credit", path=str(path), hidden=(8,), epochs=1)
    assert environment.sample(range(10), 0).x.shape == (10, 23)
    assert environment.training_rows(0).x.shape == (40, 23)
    clients(monkeypatch, 60).to_csv(path, index=False)
    assert environment.training_rows(0).x.shape == (48, 23)


def test_an_invented_table_needs_no_file() -> None:
    with pytest.raises(SpecError, match="leave path out"):
        PublicTable("drawn", path="some.csv")
