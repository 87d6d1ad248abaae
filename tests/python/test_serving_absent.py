"""A client says what it waits for where no party is."""

import logging

import numpy as np
import pytest
from ports import free_ports

import tacit

pytest.importorskip("aiohttp", reason="aiohttp is not installed")


def test_a_client_says_that_nobody_is_there(caplog):
    ports = free_ports(3)
    client = tacit.connect([f"http://127.0.0.1:{port}" for port in ports], timeout=4)
    with caplog.at_level(logging.WARNING, "tacit"), pytest.raises(tacit.ServiceError) as caught:
        client.predict("digits", np.zeros((1, 1, 8, 8), np.float32))
    assert caught.value.code == "unreachable"
    assert any("is it running?; trying for" in each.message for each in caplog.records)
    assert len(caplog.records) <= 3
