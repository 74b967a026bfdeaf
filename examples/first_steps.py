"""One attribution, looked at and judged."""

import assay

environment = assay.environment("color_count", side=32, sizes=(5, 10))
attribution = assay.attribute(environment, "integrated_gradients", n=4, seed=0)
attribution.show().save("first_steps.png")

print(attribution.score("f1"))
print(attribution.score("f1", sign="positive").per_sample.round(2))
insertion = attribution.score("insertion")
print(insertion, "- from", insertion.curve[0].round(2), "to", insertion.curve[-1].round(2))
