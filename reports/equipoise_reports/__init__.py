"""The HTML report: what was asked, what was spent, what came out."""
