# Correlated slopes beside another term, and weights, whose fits do not say them: Rscript slopes_weights.R OUT.
suppressPackageStartupMessages({library(lme4); library(lmerTest); library(emmeans); library(pbkrtest); library(jsonlite); library(splines)})
out <- commandArgs(TRUE)[1]; only <- commandArgs(TRUE)[-1]
emm_options(lmerTest.limit = 1e6, pbkrtest.limit = 1e6)
CT <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
fr <- as.data.frame
cf <- function(m, ddf) { s <- fr(coef(summary(m, ddf = ddf))); names(s) <- c("est","se","df","t","p"); s$term <- rownames(s); s }
an <- function(m, ddf) { s <- fr(anova(m, type = 3, ddf = ddf)); s$term <- rownames(s); s }
rec <- function(m, kr = isREML(m)) {
  r <- list(formula = paste(deparse(formula(m), width.cutoff = 500L), collapse = " "), nobs = nobs(m), reml = isREML(m), loglik = as.numeric(logLik(m)),
   reml_criterion = if (isREML(m)) REMLcrit(m) else NA, AIC = AIC(m), BIC = BIC(m), sigma = sigma(m), theta = as.list(getME(m, "theta")), singular = isSingular(m),
   varcorr = fr(VarCorr(m)), vcov = unname(as.matrix(vcov(m))), fixef_names = names(fixef(m)), satterthwaite = cf(m, "Satterthwaite"), anova3_satt = an(m, "Satterthwaite"))
  if (kr) { r$kenward_roger <- cf(m, "Kenward-Roger"); r$anova3_kr <- an(m, "Kenward-Roger") }
  r }
grp <- function(m, spec, mode, delta, ref = 1, data = NULL) {
  e <- if (is.null(data)) emmeans(m, spec, lmer.df = mode) else emmeans(m, spec, lmer.df = mode, data = data)
  ct <- contrast(e, "trt.vs.ctrl", ref = ref, adjust = "none"); set.seed(1)
  list(mode = mode, emmeans = fr(summary(e, infer = TRUE)), none = fr(summary(ct, infer = TRUE, adjust = "none")), holm = fr(summary(ct, infer = c(FALSE, TRUE), adjust = "holm")),
    dunnettx = fr(summary(ct, infer = TRUE, adjust = "dunnettx")), mvt = fr(summary(ct, infer = TRUE, adjust = "mvt")), tost_delta = delta,
    tost = fr(test(ct, delta = delta, adjust = "none")), noninf = fr(test(ct, delta = delta, side = ">", adjust = "none"))) }
s2 <- function(x, ...) fr(summary(x, infer = c(TRUE, TRUE), ...))
put <- function(name, r) { r$meta <- list(R = "x"); write_json(r, file.path(out, "results", paste0(name, ".json")), digits = 15, auto_unbox = TRUE, na = "null", null = "null"); cat(name, proc.time()[3], "\n") }
csv <- function(d, name) write.csv(d, file.path(out, "data", paste0(name, ".csv")), row.names = FALSE)
go <- function(name, f) if (!length(only) || name %in% only) tryCatch(f(), error = function(e) cat("FAILED", name, conditionMessage(e), "\n"))

go("beta", function() { # correlated slopes, ragged, with another term; singular correlation
  set.seed(7); d <- expand.grid(dose = c(0, 1, 2, 4, 8), rep = 1:2, subject = sprintf("p%02d", 1:26)); d <- d[runif(nrow(d)) < .6, ]
  d$lab <- paste0("lab", (as.integer(d$subject) * 7) %% 6); d$group <- c("ctl","low","high")[1 + as.integer(d$subject) %% 3]
  b <- rnorm(26, 0, 2); s <- .3*b + rnorm(26, 0, .5); l <- rnorm(6, 0, 1); names(l) <- paste0("lab", 0:5)
  d$y <- 20 + b[d$subject] + (1 + s[d$subject]) * d$dose + l[d$lab] + rnorm(nrow(d), 0, 1.5)
  d$z <- 20 + b[d$subject] + (1 + .25*b[d$subject]) * d$dose + rnorm(nrow(d), 0, 1.5)
  csv(d, "beta"); d$group <- factor(d$group, c("ctl","low","high")); b_ <<- d
  m <- lmer(y ~ dose * group + (dose | subject) + (1 | lab), d, control = CT); ml <- lmer(y ~ dose * group + (dose | subject) + (1 | lab), d, REML = FALSE, control = CT)
  n <- lmer(z ~ dose * group + (dose | subject), d, control = CT); u <- lmer(y ~ dose + group + (dose || subject), d, control = CT)
  tr <- emtrends(m, ~ group, var = "dose", lmer.df = "satterthwaite")
  set.seed(1)
  put("beta", list(corr = rec(m), corr_ml = rec(ml), perfect = rec(n), bars = rec(u), emm = grp(m, ~ group, "satterthwaite", 1), emm_kr = grp(m, ~ group, "kenward-roger", 1),
    slopes = s2(tr), slopes_pairs = s2(pairs(tr)), slopes_mvt = { set.seed(1); s2(contrast(tr, "trt.vs.ctrl", adjust = "mvt")) }, slopes_kr = s2(emtrends(m, ~ group, var = "dose", lmer.df = "kenward-roger")),
    slopes_tost = list(mode = "satterthwaite", tost_delta = .5, tost = fr(test(contrast(tr, "trt.vs.ctrl1", adjust = "none"), delta = .5, adjust = "none"))),
    at_dose = s2(emmeans(m, ~ group | dose, at = list(dose = c(0, 4)), lmer.df = "satterthwaite"))))
})
go("delta", function() { # weights, crossed, unbalanced; two-block slopes
  set.seed(9); d <- data.frame(w = sample(1:9, 240, TRUE), worker = sample(LETTERS[1:12], 240, TRUE), batch = sample(paste0("b", 1:20), 240, TRUE), method = sample(c("new","old","alt"), 240, TRUE), x = round(runif(240), 3))
  e <- function(f, s) { f <- factor(f); rnorm(nlevels(f), 0, s)[f] }
  d$y <- e(d$worker, 1) + e(d$batch, .7) + .5*(d$method=="new") + d$x*2 + rnorm(240)/sqrt(d$w); csv(d, "delta"); d$method <- factor(d$method, c("old","alt","new")); d_ <<- d
  m <- lmer(y ~ method + x + (1|worker) + (1|batch), d, weights = w, control = CT); ml <- lmer(y ~ method * x + (1|worker) + (1|batch), d, weights = w, REML = FALSE, control = CT)
  two <- lmer(y ~ method + x + (x|worker) + (x|batch), d, weights = w, control = CT)
  a <- rec(m, FALSE); b <- rec(ml, FALSE); b$weights <- "w"; c <- rec(two, FALSE); c$weights <- "w"
  put("delta", list(weighted = a, ml = b, two = c, emm_w = grp(m, ~ method, "satterthwaite", .4, 2), pairs_tukey = s2(pairs(emmeans(m, ~ method, lmer.df = "satterthwaite"))), trend = s2(emtrends(ml, ~ method, var = "x", lmer.df = "satterthwaite"))))
})
