# Makes the logit mixed models of this folder: Rscript glmm.R, from here (R 4.2, lme4 1.1-31, jsonlite).
# tolPwrss and rhoend near rounding: glmer's defaults leave 3e-5 of the log-likelihood and 0.3 % of the Hessian.
suppressMessages({library(lme4); library(jsonlite)})

control <- glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e6), tolPwrss = 1e-13)
described <- function(fit, formula) {
  table <- as.data.frame(coef(summary(fit)))
  list(coef = cbind(term = rownames(table), table), loglik = as.numeric(logLik(fit)),
       varcorr = as.data.frame(VarCorr(fit)), singular = isSingular(fit), AIC = AIC(fit), BIC = BIC(fit),
       vcov = as.matrix(vcov(fit)), nobs = nobs(fit), formula = formula)
}
fitted_by <- function(formula, data)
  described(glmer(as.formula(formula), data, family = binomial, control = control), formula)
meta <- list(R = R.version.string, lme4 = as.character(packageVersion("lme4")))
write_results <- function(name, ...) writeLines(
  toJSON(c(list(...), list(meta = meta)), auto_unbox = TRUE, digits = 15, null = "null", na = "null",
         dataframe = "rows"), file.path("results", paste0(name, ".json")))
write_data <- function(name, data) write.csv(data, file.path("data", paste0(name, ".csv")), row.names = FALSE)

data(cbpp)
write_data("cbpp", cbpp)
cbpp$obs <- factor(seq_len(nrow(cbpp)))
write_results("cbpp",
  herd = fitted_by("cbind(incidence, size - incidence) ~ period + (1 | herd)", cbpp),
  herd_obs = fitted_by("cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs)", cbpp))

# One variance at 0 and one inside: drawn without any group effect until it comes out so.
set.seed(5)
d <- data.frame(group = rep(sprintf("g%02d", 1:12), each = 10), unit = sprintf("u%02d", rep(1:10, 12)),
                arm = rep(c("a", "b"), 60), trials = rep(c(4, 6, 9), 40))
formula <- "cbind(successes, trials - successes) ~ arm + (1 | group) + (1 | unit)"
repeat {
  d$successes <- rbinom(120, d$trials, plogis(-.3 + .5 * (d$arm == "b")))
  found <- fitted_by(formula, d)
  if (min(found$varcorr$sdcor) < 1e-4 && max(found$varcorr$sdcor) > .05) break
}
write_data("counts_boundary", d)
write_results("counts_boundary", boundary = found)

# Ragged and crossed, as a suite is: rules by seeds by tasks, a fifth missing.
set.seed(11)
r <- expand.grid(task = sprintf("t%02d", 1:25), seed = sprintf("s%02d", 1:8), rule = c("uniform", "gae", "prm"))
r <- r[runif(nrow(r)) < .8, ]
r$run <- paste(r$rule, r$seed, sep = ".")
effect <- function(group, sd) { group <- factor(group); rnorm(nlevels(group), 0, sd)[group] }
r$trials <- sample(1:4, nrow(r), TRUE)
log_odds <- -.4 + .5 * (r$rule == "gae") + .9 * (r$rule == "prm") +
  effect(r$task, 1.1) + effect(r$seed, .3) + effect(r$run, .35)
r$successes <- rbinom(nrow(r), r$trials, plogis(log_odds))
r$rule <- factor(r$rule, c("uniform", "gae", "prm"))
write_data("counts_ragged", r)
write_results("counts_ragged",
  ragged = fitted_by("cbind(successes, trials - successes) ~ rule + (1 | seed) + (1 | task) + (1 | run)", r))
