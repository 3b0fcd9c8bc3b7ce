"""Sections as text and as HTML."""

from html.parser import HTMLParser

from sparray.view.section import Section, Table, section_text
from sparray.view.section_html import page_html, section_html

EVIL = "<script>alert('&')</script>"
DOCUMENT = Section(
    "title",
    ("a line", "two\nlines"),
    Table(("name", "number"), (("one", "1"), ("  inside", "1000")), frozenset({1})),
    (Section("hidden", ("source",), is_open=False),),
)


class Outline(HTMLParser):
    """Collects tags, and fails on one that is closed in the wrong place."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_text_is_indented_and_aligned():
    assert section_text(DOCUMENT).splitlines() == [
        "title",
        "  a line",
        "  two",
        "  lines",
        "  name      number",
        "  one            1",
        "    inside    1000",
        "  hidden",
        "    source",
    ]


def test_html_has_every_text_and_closes_every_element():
    found = Outline(section_html(DOCUMENT))
    assert [tag for tag, _ in found.tags].count("details") == 2
    assert [a for tag, a in found.tags if tag == "details" and "open" in a]
    for text in ("title", "two\nlines", "1000", "hidden", "source"):
        assert text in found.text


def test_no_text_becomes_a_tag():
    table = Table((EVIL,), ((EVIL,),))
    evil = Section(EVIL, (EVIL,), table, (Section(EVIL),))
    page = page_html(evil)
    found = Outline(page)
    assert "script" not in [tag for tag, _ in found.tags]
    # Six times in the body, and in the title of the page.
    assert found.text.count(EVIL) == 6
    assert "<script" not in page


def test_a_page_loads_nothing():
    found = Outline(page_html(DOCUMENT))
    assert not [a for _, a in found.tags if {"src", "href"} & set(a)]
    assert "url(" not in page_html(DOCUMENT) and "@import" not in page_html(DOCUMENT)
