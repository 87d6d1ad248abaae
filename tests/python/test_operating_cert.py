"""A party takes a new certificate: the others accept both, then the new one alone."""

import json
import os

import pytest

from tacit import TacitError, _tacit
from tacit.cli import main
from tacit.operating import rotation
from tacit.operating.files import replace
from tacit.operating.members import Member, certificates, lasting
from tacit.operating.rotation import fits
from tacit.visible import visible


@pytest.fixture
def parties(tmp_path):
    _tacit.init(str(tmp_path), json.dumps({"protocol": "falcon", "port": 7100}))
    return [tmp_path / f"party{party}" for party in range(3)]


def cert(*words):
    return main(["cert", *map(str, words)])


def prints(path):
    return [each.fingerprint for each in certificates(path)]


def test_a_rotation(parties, capsys):
    """Old and new overlap at the others; the old key and certificate stay beside the new."""
    home, other = parties[1], parties[0]
    config, theirs = home / "party.toml", other / "party.toml"
    old, key = prints(home / "cert.pem"), (home / "key.pem").read_bytes()
    assert cert("rotate", "--config", config) == 0
    said = capsys.readouterr().out
    new = prints(home / "next-cert.pem")
    assert new[0] in said and "by phone" in said
    assert prints(home / "cert.pem") == old and (home / "key.pem").read_bytes() == key

    accept = ("accept", home / "next-cert.pem", "--config", theirs, "--party", 1)
    spaced = ":".join(new[0][i : i + 2] for i in range(0, 64, 2)).upper()
    assert cert(*accept, "--fingerprint", spaced) == 0
    assert prints(other / "party1.pem") == [*old, *new]
    assert lasting(other / "party1.pem").fingerprint == new[0]

    assert cert("switch", "--config", config) == 0
    assert prints(home / "cert.pem") == new and prints(home / "old-cert.pem") == old
    assert (home / "old-key.pem").read_bytes() == key
    for name in ("key.pem", "old-key.pem"):
        assert (home / name).stat().st_mode & 0o777 == 0o600
    assert fits(home / "cert.pem", (home / "key.pem").read_bytes())
    assert not fits(home / "cert.pem", key)
    assert not (home / "next-cert.pem").exists() and not (home / "next-key.pem").exists()

    assert cert("drop", "--config", theirs, "--party", 1) == 0
    assert prints(other / "party1.pem") == new
    left = {path.name for path in home.iterdir()} | {path.name for path in other.iterdir()}
    assert not any(name.endswith(".new") for name in left)


def test_a_renewal_keeps_the_key(parties, capsys):
    home = parties[2]
    key = (home / "key.pem").read_bytes()
    assert cert("renew", "--config", home / "party.toml", "--days", 30) == 0
    assert not (home / "next-key.pem").exists()
    assert fits(home / "next-cert.pem", key)
    assert 29 < certificates(home / "next-cert.pem")[0].days <= 30
    assert cert("switch", "--config", home / "party.toml") == 0
    assert (home / "key.pem").read_bytes() == key
    assert not (home / "old-key.pem").exists()


def test_a_crash_between_key_and_certificate_is_mended(parties):
    home = parties[0]
    assert cert("rotate", "--config", home / "party.toml") == 0
    (home / "next-key.pem").replace(home / "key.pem")
    assert cert("switch", "--config", home / "party.toml") == 0
    assert fits(home / "cert.pem", (home / "key.pem").read_bytes())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["accept", "{new}", "--party", 1, "--fingerprint", "ab" * 32], "nothing was changed"),
        (["accept", "{new}", "--party", 0], "say whose it is"),
        (["accept", "{new}", "--party", 7], "1 (data-owner), 2 (computing-party)"),
        (["accept", "{new}"], "say whose it is"),
        (["accept", "--party", 1], "name one file"),
        (["accept", "{both}", "--party", 1], "holds 2 certificates"),
        (["accept", "{other}", "--party", 1], "accepted for party 2"),
        (["accept", "{key}", "--party", 1], "not a certificate"),
        (["drop", "--party", 1], "one certificate alone"),
        (["switch"], "make it: tacit cert"),
        (["rotate", "--days", 0], "out of range"),
    ],
)
def test_what_is_refused_changes_nothing(parties, capsys, words, told):
    home, other = parties[0], parties[1]
    assert cert("rotate", "--config", other / "party.toml") == 0
    both = other / "both.pem"
    both.write_text((other / "cert.pem").read_text() + (other / "next-cert.pem").read_text())
    named = {"new": other / "next-cert.pem", "both": both, "other": home / "party2.pem"}
    named["key"] = home / "key.pem"
    before = {path: path.read_bytes() for path in home.iterdir()}
    filled = [str(word).format(**named) for word in words]
    assert cert(*filled, "--config", home / "party.toml") == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
    assert {path: path.read_bytes() for path in home.iterdir()} == before


