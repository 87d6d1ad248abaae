"""Three organisations, each with its own process, key and config."""

import json
import re
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ports import move_ports

import tacit
from tacit.cli import main
from tacit.operating.members import certificates

LIMIT = 120


@pytest.fixture
def make(tmp_path, digits_path, digits):
    """Makes ready parties on free ports."""

    def made(*options):
        np.save(tmp_path / "x.npy", digits[0][:6])
        folder = tmp_path / "parties"
        files = ["--model", str(digits_path), "--input", str(tmp_path / "x.npy")]
        assert main(["init", str(folder), *options, *files]) == 0
        move_ports(folder.glob("*/party.toml"))
        return folder

    return made


@pytest.fixture
def parties(make):
    """Configs of three parties that are ready to run."""
    return make("--parties", "3")


def start(parties, names=("party0", "party1", "party2")):
    return [
        subprocess.Popen(
            [sys.executable, "-m", "tacit", "party", "--config", parties / name / "party.toml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]


def finish(started):
    try:
        return [(*p.communicate(timeout=LIMIT), p.returncode) for p in started]
    finally:
        for p in started:
            p.kill()


def edit(parties, party, pattern, text):
    """Replaces the one line of a party's config that matches; its folder or number is given."""
    folder = party if isinstance(party, str) else f"party{party}"
    config = parties / folder / "party.toml"
    changed, n = re.subn(pattern, text, config.read_text(), flags=re.MULTILINE)
    assert n == 1, config.read_text()
    config.write_text(changed)


def alone(parties, party):
    """Lets a party of which no other runs tell the others for a second at most."""
    edit(parties, party, r"^connect_timeout = [\d.]+", "connect_timeout = 1")


def test_a_party_of_python_is_one_of_the_command(parties, digits_model, digits):
    """The data's owner has the result; another has the report alone; a third is the command."""
    others = start(parties, ("party2",))
    runs = [tacit.Party.from_config(parties / name / "party.toml") for name in ("party0", "party1")]
    heard = []
    with ThreadPoolExecutor() as pool:
        owner = pool.submit(runs[0].run, notice=heard.append)
        result = pool.submit(runs[1].run, progress=lambda *step: heard.append(step)).result()
        model = owner.result()
    assert finish(others)[0][2] == 0
    expected = digits_model.reference(digits[0][:6])
    np.testing.assert_allclose(result.output, expected, atol=1e-2)
    assert list(result.classes()) == list(expected.argmax(1))
    assert model.outputs == {} and model.report.images == 6
    with pytest.raises(tacit.TacitError, match="does not learn the answers"):
        _ = model.output
    assert any(isinstance(step, tuple) and step[0] == "online" for step in heard)
    assert "party1" in repr(runs[1])
    # All name the same run and plan, and the certificates that were shown.
    told = [model.report.data, result.report.data]
    written = [(parties / f"party{i}" / "runs.jsonl").read_text() for i in range(3)]
    told += [json.loads(text.splitlines()[-1]) for text in written]
    for key in ("run", "plan", "met"):
        assert [each[key] for each in told] == [told[0][key]] * 5
    prints = [certificates(parties / f"party{i}" / "cert.pem")[0].fingerprint for i in range(3)]
    assert [each["certificate"] for each in told[0]["met"]] == prints
    assert (told[1]["model_owner"], told[1]["data_owner"]) == (0, 1)
    page = result.report.to_html()
    assert all(print_ in page for print_ in prints) and told[0]["run"] in page
    assert ">the model<" in page and ">the inputs<" in page
    alone = tacit.local().predict(digits_model, digits[0][:1]).report.data
    assert alone["date"] and alone["plan"] and "run" not in alone and "met" not in alone


def test_a_party_of_python_says_what_is_wrong(tmp_path):
    with pytest.raises(tacit.TacitError, match=r"none\.toml") as caught:
        tacit.Party.from_config(tmp_path / "none.toml").run()
    assert caught.value.code == "file"


def test_instructions_ask_for_what_is_missing(tmp_path, digits_path, capsys):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    both = ["--model", str(digits_path), "--input", str(tmp_path / "x.npy")]
    for number, (given, put) in enumerate([
        (both, ": run each"),
        (both[:2], ": put the inputs at party1/input.npy, then run each"),
        ([], ": put the model at party0/model.onnx and the inputs at party1/input.npy, then run"),
    ]):  # fmt: skip
        assert main(["init", str(tmp_path / str(number)), "--parties", "3", *given]) == 0
        assert f"To try them on this machine{put}" in capsys.readouterr().out


def test_the_data_owner_gets_the_answers(parties, digits_model, digits):
    answers = finish(start(parties))
    assert [code for _, _, code in answers] == [0, 0, 0], answers
    (output,) = parties.glob("*/output.npy")
    assert output.parent.name == "party1"
    shown = [out for out, _, _ in answers]
    assert f"all answers are in {output}" in shown[1] and "6 inputs" in shown[1]
    assert "answers are in" not in shown[0] + shown[2]
    expected = digits_model.reference(digits[0][:6])
    np.testing.assert_allclose(np.load(output), expected, atol=1e-2)


def test_keys_are_private_and_only_at_home(parties):
    keys = list(parties.glob("*/*key*"))
    assert len(keys) == 3
    assert len({key.read_bytes() for key in keys}) == 3
    for key in keys:
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_init_takes_any_number_of_parties(tmp_path, capsys):
    line = ["init", str(tmp_path / "new"), "--protocol", "clear", "--parties", "7"]
    assert main(line) == 0
    assert "party6" in capsys.readouterr().out
    assert len(list(tmp_path.glob("new/party*/party.toml"))) == 7
    assert len(list(tmp_path.glob("new/party3/*.pem"))) == 8  # its key and seven certificates


def test_init_overwrites_nothing(parties, capsys):
    assert main(["init", str(parties)]) == 2
    assert "party0" in capsys.readouterr().err


def test_parties_that_differ_are_refused(parties):
    edit(parties, 2, r"^ring = 64\b", "ring = 32")
    for _, error, code in finish(start(parties)):
        assert code == 2
        assert "Traceback" not in error
        assert "ring" in error


def test_a_stranger_is_refused(parties, tmp_path):
    """Party 2 comes with a key that the others have never seen."""
    assert main(["init", str(tmp_path / "strangers")]) == 0
    for name in ("cert.pem", "key.pem"):
        shutil.copy(tmp_path / "strangers" / "party2" / name, parties / "party2" / name)
    for party in range(3):
        edit(parties, party, r"^connect_timeout = [\d.]+", "connect_timeout = 10")
    answers = finish(start(parties))
    assert [code for _, _, code in answers] == [2, 2, 2]
    assert "does not know this party's certificate" in answers[2][1]
    assert not list(parties.glob("*/output.npy"))


def test_one_party_with_the_key_of_another_is_refused(parties):
    for name in ("cert.pem", "key.pem"):
        shutil.copy(parties / "party0" / name, parties / "party2" / name)
    alone(parties, 2)
    ((_, error, code),) = finish(start(parties, ["party2"]))
    assert code == 2
    assert "parties 0 and 2" in error


def test_an_absent_party_is_named(parties):
    for party in (0, 1):
        edit(parties, party, r"^connect_timeout = [\d.]+", "connect_timeout = 2")
    for _, error, code in finish(start(parties, ["party0", "party1"])):
        assert code == 2
        assert "party 2" in error


def test_a_config_with_an_unknown_key(parties):
    edit(parties, 0, r"^ring = 64\b", "rign = 64")
    alone(parties, 0)
    ((_, error, code),) = finish(start(parties, ["party0"]))
    assert code == 2
    assert "rign" in error
    assert "party.toml" in error


def test_a_server_and_a_client(make, digits_model, digits):
    """Parties that have roles go by them; their numbers still stand for them."""
    parties = make("--protocol", "sirnn")
    edit(parties, "client", r'^id = "client"', "id = 1")
    answers = finish(start(parties, ["server", "client"]))
    assert [code for _, _, code in answers] == [0, 0], answers
    expected = digits_model.reference(digits[0][:6])
    np.testing.assert_allclose(np.load(parties / "client" / "output.npy"), expected, atol=0.25)
    assert "2, server, client" in answers[0][0]
    report = json.loads((parties / "server" / "report.json").read_text())
    assert report["roles"] == ["server", "client"]


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        (r'^id = "server"', 'id = "sever"', ["id: 'sever'", "0 (server), 1 (client)"]),
        (r'^id = "server"', "id = 2", ["id: 2", "0 (server), 1 (client)"]),
        (r'^id = "server"', 'id = "client"', ["'model' belongs to party 0 (server)"]),
        (r"^model = .*", "", ["'model' is missing: party 0 (server)"]),
        (r'^data_owner = "client"', 'data_owner = "me"', ["data_owner: 'me'"]),
    ],
)
def test_roles_that_do_not_fit_are_refused(make, capsys, pattern, text, words):
    parties = make("--protocol", "sirnn")
    edit(parties, "server", pattern, text)
    alone(parties, "server")
    assert main(["party", "--config", str(parties / "server" / "party.toml")]) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in ["party.toml", *words])


def test_parties_without_roles_have_numbers(parties, capsys):
    edit(parties, 0, r"^id = 0", 'id = "server"')
    assert main(["party", "--config", str(parties / "party0" / "party.toml")]) == 2
    assert "id: 'server' is not a party; they are 0 to 2" in capsys.readouterr().err
