"""Which explanation of a boosted model of a table with categories and missing values can be trusted?"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import assay

rng = np.random.default_rng(0)
table = pd.DataFrame(
    {
        "age": rng.integers(18, 80, size=400).astype(float),
        "months": rng.integers(0, 60, size=400),
        "plan": pd.Categorical(rng.choice(["basic", "family", "pro"], size=400)),
    }
)
left = 2 * (table["plan"] == "basic") - 0.06 * (table["months"] - 30) + rng.logistic(size=400) > 0.7
table.loc[::7, "age"] = np.nan
model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20).fit(table[:300], left[:300])

result = assay.evaluate(model, table[300:], reference=table[:300], limit=30, budget=None)
print(result)
best = next((method for method, verdict in result.verdict.items() if verdict == "passes"), "feature_ablation")
assay.attribute(model, table[300:303], best, reference=table[:300]).show().save("your_table.png")
