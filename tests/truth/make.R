# Truth tables by lme4, lmerTest, pbkrtest and emmeans: Rscript make.R OUT [NAMES] writes OUT/data and OUT/results.
# OUT/data/Machines.csv must be there: nlme's Machines, which this script reads.
suppressPackageStartupMessages({library(lme4); library(lmerTest); library(emmeans); library(pbkrtest); library(jsonlite); library(splines)})
out <- commandArgs(TRUE)[1]
dir.create(file.path(out, "data"), recursive = TRUE, showWarnings = FALSE)
dir.create(file.path(out, "results"), showWarnings = FALSE)
emm_options(lmerTest.limit = 1e6, pbkrtest.limit = 1e6)
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5))

frames <- 0
frame <- function(x) { x <- as.data.frame(x); x }
coefs <- function(m, ddf) {
  co <- tryCatch(as.data.frame(coef(summary(m, ddf = ddf))), error = function(e) conditionMessage(e))
  if (is.character(co)) return(co)
  names(co) <- c("est", "se", "df", "t", "p"); co$term <- rownames(co); co
}
kr_coefs <- function(m) {
  if (!isREML(m)) return("Kenward-Roger's method is only available for REML model fits")
  coefs(m, "Kenward-Roger")
}
anova3 <- function(m, ddf) {
  if (ddf == "Kenward-Roger" && !isREML(m)) return("Kenward-Roger's method is only available for REML model fits")
  a <- as.data.frame(anova(m, type = 3, ddf = ddf)); a$term <- rownames(a); a
}
lmm <- function(formula, data, REML = TRUE, kr = TRUE, weights = NULL, profile = FALSE) {
  frames <<- frames + 1
  name <- paste0("frame", frames)
  if (!is.null(weights)) data$.w <- weights
  assign(name, data, globalenv())
  call <- if (is.null(weights)) bquote(lmer(.(formula), .(as.name(name)), REML = .(REML), control = control)) else
    bquote(lmer(.(formula), .(as.name(name)), REML = .(REML), control = control, weights = .w))
  m <- eval(call, globalenv())
  r <- list(formula = paste(deparse(formula(m), width.cutoff = 500L), collapse = " "), nobs = nobs(m), reml = isREML(m),
    loglik = as.numeric(logLik(m)), reml_criterion = if (isREML(m)) REMLcrit(m) else NA, AIC = AIC(m), BIC = BIC(m),
    sigma = sigma(m), theta = as.list(getME(m, "theta")), singular = isSingular(m), varcorr = frame(VarCorr(m)),
    vcov = as.matrix(vcov(m)), fixef_names = names(fixef(m)), satterthwaite = coefs(m, "Satterthwaite"))
  dimnames(r$vcov) <- NULL
  if (kr) r$kenward_roger <- kr_coefs(m)
  r$anova3_satt <- anova3(m, "Satterthwaite")
  if (kr) r$anova3_kr <- anova3(m, "Kenward-Roger")
  if (profile) { p <- as.data.frame(confint(m, method = "profile", quiet = TRUE, oldNames = FALSE)); names(p) <- c("lower", "upper"); p$parameter <- rownames(p); r$profile <- p }
  list(m = m, r = r)
}
emm <- function(m, spec, mode = "satterthwaite", delta = NULL, data = NULL, weights = "equal", ref = 1) {
  if (is.null(data)) data <- get(as.character(m@call$data), globalenv())
  e <- emmeans(m, spec, lmer.df = mode, data = data, weights = weights)
  ct <- contrast(e, "trt.vs.ctrl", ref = ref, adjust = "none")
  set.seed(1)
  r <- list(mode = mode, emmeans = frame(summary(e, infer = c(TRUE, TRUE))),
    none = frame(summary(ct, infer = c(TRUE, TRUE), adjust = "none")),
    holm = frame(summary(ct, infer = c(FALSE, TRUE), adjust = "holm")),
    dunnettx = frame(summary(ct, infer = c(TRUE, TRUE), adjust = "dunnettx")),
    mvt = frame(summary(ct, infer = c(TRUE, TRUE), adjust = "mvt")))
  if (!is.null(delta)) {
    r$tost_delta <- delta
    r$tost <- frame(test(ct, delta = delta, adjust = "none"))
    r$noninf <- frame(test(ct, delta = delta, side = ">", adjust = "none"))
  }
  r
}
tukey <- function(m, spec, mode = "satterthwaite", data = get(as.character(m@call$data), globalenv())) frame(summary(pairs(emmeans(m, spec, lmer.df = mode, data = data)), infer = c(TRUE, TRUE)))
meta <- list(R = R.version.string, lme4 = as.character(packageVersion("lme4")), lmerTest = as.character(packageVersion("lmerTest")),
  emmeans = as.character(packageVersion("emmeans")), pbkrtest = as.character(packageVersion("pbkrtest")))
