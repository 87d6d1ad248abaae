"""Models that come and go while a service runs, and versions side by side."""

import re
import signal
import threading

import httpx
import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

import serving_config
from ports import free_blocks
from serving_fakes import FakeService, World, parties, table_of, wait_for
from test_serving_http import body, post, refused

import tacit
from tacit import ServiceError, TacitError
from tacit.serving.models import changes, key_of

# With a core of the tests.


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path) as (running, worlds):
        yield running, worlds


def ready(one, path):
    return httpx.get(f"{one.url}/v2/models/{path}/ready").status_code


def comes(running, world, version="1", place=1):
    """All parties read a config anew that has one model more."""
    table = table_of(world.name, place, version)
    for number, one in enumerate(running):
        one.services[world.name, version] = FakeService(world, number)
        one.config["models"] = [*one.config["models"], table]
        one.party.reload()


def goes(running, name, version="1"):
    for one in running:
        models = one.config["models"]
        one.config["models"] = [each for each in models if key_of(each) != (name, version)]
        one.party.reload()


def test_a_model_comes_and_goes(three):
    running, _ = three
    one, faces = running[0], World("faces")
    refused(httpx.get(f"{one.url}/v2/models/faces"), 404, "not-found")
    comes(running, faces)
    wait_for(lambda: all(ready(each, "faces") == 200 for each in running))
    assert [each["name"] for each in httpx.get(f"{one.url}/v2").json()["models"]] == [
        "digits",
        "faces",
    ]
    assert 'tacit_state{model="faces",state="ready",version="1"} 1.0' in metrics(one)
    goes(running, "faces")
    wait_for(lambda: ready(one, "faces") == 404)
    assert 'tacit_state{model="faces"' not in metrics(one)
    # The other one has had one life all the while.
    assert one.services["digits"].lives == 1 and ready(one, "digits") == 200
    kinds = [line["kind"] for line in one.audited]
    assert kinds.count("models") == 2 and kinds.count("ready") == 2
    comes(running, World("faces"))
    wait_for(lambda: ready(one, "faces") == 200)


def metrics(one):
    return httpx.get(f"{one.url}/metrics").text


def test_nobody_misses_a_model_before_it_has_come(three):
    """Whoever balances goes on with this party while the others have not read their configs."""
    running, _ = three
    one, faces = running[0], World("faces")
    one.services["faces", "1"] = core = FakeService(faces, 0)
    core.fails = [("failed", "party 1 was lost", [])] * 3
    one.config["models"] = [*one.config["models"], table_of("faces", 1)]
    one.party.reload()
    assert ready(one, "faces") == 503
    assert httpx.get(f"{one.url}/v2/health/ready").status_code == 200
    wait_for(lambda: ready(one, "faces") == 200)
    core.fails = [("failed", "party 1 was lost", [])] * 99
    core.breaks("failed", "party 1 was lost")
    wait_for(lambda: httpx.get(f"{one.url}/v2/health/ready").status_code == 503)


def test_a_model_that_goes_answers_what_it_took(three):
    running, worlds = three
    one = running[0]
    for each in running:
        each.services["digits"].answers.clear()
    number, found = b"n" * 16, []
    length, text = body(worlds["digits"], bytes(64), number=number)
    for each in running:
        asking = threading.Thread(target=lambda each=each: found.append(post(each, length, text)))
        asking.start()
    wait_for(lambda: all(each.services["digits"].submitted for each in running))
    comes(running, World("faces"))
    goes(running, "digits")
    refused(post(one, *body(worlds["digits"], bytes(64))), 503, "draining")
    for each in running:
        each.services["digits"].answers.set()
    wait_for(lambda: len(found) == 3)
    assert [answer.status_code for answer in found] == [200] * 3
    wait_for(lambda: ready(one, "digits") == 404)


def test_versions_side_by_side(three):
    """Whoever names none is answered by the first that stays."""
    running, _ = three
    one, second = running[0], World(version="2")
    comes(running, second, "2")
    wait_for(lambda: all(ready(each, "digits/versions/2") == 200 for each in running))
    told = httpx.get(f"{one.url}/v2/models/digits").json()
    assert told["versions"] == ["1", "2"] and told["parameters"]["version"] == "1"
    told = httpx.get(f"{one.url}/v2/models/digits/versions/2").json()
    assert told["parameters"]["version"] == "2"
    goes(running, "digits", "1")
    told = httpx.get(f"{one.url}/v2/models/digits").json()
    assert told["parameters"]["version"] == "2"
    wait_for(lambda: ready(one, "digits/versions/1") == 404)


def test_a_party_that_ends_meets_nobody_anew(three):
    """Whether its config is read after the party has begun to end, or is being read as it does."""
    running, _ = three
    one, faces = running[0], World("faces")
    one.services["faces", "1"] = core = FakeService(faces, 0)
    one.config["models"] = [*one.config["models"], table_of("faces", 1)]
    host, read = one.party.host, one.party.read

    def ends_meanwhile(path):
        host.stopping = True
        return read(path)

    one.party.read = ends_meanwhile
    one.party.reload()
    one.party.reload()
    assert core.state == "new" and ("faces", "1") in host.models


