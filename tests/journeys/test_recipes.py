"""The recipes in CONTRIBUTING.md work as printed."""

import re
from pathlib import Path

from assay.study.file import read

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = re.compile(r"^## Add an? \w+: `src/assay/\w+/(\w+)\.py`$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_three_recipes_run_together_in_a_study(tmp_path, monkeypatch, finish):
    recipes = dict(RECIPE.findall(TEXT))
    assert set(recipes) == {"centred_gradient", "peak_hit", "coin_rows"}
    for name, code in recipes.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    study = read(
        {
            "environments": ["coin_rows:CoinRows"],
            "methods": ["centred_gradient:CentredGradient(weight=0.5)", "input_x_gradient"],
            "metrics": ["peak_hit:PeakHit", "f1"],
            "samples": 8,
        },
        "recipes",
    )
    scores = [row for row in finish(study, tmp_path / "s") if row["kind"] == "score"]
    assert len(scores) == 4
    assert all(row["status"] == "ok" for row in scores)
    assert max(row["data"]["value"] for row in scores) == 1.0
