"""Who may ask a service, and how much: each refusal, and the party goes on."""

import json
import secrets
import time

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import FakeService, World, client_table, config, keys, parties, table_of
from test_serving_http import ask_all, body, post, refused, shares

from tacit import TacitError
from tacit.serving.budgets import PARTS, Budgets, Spent
from tacit.serving.clients import Client, clients_of
from tacit.serving.https import tls_of
from tacit.serving.notices import unpinned
from tacit.serving.policy import Policy, check_listener, port_of
from tacit.serving.refusals import Refusal

CLIENTS = [
    client_table("hospital", "key-of-hospital", models=["digits"], queries=20, period_s=3600),
    client_table("bank", "key-of-bank", models=["faces"]),
    client_table("shop", "key-of-shop", queries=3, period_s=3600),
    client_table("gone", "key-of-gone", until="2020-01-01"),
]
HOSPITAL = {"authorization": "Bearer key-of-hospital"}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    with parties(folder, (CLIENTS,) * 3, ("digits", "faces")) as (running, worlds):
        yield running, worlds["digits"]


@pytest.fixture
def one(three):
    running, _ = three
    yield running[0]
    assert [each.status_code for each in predicted(three, HOSPITAL)] == [200] * 3


def predicted(three, headers, items=1, number=None):
    running, world = three
    number = number or secrets.token_bytes(16)
    texts = [
        body(world, part, items, number=number, session=world.session)
        for part in shares(np.ones((items, 4)))
    ]
    return ask_all(running, texts, **headers)


def test_a_stranger(one, three):
    for key in ("", "Bearer", "Bearer key-of-hospita", "Basic key-of-hospital"):
        answer = post(one, *body(three[1], bytes(64)), authorization=key)
        refused(answer, 401, "unknown-client")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    refused(post(one, *body(three[1], bytes(64))), 401, "unknown-client")
    for path in ("models/digits", "models/faces/ready", "models/nothing"):
        refused(httpx.get(f"{one.url}/v2/{path}"), 401, "unknown-client")
    refused(
        httpx.get(f"{one.url}/v2", headers={"authorization": "Bearer x"}), 401, "unknown-client"
    )
    assert "models" not in httpx.get(f"{one.url}/v2").json()
    assert httpx.get(f"{one.url}/v2/health/ready").status_code == 200
    twice = [("authorization", "Bearer key-of-hospital")] * 2
    refused(httpx.get(f"{one.url}/v2/models/digits", headers=twice), 401, "unknown-client")


def test_a_stranger_is_refused_before_its_body_is_read(one):
    taken = one.party.host.limits.room.taken
    answer = post(one, "10", (b"x" * 1000 for _ in range(10**6)), authorization="Bearer x")
    refused(answer, 401, "unknown-client")
    assert one.party.host.limits.room.taken == taken
    assert all(line.get("client") != "x" for line in one.audited)


def test_a_model_that_a_key_is_not_for(one, three):
    bank = {"authorization": "Bearer key-of-bank"}
    refused(post(one, *body(three[1], bytes(64)), **bank), 403, "not-allowed", "digits")
    refused(httpx.get(f"{one.url}/v2/models/digits", headers=bank), 403, "not-allowed")
    refused(httpx.get(f"{one.url}/v2/models/unknown", headers=bank), 403, "not-allowed")
    assert httpx.get(f"{one.url}/v2", headers=bank).json()["models"] == [
        {"name": "faces", "version": "1"}
    ]


def test_a_key_that_has_ended(one, three):
    answer = post(one, *body(three[1], bytes(64)), authorization="Bearer key-of-gone")
    refused(answer, 401, "unknown-client", "ended")


