from datetime import UTC, datetime, timedelta, timezone

import pytest

from transforms.partition.properties import html_properties, iso_date, parse_xml


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:00:00", "2024-05-01T10:00:00"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00Z"),
        ("2024-05-01T10:00:00.123456789", "2024-05-01T10:00:00"),
        ("Wed, 01 May 2024 10:00:00 -0500", "2024-05-01T15:00:00Z"),
        (datetime(2024, 5, 1, 10, tzinfo=UTC), "2024-05-01T10:00:00Z"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), ""),
        ("2024-13", ""),
        ("2024-02-31", ""),
        ("yesterday", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_dates_are_iso_8601_or_nothing(given, expected):
    assert iso_date(given) == expected


def test_xml_entities_are_not_expanded(tmp_path):
    (tmp_path / "secret").write_text("secret")
    root = parse_xml(f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><a>b&x;c</a>'.encode())
    assert "secret" not in "".join(root.itertext())
    assert parse_xml(b"") is None


def test_meta_elements_are_read_in_any_order_of_their_attributes():
    found = html_properties("<META content='Ada &amp; Bob' NAME='Author'><meta name=\"date\" content=\"2024-05-01\">")
    assert (found.title, found.creator, found.date) == ("", "Ada & Bob", "2024-05-01")
