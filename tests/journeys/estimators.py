"""Fitted estimators of scikit-learn, as a user's module has them."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.argmax(X[:, :3], axis=1)

logistic = LogisticRegression().fit(X, Y)
boosted = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, Y)
pipeline = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, Y)
regression = LinearRegression().fit(X, X @ [3.0, -2.0, 1.0, 0.0])
unfitted = LogisticRegression()


def make():
    """A function that returns an estimator."""
    return LogisticRegression().fit(X, Y)
