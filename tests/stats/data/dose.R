# Makes dose_runs.csv and dose_response.json: Rscript dose.R, from here (R 4.2, lme4 1.1-31, lmerTest 3.1-3, jsonlite).
# Slopes and F tests of nested curves by lmerTest (Satterthwaite), the saturating alternative by ML.
suppressPackageStartupMessages({library(lme4); library(lmerTest); library(splines); library(jsonlite)})
set.seed(26)
d <- expand.grid(block = 0:7, arm = c("native", "matched", "twin"), condition = c("base", "a", "b", "c"), stringsAsFactors = FALSE)
d <- d[!(d$condition == "c" & d$block == 3), ]
native <- c(base = 60, a = 150, b = 320, c = 900)
d$steps <- ifelse(d$arm == "native", native[d$condition] + d$block, 100)
d$ess <- round(d$steps * ifelse(d$condition == "b", .4, .9) + d$block)
level <- rnorm(8, .4, .03)
d$y <- round(level[d$block + 1] + .04 * log(d$steps / 100) - .012 * log(d$steps / 100)^2 + .06 * (d$condition == "a" & d$arm != "twin") + rnorm(nrow(d), 0, .02), 6)
write.csv(d[c("condition", "arm", "block", "steps", "ess", "y")], "dose_runs.csv", row.names = FALSE)
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
curves <- function(dose) {
  d$x <- log(d[[dose]] / mean(d[[dose]][d$arm == "matched"]))
  d$group <- paste(d$condition, ifelse(d$arm == "twin", "twin", "real")); d$cell <- paste(d$condition, d$arm)
  doses <- unique(round(d$x, 9)); d$n <- ns(d$x, knots = median(doses), Boundary.knots = range(doses))
  fit <- function(f, REML = TRUE) suppressMessages(lmer(f, d, REML = REML, control = control))
  line <- fit(y ~ 0 + group + x + (1 | block)); apart <- fit(y ~ 0 + group + condition:x + (1 | block))
  beyond <- function(f, what) {
    m <- fit(f); last <- grep(what, names(fixef(m))); if (!length(last)) return(NULL)
    a <- contestMD(m, diag(length(fixef(m)))[last, , drop = FALSE]); list(f = a[["F value"]], df = c(a$NumDF, a$DenDF), p = a[["Pr(>F)"]])
  }
  row <- function(m, k) { s <- coef(summary(m))[k, ]; list(estimate = s[[1]], se = s[[2]], df = s[[3]], p = s[[5]]) }
  tests <- list(
    curvature = beyond(y ~ 0 + group + x + n + (1 | block), "^n"),
    unequal_slopes = beyond(y ~ 0 + group + n + condition:x + (1 | block), ":x"),
    beyond_spline = beyond(y ~ 0 + group + n + condition:x + cell + (1 | block), "^cell"),
    lack_of_fit = beyond(y ~ 0 + group + x + cell + (1 | block), "^cell"))
  d$sat <- 1 - exp(-d$x)
  slopes <- grep(":x", names(fixef(apart)), value = TRUE)
  list(slope = row(line, "x"), slopes = setNames(lapply(slopes, function(k) row(apart, k)), sub("condition(.*):x", "\\1", slopes)),
    saturating_gain = AIC(fit(y ~ 0 + group + x + (1 | block), FALSE)) - AIC(fit(y ~ 0 + group + sat + (1 | block), FALSE)), tests = tests)
}
writeLines(toJSON(list(steps = curves("steps"), ess = curves("ess")), auto_unbox = TRUE, digits = 12, null = "null"), "dose_response.json")
