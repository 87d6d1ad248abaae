"""What papers measured, beside the same runs here, for `tacit tables`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .operations import bench

#: Bicoptor 2.0's networks, as emulated.
NETWORKS = {
    "lan1": "0.2ms,5000Mbps",
    "lan2": "0.6ms,1000Mbps",
    "wan": "40ms,100Mbps",
}
#: Its key bits: 5 before the point and 2 after it.
KEY_BITS = "5.2"
FRACTION_BITS = 26
SIZES = (1, 1_000, 10_000, 100_000, 1_000_000)
#: Tables 6 and 7: microseconds of P-Falcon / Bicoptor 2.0 for each of `SIZES`.
BICOPTOR2 = {
    "drelu": {
        "lan1": "6134.61/932.05 6586.94/997.36 11429.2/1375.86 60192/5698.69 600084/58608.3",
        "lan2": "8990.29/1344.99 10722.9/1402.11 20319.6/2565.09 148735/17055 1414390/215146",
        "wan": "285929/40988.2 294663/41891.5 394785/54141.6 1712980/232326 12479000/1900340",
    },
    "relu": {
        "lan1": "7265.09/1519.43 7793.41/1608.76 12915.5/2275.01 65566.3/9958.73 600144/90185.9",
        "lan2": "10024.9/2251.72 10690.4/2347.03 22128.5/4597.91 152434/31278.2 1531010/339368",
        "wan": "287178/81208.4 313616/82914.1 452435/87385.3 2171200/518654 13728600/3577730",
    },
}


def bicoptor2(
    networks: Iterable[str] = tuple(NETWORKS),
    sizes: Iterable[int] = SIZES,
    ops: Iterable[str] = tuple(BICOPTOR2),
    *,
    sharing: str = "ubl",
    repeat: int = 3,
    observe: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """Tables 6 and 7 of Bicoptor 2.0: DReLU and ReLU under Falcon and under Bicoptor, over 64 bits.

    Seconds, online and with the offline phase (`sum`), medians of `repeat` runs with all parties
    in this process. The paper's P-Falcon has no offline phase of its own: its randomness is fixed.
    """
    rows: list[dict[str, Any]] = []
    for op in ops:
        for network in networks:
            for n in sizes:
                rows.append(_row(op, network, n, sharing, repeat))
                observe(rows[-1])
    return rows


def _row(op: str, network: str, n: int, sharing: str, repeat: int) -> dict[str, Any]:
    # Whole, since a chunk has hops of its own.
    where: dict[str, Any] = {"network": NETWORKS[network], "ring": 64, "repeat": repeat, "chunk": n}
    keys: dict[str, Any] = {"key_bits": KEY_BITS, "fraction_bits": FRACTION_BITS}
    falcon = bench(op, n, protocol="falcon", comparison="falcon", **where)
    own: dict[str, Any] = {"sharing": sharing, "comparison": "bicoptor"}
    bicoptor = bench(op, n, protocol="bicoptor", **own, **keys, **where)
    falcon_on, falcon_sum = _seconds(falcon)
    bicoptor_on, bicoptor_sum = _seconds(bicoptor)
    paper = (None, None)
    if n in SIZES:
        cell = BICOPTOR2[op][network].split()[SIZES.index(n)]
        paper = tuple(float(v) / 1e6 for v in cell.split("/"))
    return {
        "op": op,
        "network": network,
        "n": n,
        "paper_falcon": paper[0],
        "paper_bicoptor": paper[1],
        "falcon_online": falcon_on,
        "falcon_sum": falcon_sum,
        "bicoptor_online": bicoptor_on,
        "bicoptor_sum": bicoptor_sum,
        "online_ratio": falcon_on / bicoptor_on,
        "sum_ratio": falcon_sum / bicoptor_sum,
    }


def _seconds(report: Any) -> tuple[float, float]:
    """Online, and with the offline phase."""
    online = report.online["seconds"]
    return online, online + report.offline["seconds"]
