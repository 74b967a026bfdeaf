"""Which features may have an effect, as far as an environment says it."""

from __future__ import annotations

from dataclasses import replace

import torch

from assay.environments.tabular_rule import TabularRule


def test_a_rule_reads_its_informative_columns_and_no_other() -> None:
    for informative in (1, 3, 8):
        env = replace(TabularRule.tiny(), informative=informative, epochs=1)
        setting, truth = env.setting(0, env.train(0)), env.sample(range(40), 0).truth
        assert truth is not None
        seen = truth.effect.ne(0).any(dim=0).nonzero().flatten().tolist()
        assert setting.informative == tuple(seen) == tuple(range(informative))
        assert setting.to("cpu", torch.float64).informative == setting.informative
