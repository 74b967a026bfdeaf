"""One attribution, looked at and judged."""

import assay

environment = assay.environment("color_count", side=32, sizes=(5, 10))
trial = assay.attribute(environment, "integrated_gradients", n=4, seed=0)
trial.show().save("first_steps.png")

print(trial.score("f1"))
print(trial.score("f1", sign="positive").per_sample.round(2))
insertion = trial.score("insertion")
print(insertion, "- from", insertion.curve[0].round(2), "to", insertion.curve[-1].round(2))
