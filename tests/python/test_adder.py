"""The specification's simulation of the adder: parties that read only what they hold.

All rings up to three bits, and the tables, are `scripts/simulate_adder.py` run by itself.
"""

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "scripts" / "simulate_adder.py"
SPEC = importlib.util.spec_from_file_location("simulated_adder", SOURCE)
adder = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(adder)


def test_views_on_small_rings_are_the_same_for_all_secrets():
    """Every secret, sharing and coin of two bits: results right, views alike."""
    runs = 0
    for name, made in adder.small(2):
        counted, telling = adder.check(made, *name[1:])
        assert not telling, (name, telling)
        runs += counted
    assert runs > 500_000


def test_a_sign_of_three_bits_hides_its_value():
    """The smallest sign with a tree, whose AND is masked, too."""
    for name, made in adder.small(3):
        if name[1:] == ("sign", 3, 3) and "dealer 2" not in name[0]:
            assert not adder.check(made, *name[1:])[1], name


REPLICATED = [
    ("sign", 3, "deal"),
    ("sign", 3, "generate"),
    ("sign", 3, "and"),
    ("inject", 2, "split"),
    ("inject", 2, "return"),
    ("times", 2, "split"),
    ("times", 2, "return"),
    ("relu", 2, "return"),
]
HELD = [
    ("sign", 3, "own"),
    ("sign", 3, "own c"),
    ("sign", 3, "left"),
    ("sign", 3, "right"),
    ("sign", 3, "and c"),
    ("inject", 2, "rho"),
    ("inject", 2, "rho word"),
    ("times", 2, "a"),
    ("times", 2, "rho a"),
]


@pytest.mark.parametrize(("protocol", "bits", "purpose"), REPLICATED)
def test_a_replicated_protocol_needs_every_mask(protocol, bits, purpose):
    """The count above bites: without a mask somebody's view tells secrets apart."""
    made = adder.replicated(protocol, 1, bits, bits)
    assert adder.check(made, protocol, bits, bits, spoilt={purpose})[1], purpose


@pytest.mark.parametrize(("protocol", "bits", "purpose"), HELD)
def test_the_holders_need_every_mask(protocol, bits, purpose):
    """Between two holders and an assistant, without a mask somebody's view tells secrets apart."""
    made = adder.held(protocol, bits, bits)
    telling = adder.check(made, protocol, bits, bits, spoilt={purpose})[1]
    assert telling, purpose
    assert adder.ASSISTANT not in telling, "it sees nothing online"


@pytest.mark.parametrize(("bits", "width"), [(64, 64), (64, 25), (32, 32)])
def test_signs_on_large_rings_are_right_and_cost_what_is_stated(bits, width):
    """Edges and random values; bits sent as in the specification's tables."""
    sent = adder.large(bits, width, 4, 7)
    holders = {(64, 64): 243, (64, 25): 88, (32, 32): 116}[bits, width]
    dealt = {(64, 64): 181, (64, 25): 65, (32, 32): 86}[bits, width]
    assert sent["held", "sign"] == [holders, holders, dealt]
    three = {(64, 64): 544, (64, 25): 196, (32, 32): 259}[bits, width]
    assert sum(sent["replicated", "sign"]) == three
    assert sum(sent["replicated", "relu"]) == three + 4 * bits