def test_a_budget(one, three):
    shop = {"authorization": "Bearer key-of-shop"}
    submitted = one.services["digits"].submitted
    number = secrets.token_bytes(16)
    assert [a.status_code for a in predicted(three, shop, 2, number)] == [200] * 3
    assert [a.status_code for a in predicted(three, shop, 1, number)] == [409] * 3
    answers = predicted(three, shop, 2)
    refused(answers[0], 429, "budget", "3 items in 3600 s")
    assert 3000 < int(answers[0].headers["retry-after"]) <= 3600 * (1 + 1 / PARTS) + 1
    assert [a.status_code for a in predicted(three, shop, 1)] == [200] * 3
    refused(predicted(three, shop, 1)[0], 429, "budget")
    answer = predicted(three, shop, 4)[0]
    refused(answer, 429, "budget")
    assert "retry-after" not in answer.headers
    assert one.services["digits"].submitted == submitted + 2
    outcomes = [line["outcome"] for line in one.audited if line.get("client") == "shop"]
    assert outcomes.count("answered") == 2 and outcomes.count("budget") == 3


def test_what_is_not_computed_is_not_counted(one, three):
    core, charged = one.services["digits"], spent(one, "hospital")
    core.said = {"code": "busy", "message": "full", "retry_after": 1}
    refused(post(one, *body(three[1], bytes(32), 1), **HOSPITAL), 503, "busy")
    core.said = None
    refused(post(one, *body(three[1], bytes(32), 1), **HOSPITAL), 502, "missing-elsewhere")
    assert spent(one, "hospital") == charged


def spent(one, name):
    return sum(one.party.budgets.spent.get(name, {}).values())


def test_the_answer_is_for_who_asked(one, three):
    number = secrets.token_bytes(16)
    texts = [body(three[1], part, 1, number=number) for part in shares(np.ones((1, 4)))]
    found = ask_all(three[0], texts, **HOSPITAL)
    assert [each.status_code for each in found] == [200] * 3
    again = post(one, *texts[0], authorization="Bearer key-of-shop")
    refused(again, 409, "reused")


def test_a_revoked_key(one, three):
    shop = {"authorization": "Bearer key-of-shop"}
    assert httpx.get(f"{one.url}/v2/models/digits", headers=shop).status_code == 200
    one.config["clients"] = [each for each in CLIENTS if each["name"] != "shop"]
    one.party.reload()
    answer = httpx.get(f"{one.url}/v2/models/digits", headers=shop)
    refused(answer, 401, "unknown-client")
    # What is wrong, or would let everybody in, changes nothing.
    for bad in ([{"name": "x", "key_sha256": "12"}], []):
        one.config["clients"] = bad
        one.party.reload()
        assert httpx.get(f"{one.url}/v2/models/digits", headers=shop).status_code == 401
    one.config["clients"] = CLIENTS


def test_a_budget_outlives_a_restart(tmp_path):
    path, now = tmp_path / "budgets.json", [1e9]
    first = Budgets(path, lambda: now[0])
    for _ in range(7):
        first.charge("a", 10, 100, 60)
    # Killed: nothing is written at the end.
    second = Budgets(path, lambda: now[0])
    assert 30 - 1 <= left(second) <= 30
    second.close()
    assert left(Budgets(path, lambda: now[0])) == left(second)


def left(budgets, most=100, period=60):
    """How many more queries there are, found by spending them."""
    count = 0
    try:
        while True:
            budgets.charge("a", 1, most, period)
            count += 1
    except Spent:
        budgets.refund("a", count, period)
        return count


