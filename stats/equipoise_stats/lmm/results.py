"""What a fit of a mixed model says."""

from __future__ import annotations

from dataclasses import dataclass, field

from equipoise_stats.lmm.model import FloatArray


@dataclass(frozen=True)
class Component:
    """One variance or covariance of a random term, or the residual variance.

    Attributes:
        term: name of the random term; "Residual" for the residual.
        columns: the column of a variance, the pair of columns of a covariance, () for the residual.
        value: variance or covariance in squared units of y (per unit of the columns).
        boundary: the term's covariance matrix lies on the boundary of the cone (a variance of 0, or rank one).
    """

    term: str
    columns: tuple[str, ...]
    value: float
    boundary: bool


@dataclass(frozen=True)
class Certificate:
    """Why the point found is the optimum (Karush, Kuhn and Tucker's conditions).

    Attributes:
        score: gradient over the free directions, each divided by the root of its information (standard errors).
        decrement: Newton decrement: how far the optimum is, in standard errors of the components.
        pressure: largest standardised score that leads off the boundary into the cone; <= 0 at an optimum, nan when
            no component is at the boundary.
        active: terms at the boundary, with the rank of their covariance matrix, such as "seed: rank 0 of 1".
        min_eigenvalue: smallest eigenvalue of the observed information over the free directions, scaled to unit
            diagonal; > 0 at a maximum.
        steps: Newton and Fisher steps taken from the winning start.
        starts: starting points tried.
        kkt: all conditions hold.
    """

    score: tuple[float, ...]
    decrement: float
    pressure: float
    active: tuple[str, ...]
    min_eigenvalue: float
    steps: int
    starts: int
    kkt: bool


@dataclass(frozen=True)
class Fit:
    """A fitted mixed model. Everything is in the units of y and X.

    Attributes:
        names: names of the estimated coefficients: those of X without the aliased ones.
        beta: (p,) generalised least-squares estimates.
        vcov: (p, p) their covariance (X'V^-1 X)^-1.
        components: variances and covariances of the terms in their order, the residual last.
        sigma2: residual variance (of a row of weight 1).
        loglik: log-likelihood (ML) or restricted log-likelihood (REML) with lme4's constants.
        AIC: Akaike's criterion, -2 loglik + 2 (p + number of components).
        BIC: Schwarz's criterion, with log(nobs) in place of 2.
        nobs: rows.
        reml: whether the restricted likelihood was maximised.
        theta: entries of the Cholesky factors of the relative covariance matrices, named as lme4 names them.
        aliased: names of columns of X that the others determine; no coefficient is estimated.
        alias: (p, number aliased) each aliased column as a combination of the kept ones: a row l of coefficients over
            all columns is estimable when l[aliased] = l[kept] @ alias.
        singular: some term's covariance matrix is at the boundary.
        certificate: the optimality conditions.
        solution: what the modules on inference read; internal units.
    """

    names: tuple[str, ...]
    beta: FloatArray
    vcov: FloatArray
    components: tuple[Component, ...]
    sigma2: float
    loglik: float
    AIC: float
    BIC: float
    nobs: int
    reml: bool
    theta: dict[str, float]
    aliased: tuple[str, ...]
    alias: FloatArray
    singular: bool
    certificate: Certificate
    solution: object = field(repr=False, compare=False, default=None)
