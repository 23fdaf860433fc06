"""The inference: decomposition, multiplicity, equivalence, verdicts and their cross-checks."""