def test_a_budget_slides(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    now = [1e9]
    budgets = Budgets(tmp_path / "budgets.json", lambda: now[0])
    made = []
    random = np.random.default_rng(3)
    for _ in range(3000):
        now[0] += random.exponential(0.3)
        try:
            budgets.charge("a", 1, 50, 60.0)
            made.append(now[0])
        except Spent as spent:
            assert spent.wait is not None and 0 < spent.wait <= 60 * (1 + 1 / PARTS) + 1e-6
    for moment in made:
        assert sum(moment - 60 < each <= moment for each in made) <= 50
    assert len(made) > 0.8 * 50 * (made[-1] - made[0]) / 60


def test_a_clock_that_is_set_back_gives_no_new_budget(tmp_path):
    now = [1e9]
    budgets = Budgets(tmp_path / "b.json", lambda: now[0])
    budgets.charge("a", 100, 100, 60)
    now[0] -= 1e6
    with pytest.raises(Spent):
        budgets.charge("a", 1, 100, 60)
    assert left(Budgets(tmp_path / "b.json", lambda: now[0])) == 0


def test_another_period_gives_no_new_budget(tmp_path):
    budgets = Budgets(tmp_path / "b.json")
    budgets.charge("a", 90, 100, 60)
    with pytest.raises(Spent):
        budgets.charge("a", 20, 100, 86400)


def test_a_file_of_budgets_that_cannot_be_read(tmp_path):
    path = tmp_path / "b.json"
    spent = [
        ("60", '{"1": -5}'),
        ("60", '{"1": Infinity}'),
        ("60", '{"1": NaN}'),
        ("60", f'{{"{"9" * 400}": 1}}'),
        ("1e400", "{}"),
        ("NaN", "{}"),
        ("0", "{}"),
        ("-60", "{}"),
    ]
    clients = [f'{{"a": {{"period_s": {period}, "spent": {slots}}}}}' for period, slots in spent]
    texts = [f'{{"parts": 32, "clients": {each}}}' for each in (*clients, '{"a": 1}')]
    for text in ("", "[]", "{}", "[" * 100_000, *texts):
        path.write_text(text)
        with pytest.raises(TacitError, match="move it away"):
            Budgets(path)


def test_a_budget_that_cannot_be_written_down_is_not_given(tmp_path):
    budgets = Budgets(tmp_path / "not-there" / "b.json")
    policy = Policy([], budgets)
    for _ in range(2):
        with pytest.raises(Refusal, match="written down"):
            policy.charge(Client("a", budget=(10, 60.0)), 1)
    assert not any(budgets.spent["a"].values())


def test_comparing_keys_takes_as_long_for_all(tmp_path):
    clients = [Client(str(i), secrets.token_bytes(32)) for i in range(50)]
    policy = Policy(clients, Budgets(tmp_path / "b.json"))
    with pytest.raises(Refusal):
        policy.who(["Bearer x"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"listen": "0.0.0.0:8100"}, "plain HTTP"),
        ({"listen": "a.example:8100"}, "plain HTTP"),
        ({"listen": "0.0.0.0:8100", "certificate": "c.pem", "key": "k.pem"}, "anyone could ask"),
        ({"certificate": "c.pem"}, "both certificate and key"),
        ({"origins": ["*"]}, "no origin"),
        ({"origins": ["https://a.example/"]}, "no origin"),
    ],
)
def test_an_open_door(tmp_path, change, words):
    made = config(tmp_path, 0, 8100, **change)
    with pytest.raises(TacitError, match=words):
        check_listener(made)


AWAY = {"listen": "0.0.0.0:8100", "certificate": "c.pem", "key": "k.pem"}
PINS = {"digest": "204d", "commitment": "9f86"}


@pytest.mark.parametrize("pins", [[], ["digest"], ["commitment"]])
def test_a_foreign_model_that_is_not_pinned(tmp_path, pins):
    """A digest alone is of the plan: its owner could serve any weights under it."""
    made = config(tmp_path, 0, 8100, clients=CLIENTS, **AWAY)
    made["models"][0] |= {key: PINS[key] for key in pins}
    with pytest.raises(TacitError, match=r"'digits' is another party's.*approved = .*commitment"):
        check_listener(made)
    # On this machine alone it is warned of.
    (words,) = unpinned(made["service"], made["models"])
    assert "'digits' is served" in words and ("weights" in words) == (pins == ["digest"])
    made["service"]["listen"] = "127.0.0.1:8100"
    assert check_listener(made) == []