start <- proc.time()[3]
save <- function(name, r) {
  r$meta <- meta
  write_json(r, file.path(out, "results", paste0(name, ".json")), digits = 15, auto_unbox = TRUE, na = "null", null = "null", pretty = 1)
  cat(name, round(proc.time()[3] - start, 1), "s\n")
}
csv <- function(d, name) { write.csv(d, file.path(out, "data", paste0(name, ".csv")), row.names = FALSE); d }

only <- commandArgs(TRUE)[-1]
attempt <- function(name, f) if (!length(only) || name %in% only) tryCatch(f(), error = function(e) cat("FAILED", name, conditionMessage(e), "\n"))

attempt("Penicillin", function() {
  d <- csv(Penicillin, "Penicillin")
  a <- lmm(diameter ~ 1 + (1 | plate) + (1 | sample), d, profile = TRUE)
  b <- lmm(diameter ~ 1 + (1 | plate) + (1 | sample), d, REML = FALSE)
  p <- lmm(diameter ~ sample + (1 | plate), d)
  save("Penicillin_more", list(crossed = a$r, crossed_ml = b$r, fixed_sample = p$r, emm_fixed_sample = emm(p$m, ~ sample, delta = 1), pairs_tukey = tukey(p$m, ~ sample)))
})
attempt("Pastes", function() {
  d <- csv(Pastes, "Pastes")
  a <- lmm(strength ~ 1 + (1 | batch / cask), d, profile = TRUE)
  b <- lmm(strength ~ 1 + (1 | sample) + (1 | batch), d)
  ml <- lmm(strength ~ 1 + (1 | batch / cask), d, REML = FALSE)
  o <- lmm(strength ~ cask + (1 | batch), d)
  save("Pastes", list(nested = a$r, crossed = b$r, nested_ml = ml$r, cask = o$r, emm_cask_kr = emm(o$m, ~ cask, "kenward-roger", 0.5), emm_cask = emm(o$m, ~ cask, delta = 0.5)))
})
attempt("Dyestuff", function() {
  d <- csv(Dyestuff, "Dyestuff"); csv(Dyestuff2, "Dyestuff2")
  a <- lmm(Yield ~ 1 + (1 | Batch), d, profile = TRUE); b <- lmm(Yield ~ 1 + (1 | Batch), d, REML = FALSE)
  save("Dyestuff", list(d1 = a$r, d1_ml = b$r))
  z <- lmm(Yield ~ 1 + (1 | Batch), Dyestuff2, REML = FALSE)
  save("Dyestuff2_ml", list(d2_boundary_ml = z$r))
})
attempt("sleepstudy", function() {
  d <- sleepstudy
  a <- lmm(Reaction ~ Days + (Days || Subject), d); b <- lmm(Reaction ~ Days + (0 + Days | Subject), d)
  c <- lmm(Reaction ~ poly(Days, 2) + (1 | Subject), d); n <- lmm(Reaction ~ ns(Days, 2) + (1 | Subject), d)
  i <- lmm(Reaction ~ Days + I(Days^2) + (Days | Subject), d); l <- lmm(log(Reaction) ~ Days + (1 + Days | Subject), d)
  save("sleepstudy_more", list(uncorr = a$r, slope_only = b$r, poly = c$r, ns = n$r, square = i$r, log = l$r, uncorr_profile = lmm(Reaction ~ Days + (1 | Subject), d, profile = TRUE)$r))
})
attempt("cake", function() {
  d <- csv(cake, "cake")
  a <- lmm(angle ~ recipe * temperature + (1 | recipe:replicate), d)
  b <- lmm(angle ~ recipe + temp + (1 | recipe:replicate), d); t <- lmm(angle ~ recipe * temp + (1 | replicate) + (1 | recipe:replicate), d)
  f <- d; f$temperature <- factor(f$temperature, ordered = FALSE); csv(f, "cake_unordered")
  g <- lmm(angle ~ recipe * temperature + (1 | recipe:replicate), f)
  tr <- emtrends(t$m, ~ recipe, var = "temp", lmer.df = "satterthwaite"); trk <- emtrends(t$m, ~ recipe, var = "temp", lmer.df = "kenward-roger")
  save("cake", list(full = a$r, add = b$r, slopes = t$r, unordered = g$r,
    emm_full = emm(a$m, ~ recipe, delta = 3, data = d), emm_full_by = emm(a$m, ~ temperature | recipe, data = d), emm_add = emm(b$m, ~ recipe, delta = 3, data = d),
    emm_unordered_kr = emm(g$m, ~ recipe | temperature, "kenward-roger", 3, data = f),
    did = frame(summary(contrast(emmeans(g$m, ~ recipe * temperature, lmer.df = "satterthwaite", data = f), interaction = c("trt.vs.ctrl1", "consec")), infer = c(TRUE, TRUE))),
    trends = frame(summary(tr, infer = c(TRUE, TRUE))), trends_pairs = frame(summary(pairs(tr), infer = c(TRUE, TRUE))), trends_kr = frame(summary(trk, infer = c(TRUE, TRUE))),
    pairs_tukey = tukey(b$m, ~ recipe, data = d)))
})
attempt("cbpp", function() {
  d <- csv(cbpp, "cbpp"); d$prop <- d$incidence / d$size
  # pbkrtest leaves weights out of its covariance: no Kenward-Roger here.
  a <- lmm(incidence / size ~ period + (1 | herd), cbpp, weights = cbpp$size, kr = FALSE); b <- lmm(incidence ~ period + size + (1 | herd), d)
  a$r$weights <- "size"
  save("cbpp_lmm", list(lpm = a$r, counts = b$r, emm_counts = emm(b$m, ~ period, delta = 1, data = d), emm_counts_kr = emm(b$m, ~ period, "kenward-roger", 1, data = d)))
})
attempt("InstEval", function() {
  set.seed(3); keep <- levels(InstEval$d)[sample(nlevels(InstEval$d), 140)]
  d <- csv(droplevels(subset(InstEval, d %in% keep)), "InstEval_sub")
  a <- lmm(y ~ service + (1 | s) + (1 | d) + (1 | dept), d, kr = FALSE)
  b <- lmm(y ~ service * lectage + (1 | s) + (1 | d) + (1 | dept:service), d, kr = FALSE)
  save("InstEval_sub", list(crossed = a$r, inter = b$r, emm_crossed = emm(a$m, ~ service, delta = 0.1, data = d)))
})
attempt("ham", function() {
  d <- csv(ham, "ham")
  a <- lmm(Informed.liking ~ Product * Information + (1 | Consumer) + (1 | Consumer:Product) + (1 | Consumer:Information), d)
  f <- lmm(Informed.liking ~ Product * Information * Gender * Age + (1 | Consumer) + (1 | Consumer:Product) + (1 | Consumer:Information), d, kr = FALSE)
  s <- lmm(Informed.liking ~ Product * Gender + Age + (1 | Consumer) + (1 | Product:Consumer), d)
  save("ham", list(three = a$r, full = f$r, gender = s$r, emm_three = emm(a$m, ~ Product, delta = 0.5, data = d), emm_by = emm(a$m, ~ Product | Information, "kenward-roger", delta = 0.5, data = d), emm_gender = emm(s$m, ~ Product | Gender, delta = 0.5, data = d), pairs_tukey = tukey(a$m, ~ Product, data = d)))
})
attempt("carrots", function() {
  d <- csv(carrots, "carrots")
  a <- lmm(Preference ~ sens2 + Homesize + (1 + sens2 | Consumer), d); b <- lmm(Preference ~ sens1 + sens2 + Homesize + (1 | Consumer) + (1 | Product), d)
  i <- lmm(Preference ~ sens2 * Homesize + (sens2 | Consumer) + (1 | Product), d)
  save("carrots", list(slope = a$r, crossed = b$r, slope_inter = i$r, emm_slope = emm(a$m, ~ Homesize, delta = 0.2, data = d), emm_slope_kr = emm(a$m, ~ Homesize, "kenward-roger", delta = 0.2, data = d),
    trends = frame(summary(emtrends(i$m, ~ Homesize, var = "sens2", lmer.df = "satterthwaite"), infer = c(TRUE, TRUE)))))
})
attempt("Machines", function() {
  d <- read.csv(file.path(out, "data", "Machines.csv"), stringsAsFactors = TRUE); d$Worker <- factor(d$Worker)
  a <- lmm(score ~ Machine + (Machine - 1 | Worker), d); b <- lmm(score ~ Machine + (1 | Worker / Machine), d, profile = TRUE)
  c <- lmm(score ~ 0 + Machine + (1 | Worker) + (1 | Worker:Machine), d)
  save("Machines_more", list(nested = b$r, cell_means = c$r, emm_nested = emm(b$m, ~ Machine, delta = 6, ref = 2), pairs_tukey_kr = tukey(b$m, ~ Machine, "kenward-roger")))
})
attempt("syn3", function() {
  set.seed(11)
  rules <- c("uniform", "prm", "gae", "vineppo"); seeds <- sprintf("s%02d", 0:7); tasks <- sprintf("t%02d", 0:24)
  runs <- expand.grid(role = c("real", "placebo"), budget = c(200, 400, 800), rule = rules, seed = seeds, stringsAsFactors = FALSE)
  runs <- runs[!(runs$rule == "uniform" & runs$role == "placebo"), ]
  runs <- runs[!(runs$rule == "gae" & runs$seed == "s03"), ]
  runs$ess <- round(runs$budget * runif(nrow(runs), 0.2, 1)); runs$diverged <- as.integer(runif(nrow(runs)) < 0.08)
  runs$run <- with(runs, paste(rule, role, budget, seed, sep = "."))
  sd <- rnorm(8, 0, .02); names(sd) <- seeds; td <- rnorm(25, 0, .15); names(td) <- tasks
  runs$q <- rnorm(nrow(runs), 0, .03) + .04 * log(runs$ess) + .05 * (runs$rule == "prm" & runs$role == "real") + sd[runs$seed]
  d <- merge(runs, data.frame(task = tasks)); d <- d[runif(nrow(d)) < 0.35, ]
  d$score <- round(with(d, q + td[task] + rnorm(nrow(d), .2, .1)) * (1 - d$diverged * .4), 6); d$log_steps <- log(d$budget); d$log_ess <- log(d$ess); d$q <- NULL
  d$rule <- factor(d$rule, rules); d$role <- factor(d$role, c("placebo", "real")); d$cond <- factor(paste(d$rule, d$role, sep = "."))
  csv(d, "syn3_ragged")
  itt <- lmm(score ~ cond + log_steps + (1 | seed) + (1 | task) + (1 | run), d)
  pp <- lmm(score ~ cond + log_steps + (1 | seed) + (1 | task) + (1 | run), subset(d, diverged == 0), kr = FALSE)
  ess <- lmm(score ~ cond + log_ess + (1 | seed) + (1 | task) + (1 | run) + (1 | cond:task), d, kr = FALSE)
  r <- aggregate(score ~ rule + role + cond + seed + budget + run + log_steps + log_ess, d, mean)
  rl <- lmm(score ~ rule * log_steps + (1 | seed), subset(r, role == "real")); m4 <- lmm(score ~ cond + ns(log_steps, 2) + rule:log_steps + (1 | seed), subset(r, rule != "uniform" & role == "real"))
  w <- subset(d, rule != "uniform"); w$rule <- droplevels(w$rule)
  tw <- lmm(score ~ rule * role + log_steps + (1 | seed) + (1 | task) + (1 | run), w)
  save("syn3", list(itt = itt$r, per_protocol = pp$r, ess = ess$r, run_level = rl$r, twins = tw$r,
    emm_itt = emm(itt$m, ~ cond, delta = .03, data = d, ref = 7), emm_pp = emm(pp$m, ~ cond, delta = .03, data = subset(d, diverged == 0)), emm_itt_kr = emm(itt$m, ~ cond, "kenward-roger", delta = .03, data = d),
    placebo = frame(summary(contrast(emmeans(tw$m, ~ role | rule, lmer.df = "satterthwaite", data = w), "revpairwise"), infer = c(TRUE, TRUE))),
    slopes = frame(summary(emtrends(rl$m, ~ rule, var = "log_steps", lmer.df = "satterthwaite"), infer = c(TRUE, TRUE))),
    slopes_ctrl = frame(summary(contrast(emtrends(rl$m, ~ rule, var = "log_steps", lmer.df = "satterthwaite"), "trt.vs.ctrl1", adjust = "dunnettx"), infer = c(TRUE, TRUE)))))
})
