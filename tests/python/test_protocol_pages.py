"""The pages of the protocols have the options and the costs that the protocols declare."""

import pytest

import costs
import tacit
from tacit.protocols import OPTIONS, PROTOCOLS

PAGES = {name: (costs.PAGES / f"{name}.md").read_text() for name in costs.SETTINGS}


def test_every_protocol_but_the_clear_one_has_a_page():
    assert set(PAGES) == set(PROTOCOLS) - {"clear"}


@pytest.mark.parametrize("protocol", PAGES)
def test_options(protocol):
    for option in OPTIONS.values():
        rows = [line for line in PAGES[protocol].splitlines() if f"| `--{option.key}` |" in line]
        assert len(rows) == (protocol in option.of), option.key
        for value in option.of.get(protocol) or []:
            assert f"`{value}`" in rows[0]


@pytest.mark.parametrize("protocol", PAGES)
def test_costs(protocol):
    model = tacit.compile(costs.MODEL)
    assert costs.written(model, protocol) == PAGES[protocol], "scripts/costs.py writes them again"
