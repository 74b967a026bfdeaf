"""Artifacts of one group take about equally long: the same work for other samples and seeds."""

from assay.engine.execute.grid import grid


def groups(study, kind, **changed):
    wanted = [artifact for artifact in grid(study(**changed)).wanted if artifact.kind == kind]
    return [artifact.group.key for artifact in wanted]


def test_blocks_and_seeds_are_one_group_and_methods_and_environments_are_not(study):
    changed = {"seeds": [0, 1], "methods": ["yard:Copy", "yard:Copy(k=2)"]}
    assert len(groups(study, "trial", **changed)) == 8
    assert len(set(groups(study, "trial", **changed))) == 2
    others = groups(study, "trial", environments=["yard:Meadow(scale=2)"])
    assert not set(others) & set(groups(study, "trial", **changed))


def test_a_group_is_the_same_in_every_study(study):
    assert set(groups(study, "trial", seeds=[0])) == set(groups(study, "trial", seeds=[7]))


def test_evidence_of_a_metric_that_asks_the_method_again_is_grouped_by_method(study, yard):
    methods = ["yard:Copy", "yard:Copy(k=2)"]
    assert len(set(groups(study, "evidence", methods=methods, metrics=["f1"]))) == 1
    assert len(set(groups(study, "evidence", methods=methods, metrics=["yard:Total"]))) == 2  # declares no needs


def test_a_last_block_that_is_a_little_shorter_is_like_the_others(study):
    sizes = {size: groups(study, "trial", block=size, samples=size)[0] for size in (5, 7, 8, 9)}
    assert sizes[5] == sizes[7] == sizes[8] != sizes[9]