def test_a_third_certificate_and_what_waits_already(parties, capsys):
    home, other = parties[0], parties[1]
    for _ in range(2):
        assert cert("rotate", "--config", other / "party.toml") == 0
        accepted = cert(
            "accept", other / "next-cert.pem", "--config", home / "party.toml", "--party", 1
        )
        assert cert("rotate", "--config", other / "party.toml") == 2
        assert "not overwritten" in capsys.readouterr().err
        assert cert("switch", "--config", other / "party.toml") == 0
    assert accepted == 2
    assert len(prints(home / "party1.pem")) == 2


def test_a_key_that_is_not_in_a_file(parties, monkeypatch, capsys):
    """A key is rotated where it is kept; the certificate alone is put in its place."""
    home = parties[0]
    config = home / "party.toml"
    text = config.read_text().replace('key = "key.pem"', 'key = { env = "KEY_OF_PARTY" }')
    assert "KEY_OF_PARTY" in text
    config.write_text(text)
    monkeypatch.setenv("KEY_OF_PARTY", (home / "key.pem").read_text())
    assert Member.read(str(config)).key == {"env": "KEY_OF_PARTY"}
    assert cert("rotate", "--config", config) == 0
    assert cert("switch", "--config", config) == 2
    assert "where the key is kept first" in capsys.readouterr().err.replace("\n", " ")
    monkeypatch.setenv("KEY_OF_PARTY", (home / "next-key.pem").read_text())
    assert cert("switch", "--config", config) == 0
    assert fits(home / "cert.pem", os.environ["KEY_OF_PARTY"].encode())


def test_keys_are_never_shown(parties, capsys):
    home = parties[0]
    for what in ("rotate", "switch"):
        assert cert(what, "--config", home / "party.toml") == 0
    assert cert("show", home / "cert.pem", home / "old-cert.pem") == 0
    told = capsys.readouterr()
    for name in ("key.pem", "old-key.pem"):
        body = (home / name).read_text().splitlines()[1]
        assert body not in told.out + told.err


def test_a_damaged_file_of_two(parties):
    home = parties[0]
    whole = (home / "cert.pem").read_text() + (home / "party1.pem").read_text()
    (home / "party1.pem").write_text(whole[:-80])
    with pytest.raises(TacitError, match="damaged"):
        certificates(home / "party1.pem")


def test_what_is_checked_is_what_is_written(parties, monkeypatch, capsys):
    """Whoever can write the file that is to be accepted changes it meanwhile."""
    home, other, stranger = parties
    assert cert("rotate", "--config", other / "party.toml") == 0
    new = other / "next-cert.pem"
    good, false = prints(new), (stranger / "cert.pem").read_bytes()
    real = rotation.parsed

    def parsed(text, path):
        found = real(text, path)
        if path == new:
            new.write_bytes(false)
        return found

    monkeypatch.setattr(rotation, "parsed", parsed)
    before = prints(home / "party1.pem")
    assert cert("accept", new, "--config", home / "party.toml", "--party", 1) == 0
    assert prints(home / "party1.pem") == before + good


def test_a_file_that_is_no_certificate(parties, capsys):
    home = parties[0]
    for content, told in [(b"x" * (rotation.MOST + 1), "more than"), (b"\xff\x00", "certificate")]:
        path = home / "false.pem"
        path.write_bytes(content)
        assert cert("accept", path, "--config", home / "party.toml", "--party", 1) == 2
        said = capsys.readouterr().err.replace("\n", "")
        assert told in said and "/proc/" not in said


def test_a_name_of_another_party_does_nothing_to_what_is_shown(tmp_path, capsys):
    from test_serving_identity import certificate

    certificate(tmp_path, "a\u202e\u2028\u2066\u200bb")
    (path,) = [path for path in tmp_path.iterdir() if not path.stem.endswith("-key")]
    path.rename(tmp_path / "odd.pem")
    assert cert("show", tmp_path / "odd.pem") == 0
    said = capsys.readouterr().out
    assert all(line.isprintable() for line in said.split("\n"))
    assert "name         a\\u202e\\u2028\\u2066\\u200bb" in said


def test_files_are_replaced_whole(tmp_path):
    """Files are not replaced through a link, nor over a file that somebody has put beside them."""
    path, elsewhere = tmp_path / "a.pem", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    path.symlink_to(elsewhere)
    (tmp_path / f".a.pem.{os.getpid()}.new").symlink_to(elsewhere)
    replace(path, b"ours", mode=0o644)
    assert path.read_text() == "ours" and not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o644
    assert elsewhere.read_text() == "theirs"
    with pytest.raises(OSError, match=r"."):
        replace(tmp_path / "not-there" / "a.pem", b"ours")
    assert len(list(tmp_path.iterdir())) == 3


def test_what_looks_like_nothing_or_like_what_is_written_out_is_seen():
    """Letters that show nothing, and the words in which others are written out."""
    assert visible("a\u3164\u2800b\ufe0f") == "a\\u3164\\u2800b\\ufe0f"
    assert visible("\\u202e") == "\\\\u202e" != visible("\u202e")
    assert visible("Klinik f\u00fcr Augen, 2. Stock") == "Klinik f\u00fcr Augen, 2. Stock"
