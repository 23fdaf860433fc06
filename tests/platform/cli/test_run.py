"""What `equipoise run` says of runs that did not receive their budget."""

from equipoise.cli.run import told_breaches


def test_runs_that_received_what_was_planned_are_not_mentioned() -> None:
    assert told_breaches({"b0/cell/a/matched/0": (), "b0/cell/a/native/0": ()}) == []


def test_runs_that_did_not_are_counted_and_the_first_are_named_with_their_reason() -> None:
    runs = {f"b{block}/cell/a/matched/0": ("tokens: expected 9", "another") for block in range(5)}
    assert told_breaches({**runs, "b0/cell/a/native/0": ()}) == [
        "5 of 6 runs did not receive what was planned, which bars their contrasts; 2 more are in the report:",
        "  b0/cell/a/matched/0: tokens: expected 9",
        "  b1/cell/a/matched/0: tokens: expected 9",
        "  b2/cell/a/matched/0: tokens: expected 9",
    ]
    assert told_breaches({"b0/cell/a/matched/0": ("few",)})[0].endswith("which bars their contrasts:")
