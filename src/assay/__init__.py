"""assay: test feature-attribution methods, and the metrics that judge them, against known truth."""