@pytest.mark.parametrize("how", ["approved", "pins", "file"])
def test_a_model_that_is_pinned_or_ones_own(tmp_path, how):
    made = config(tmp_path, 0, 8100, clients=CLIENTS, **AWAY)
    if how == "approved":
        made["service"]["approved"] = "approved.json"
    else:
        made["models"][0] |= PINS if how == "pins" else {"file": "digits.onnx"}
    assert check_listener(made) == [] and list(unpinned(made["service"], made["models"])) == []


def test_a_foreign_model_that_comes_is_pinned(tmp_path, capfd):
    with parties(tmp_path) as (running, _):
        one = running[0]
        one.services["faces"] = FakeService(World("faces"), 0)
        one.party.log.level = 0
        # As if it listened beyond this machine.
        listen = one.config["service"]["listen"]
        one.config["service"]["listen"] = "0.0.0.0:8100"
        table = {**table_of("faces", 1), "digest": "204d"}
        one.config["models"] = [*one.config["models"], table]
        one.party.reload()
        assert "'faces' is another party's" in capfd.readouterr().err
        assert len(one.party.host.models) == 1
        table["commitment"] = "9f86"
        one.party.reload()
        assert len(one.party.host.models) == 2
        one.config["service"]["listen"] = listen


def test_a_key_that_others_can_read(tmp_path):
    keys(tmp_path)
    key = tmp_path / "party0" / "key.pem"
    key.chmod(0o644)
    more = {"certificate": str(tmp_path / "party0" / "cert.pem"), "key": str(key)}
    with pytest.raises(TacitError, match="chmod 600"):
        tls_of(config(tmp_path, 0, 8100, **more)["service"])


def test_loopback_without_clients_is_warned_of(tmp_path):
    assert "whoever reaches" in check_listener(config(tmp_path, 0, 8100))[0]
    assert check_listener(config(tmp_path, 0, 8100, clients=CLIENTS)) == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"key_sha256": "abc"}, "64 hexadecimal"),
        ({"models": ["faces"]}, "not served"),
        ({"queries": -1}, "no sensible"),
        ({"queries": 5, "period_s": -1}, "no sensible"),
        ({"queries": 5, "period_s": 0}, "no sensible"),
        ({"until": "soon"}, "no date"),
        ({"until": "9999-12-31"}, "no date"),
    ],
)
def test_a_table_of_a_client_that_is_wrong(tmp_path, table, words):
    made = config(tmp_path, 0, 8100, clients=[{**client_table("a", "k"), **table}])
    with pytest.raises(TacitError, match=words):
        clients_of(made)


def test_two_clients_alike(tmp_path):
    for second in (client_table("a", "other"), client_table("b", "k")):
        made = config(tmp_path, 0, 8100, clients=[client_table("a", "k"), second])
        with pytest.raises(TacitError, match=r"two are named|one key"):
            clients_of(made)


def test_logs_have_no_key_and_no_share(tmp_path, capfd):
    """Logs have no key and no share, at any level."""
    with parties(tmp_path, (CLIENTS,) * 3, ("digits", "faces"), log="json") as (running, worlds):
        for each in running:
            each.party.log.level = 0
        share = secrets.token_bytes(32)
        answer = post(running[0], *body(worlds["digits"], share, 1), **HOSPITAL)
        assert answer.status_code == 502
        time.sleep(0.1)
    said = capfd.readouterr().err
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    line = next(each for each in events if each.get("code") == "missing-elsewhere")
    assert line["client"] == "hospital" and line["model"] == "digits" and line["items"] == 1
    files = "".join(path.read_text() for path in tmp_path.rglob("*.json*"))
    for text in (said, files):
        assert "key-of-hospital" not in text and share.hex() not in text


@pytest.mark.parametrize("address", ["127.0.0.1:²", "127.0.0.1:٣", "127.0.0.1:", ":80", "h:70000"])
def test_what_is_no_port(address):
    with pytest.raises(TacitError, match="no host:port"):
        port_of(address)
