"""Which explanation of a black box that reads texts can be trusted? Its features are words."""

from itertools import permutations

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import assay

words = {"good": ["good", "great", "lovely"], "bad": ["bad", "awful", "boring"]}
pairs = list(permutations(["plot", "cast", "music", "ending"], 2))
texts = [f"the {a} is {word} and so is the {b}" for group in words.values() for word in group for a, b in pairs]
labels = [label for label, group in words.items() for _ in group for _ in pairs]
model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)

print(assay.evaluate(model, texts[::3], budget=None))
assay.attribute(model, texts[::18], "exact_shapley").show().save("your_texts.png")
