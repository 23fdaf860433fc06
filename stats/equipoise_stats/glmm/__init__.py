"""Logit mixed models by Laplace's approximation, with marginal risk differences."""

from equipoise_stats.glmm.fit import Component, Fit, fit
from equipoise_stats.glmm.marginal import Rates, rate_table, rates, risk_differences
from equipoise_stats.glmm.model import Counts
from equipoise_stats.glmm.sensitivity import LogitContrast, LogitModel, logit_model
from equipoise_stats.glmm.wald import Wald, coefficients, contrasts

__all__ = [
    "Component",
    "Counts",
    "Fit",
    "LogitContrast",
    "LogitModel",
    "Rates",
    "Wald",
    "coefficients",
    "contrasts",
    "fit",
    "logit_model",
    "rate_table",
    "rates",
    "risk_differences",
]
