"""The rules as loops, for `benchmarks/rules.py`: of published codes, and in plain Python."""
