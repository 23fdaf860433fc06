"""Contrast, computed from the style sheet as WCAG 2 defines it."""

import re
from importlib import resources

import pytest

TEXT = ("--ink", "--muted", "--link", "--good", "--bad")
MARKS = ("--native", "--matched", "--twin")


def palettes() -> dict[str, dict[str, str]]:
    sheet = resources.files("equipoise_reports").joinpath("templates/style.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", sheet, flags=re.DOTALL)
    assert len(blocks) == 3
    colours = [dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6})", block)) for block in blocks]
    return dict(zip(("light", "dark", "print"), colours, strict=True))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_that_the_standard_names() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_is_readable_on_every_ground(theme: str) -> None:
    colours = palettes()[theme]
    for ground in ("--paper", "--raised", "--band"):
        for text in TEXT:
            assert contrast(colours[text], colours[ground]) >= 4.5, (theme, text, ground)
    assert contrast(colours["--warn-ink"], colours["--warn-paper"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_marks_stand_out_from_the_paper(theme: str) -> None:
    colours = palettes()[theme]
    for mark in MARKS:
        assert contrast(colours[mark], colours["--paper"]) >= 3.0, (theme, mark)


def test_fonts_are_generic_families_only() -> None:
    sheet = resources.files("equipoise_reports").joinpath("templates/style.css").read_text()
    named = re.findall(r"font(?:-family)?: ([^;]+);", sheet)
    families = {part.strip().split()[-1] for value in named for part in value.split(",")}
    assert families <= {
        "system-ui",
        "sans-serif",
        "ui-serif",
        "serif",
        "ui-monospace",
        "monospace",
        "inherit",
    }