def test_a_config_that_is_wrong_changes_nothing(three):
    running, _ = three
    one = running[0]
    for models in (
        [table_of("digits", 5)],
        [{**table_of("digits"), "whole": "another"}],
        [table_of("faces"), table_of("not-there", 1)],
    ):
        before, one.config["models"] = one.config["models"], models
        one.party.reload()
        assert ready(one, "digits") == 200 and ready(one, "faces") == 404
        one.config["models"] = before
    one.party.read = lambda _: (_ for _ in ()).throw(TacitError("serve.toml: no TOML"))
    one.party.reload()
    assert ready(one, "digits") == 200


def test_why_models_cannot_be_changed(three):
    running, _ = three
    models = running[0].party.host.models
    for tables, words in [
        ([table_of("digits", 5)], "place = 0"),
        ([{**table_of("digits"), "whole": "another"}], "another version"),
    ]:
        with pytest.raises(TacitError, match=words):
            changes(models, tables)
    models["digits", "1"].runner.stop()
    with pytest.raises(TacitError, match="has not ended yet"):
        changes(models, [table_of("digits")])


# With the core, three processes.

MORE = """
[[models]]
name = "digits"
version = "3"
{file}
plan = {{ ring = 64, reveal = "class" }}
"""


class Live:
    """Three processes of `tacit serve`."""

    def __init__(self, folder, model):
        self.folder, self.model, self.ports = folder, model, free_blocks(6, 4)
        serving_config.write(folder, model, self.ports, "bicoptor")
        self.processes = [serving_config.start(folder, party) for party in range(3)]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports[:3]]
        with tacit.connect(self.urls, timeout=30) as client:
            client.described("digits")

    def read_anew(self, edit):
        """Every party changes its config, and reads it anew, one after the other."""
        for party, process in enumerate(self.processes):
            path = self.folder / f"party{party}" / "serve.toml"
            path.write_text(edit(party, path.read_text()))
            process.send_signal(signal.SIGHUP)

    def said(self, words):
        logs = [(self.folder / f"party{party}" / "log").read_text() for party in range(3)]
        return all(words in log for log in logs)

    def status(self, path):
        return [httpx.get(f"{url}/v2/models/{path}").status_code for url in self.urls]

    def stop(self):
        for process in self.processes:
            process.terminate()
        return [process.wait(15) for process in self.processes]


@pytest.fixture
def live(tmp_path, digits_path):
    made = Live(tmp_path, digits_path)
    yield made
    assert made.stop() == [0, 0, 0]


def test_a_new_version_takes_the_place_of_another(live, digits):
    """A client that asks meanwhile is answered, by the one version or the other."""
    x = digits[0][:1]
    with tacit.connect(live.urls, timeout=30) as client:
        first = client.predict("digits", x)
        assert first.version == "2"
        over, found, wrong = threading.Event(), [], []

        def ask():
            while not over.is_set():
                try:
                    found.append(client.predict("digits", x))
                except ServiceError as error:
                    wrong.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            session = client.described("digits", "2")["session"]
            added = MORE.format(file=f'file = "{live.model}"')
            live.read_anew(lambda party, text: text + (MORE.format(file="") if party else added))
            wait_for(lambda: live.status("digits/versions/3") == [200] * 3, 60)
            np.testing.assert_array_equal(
                client.predict("digits", x, "3").classes(), first.classes()
            )
            # The old one has not been touched.
            assert client.described("digits", "2")["session"] == session
            assert client.predict("digits", x, "2").version == "2"

            old = re.compile(
                r'\[\[models\]\]\nname = "digits"\nversion = "2".*?(?=\[service\])', re.S
            )
            live.read_anew(lambda _, text: old.sub("", text))
            wait_for(lambda: live.said("place = 1"))
            assert live.status("digits/versions/2") == [200] * 3
            live.read_anew(
                lambda _, text: text.replace('version = "3"', 'version = "3"\nplace = 1')
            )
            wait_for(lambda: live.status("digits/versions/2") == [404] * 3, 60)
            assert live.status("digits") == [200] * 3
            before = len(found)
            wait_for(lambda: len(found) > before + 3, 60)
        finally:
            over.set()
            thread.join()
        assert found[-1].version == "3" and wrong == []
        np.testing.assert_array_equal(found[-1].classes(), first.classes())
    live.read_anew(lambda _, text: text.replace("[service]", "[service"))
    wait_for(lambda: live.said("the config stays as it was"))
    assert live.status("digits") == [200] * 3
    live.read_anew(lambda _, text: text.replace("[service", "[service]"))


def test_a_model_of_several_sessions_comes(live, digits):
    """The model's sessions meet while the other one goes on; a lost party is met in all."""
    x = digits[0][:8]
    added = MORE.replace('version = "3"', 'version = "3"\nsessions = 3')
    owned = added.format(file=f'file = "{live.model}"')
    live.read_anew(lambda party, text: text + (added.format(file="") if party else owned))
    wait_for(lambda: live.status("digits/versions/3") == [200] * 3, 60)
    with tacit.connect(live.urls, timeout=30) as client:
        first = client.predict("digits", x, "3").classes()
        live.processes[1].kill()
        live.processes[1].wait()
        live.processes[1] = serving_config.start(live.folder, 1)
        np.testing.assert_array_equal(client.predict("digits", x, "3").classes(), first)
        assert client.predict("digits", x, "2").version == "2"
