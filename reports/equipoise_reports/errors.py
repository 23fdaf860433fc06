"""What can be wrong with a study that someone asks to have reported."""


class ReportError(Exception):
    """A study that cannot be reported honestly; the message says what is missing and how to mend it."""


class NothingToReport(ReportError):  # noqa: N818 - named after what is wrong with the study
    """A report asked for before any run has ended."""


class IncoherentStudy(ReportError):  # noqa: N818 - the same
    """A study whose parts speak of different conditions, arms or blocks."""
