"""equipoise: preregistered, compute-matched comparisons of credit-assignment rules."""

__all__ = ["__version__"]

__version__ = "0.1.0"
