import re

from equipoise_reports.figures import blocks, forest, svg


def a_forest(name: str = "gigpo") -> svg.Drawing:
    effects = [
        forest.Effect(name, "CONTENT", 0.031, -0.012, 0.074),
        forest.Effect(name, "TOTAL", 0.09, 0.05, 0.13),
        forest.Effect("reinforce", "CONTENT", None, 0.0, 0.0, "by construction"),
    ]
    return forest.draw(effects, (name, "reinforce"), 0.05, "A caption.")


def test_a_drawing_has_the_pages_colours_and_no_other() -> None:
    for form in (a_forest().wide, a_forest().narrow):
        assert "var(--matched)" in form
        assert not re.findall(r"#[0-9a-f]{6}\b", form)


def test_a_drawing_carries_no_metadata_no_global_style_and_no_address() -> None:
    form = a_forest().wide
    assert not re.search(r"<metadata|<style|<!DOCTYPE|<\?xml|https?:|xmlns", form)


def test_text_stays_text_in_the_pages_font() -> None:
    form = a_forest().wide
    assert re.search(r"<text[^>]*>gigpo</text>", form)
    assert "DejaVu" not in form


def test_ids_are_the_drawings_own_and_references_arrive() -> None:
    form = a_forest().wide
    ids = set(re.findall(r' id="([^"]+)"', form))
    used = set(re.findall(r"url\(#([^)]+)\)", form)) | set(re.findall(r' href="#([^"]+)"', form))
    assert used <= ids
    assert all(name.startswith("forest-wide") for name in ids)


def test_a_description_says_the_content_in_numbers() -> None:
    assert "gigpo CONTENT +3.1 (-1.2 to +7.4); reinforce CONTENT: by construction" in a_forest().wide


def test_dollar_signs_and_markup_in_names_are_drawn_as_they_are() -> None:
    form = a_forest("a$b$<i>").wide
    assert "a$b$&lt;i&gt;" in form
    assert "<i>" not in form


def test_two_drawings_of_the_same_data_are_the_same() -> None:
    assert a_forest() == a_forest()


def test_the_phone_form_is_narrow_enough_to_be_read_unscaled() -> None:
    assert 'viewBox="0 0 350 ' in a_forest().narrow
    assert 'viewBox="0 0 720 ' in a_forest().wide


def test_many_blocks_and_conditions_are_drawn() -> None:
    points = [
        blocks.Point(f"c{place}", arm, block, 0.4 + block / 100)
        for place in range(9)
        for arm in ("native", "matched", "twin")
        for block in range(30)
    ]
    drawing = blocks.draw(points, [f"c{place}" for place in range(9)], None, "A caption.")
    assert drawing.wide.count(">c8<") == 1
    assert "c0: native 54.5 %, matched 54.5 %, twin 54.5 %" in drawing.wide
