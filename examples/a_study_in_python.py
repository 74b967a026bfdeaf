"""A study from a script: run it twice, and the second time nothing is computed."""

from pathlib import Path
from tempfile import mkdtemp

import assay

folder = Path(mkdtemp())
(folder / "study.toml").write_text("""
samples = 8
seeds = [0, 1]
environments = ["color_count(side=16, sizes=(3, 6))", "pixel_modulo(side=24, modulus=5)"]
methods = ["input_x_gradient", "deep_shap", "random_map"]
metrics = ["f1", "precision"]
""")
run = assay.run(folder / "study.toml", store=folder / "store")
print(run.samples().groupby(["environment", "method", "metric"])["value"].mean().unstack().round(3))
print("report:", run.report())
