from dataclasses import replace

import pytest

from transforms.settings import DecodeSettings, SectionStrategy, Strategy


@pytest.mark.parametrize("strategy", SectionStrategy)
def test_a_number_that_the_section_strategy_does_not_look_at_changes_no_fingerprint(strategy: SectionStrategy) -> None:
    settings = DecodeSettings(section_strategy=strategy)

    for number, owner in (("section_element_count", SectionStrategy.COUNT), ("section_max_size", SectionStrategy.SIZE)):
        other = replace(settings, **{number: 7})
        assert (other.fingerprint != settings.fingerprint) == (strategy is owner)
        assert other.to_json() != settings.to_json(), "the manifest tells what was asked for"


def test_every_other_setting_changes_the_fingerprint() -> None:
    others = [
        DecodeSettings(strategy=Strategy.FAST),
        DecodeSettings(languages=("deu",)),
        DecodeSettings(section_strategy=SectionStrategy.HEADING),
        DecodeSettings(section_within_pages=True),
        DecodeSettings(images=False),
    ]
    assert len({settings.fingerprint for settings in [DecodeSettings(), *others]}) == 6
