"""Linear mixed models: REML and ML with a certificate, small-sample degrees of freedom, profile intervals."""
