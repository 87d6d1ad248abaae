"""The audit log: whoever changes what was written is found."""

import base64
import hashlib
import json
import subprocess
import threading
import time

import pytest

pytest.importorskip("cryptography")

from serving_fakes import keys, wait_for

from tacit import TacitError
from tacit.cli import main
from tacit.serving.audit import Audit, Signer
from tacit.serving.audit_check import AuditError, check, public_keys


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Keys of three parties."""
    made = tmp_path_factory.mktemp("keys")
    keys(made)
    return made


@pytest.fixture
def signer(folder):
    return Signer((folder / "party0" / "key.pem").read_bytes(), folder / "party0" / "cert.pem")


@pytest.fixture
def known(folder):
    return public_keys([folder / "party0" / "cert.pem"])


@pytest.fixture
def log(tmp_path, signer):
    """A log of 25 lines, signed after every ten and at its end."""
    audit = Audit(tmp_path / "audit.jsonl", signer, every=10)
    for i in range(22):
        audit.write("request", client="a", outcome="answered", items=i).result(5)
    audit.close()
    return audit.path


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def refused(path, known, line, words=None):
    with pytest.raises(AuditError, match=words) as caught:
        check(path, known)
    assert caught.value.line == line


def test_a_log_holds(log, known):
    held = check(log, known)
    assert (held.lines, held.signed, held.signatures, held.unchecked) == (25, 25, 3, 0)
    assert check(log, {}).unchecked == 3
    kinds = [json.loads(line)["kind"] for line in lines(log)]
    assert [i + 1 for i, kind in enumerate(kinds) if kind == "signature"] == [11, 22, 25]


@pytest.mark.parametrize("number", [1, 2, 10, 11, 24])
def test_a_line_that_is_removed(log, known, number):
    kept = lines(log)
    del kept[number - 1]
    log.write_bytes(b"".join(kept))
    refused(log, known, number)


@pytest.mark.parametrize("number", [1, 10, 23, 24])
def test_a_line_that_is_changed(log, known, number):
    kept = lines(log)
    kept[number - 1] = kept[number - 1].replace(b'"client":"a"', b'"client":"b"')
    log.write_bytes(b"".join(kept))
    refused(log, known, number + 1, "changed")


def test_a_signature_that_is_changed(log, known):
    kept = lines(log)
    told = json.loads(kept[-1])
    told["signature"] = json.loads(kept[10])["signature"]
    kept[-1] = json.dumps(told, separators=(",", ":")).encode() + b"\n"
    log.write_bytes(b"".join(kept))
    refused(log, known, 25, "signature")
    told["signature"] = "?"
    log.write_bytes(b"".join([*kept[:-1], json.dumps(told).encode() + b"\n"]))
    refused(log, known, 25, "signature")


@pytest.mark.parametrize("first", [1, 10, 24])
def test_lines_that_change_places(log, known, first):
    kept = lines(log)
    kept[first - 1], kept[first] = kept[first], kept[first - 1]
    log.write_bytes(b"".join(kept))
    refused(log, known, first)


def test_a_line_that_is_put_in(log, known):
    kept = lines(log)
    log.write_bytes(b"".join([*kept[:5], kept[4], *kept[5:]]))
    refused(log, known, 6)


def test_a_chain_that_is_made_anew_has_no_signature(log, known):
    """Somebody without a key can write all hashes anew, but not the signatures."""
    last, made = "0" * 64, []
    for line in lines(log):
        told = json.loads(line)
        told["previous"] = last
        if told["n"] == 5:
            told["client"] = "somebody"
        text = json.dumps(told, separators=(",", ":")).encode()
        last = hashlib.sha256(text).hexdigest()
        made.append(text + b"\n")
    log.write_bytes(b"".join(made))
    assert check(log, {}).lines == 25
    refused(log, known, 11, "signature")


def test_a_tail_that_is_cut_off(log, known, capsys):
    whole = check(log, known)
    text = log.read_bytes()
    log.write_bytes(text[:-10])
    refused(log, known, 25, "cut off")
    # At the end of a line a chain alone cannot tell; a hash that was kept does.
    log.write_bytes(b"".join(lines(log)[:15]))
    assert check(log, known).signed == 11
    with pytest.raises(AuditError, match="kept"):
        check(log, known, whole.last)
    assert main(["audit", "verify", str(log), "--kept", whole.last]) == 2
    assert "line 16 does not hold" in capsys.readouterr().err


def test_a_tail_that_is_not_signed_is_told(log, known, folder, capsys):
    log.write_bytes(b"".join(lines(log)[:15]))
    certificate = str(folder / "party0" / "cert.pem")
    assert main(["audit", "verify", str(log), "--certificate", certificate]) == 0
    said = capsys.readouterr().out
    assert "15 lines hold" in said and "signed     to line 11" in said
    assert "not signed the last 4" in said


def test_the_certificate_of_another(log, folder, capsys):
    certificate = str(folder / "party1" / "cert.pem")
    assert main(["audit", "verify", str(log), "--certificate", certificate]) == 0
    said = capsys.readouterr().out
    assert "signed     to line 0, by 0" in said and "3 signatures of other keys" in said


def test_a_log_goes_on_after_a_restart(log, signer, known):
    before = check(log, known)
    audit = Audit(log, signer, every=10)
    audit.write("start").result(5)
    audit.close()
    held = check(log, known, before.last)
    assert (held.lines, held.seen, held.signed) == (27, 25, 27)


def test_a_line_that_a_crash_cut_off_is_mended(log, signer, known):
    log.write_bytes(log.read_bytes() + b'{"n":26,"kind":"req')
    refused(log, known, 26, "cut off")
    audit = Audit(log, signer)
    audit.close()
    assert check(log, known).lines == 27
    told = json.loads(lines(log)[25])
    assert told["kind"] == "repaired" and told["torn_bytes"] == 19


def test_a_log_that_does_not_hold_is_not_continued(log, signer):
    kept = lines(log)
    log.write_bytes(b"".join([*kept[:3], *kept[4:]]))
    with pytest.raises(AuditError):
        Audit(log, signer)


def test_one_log_has_one_writer(log, signer):
    audit = Audit(log, signer)
    with pytest.raises(TacitError, match="another service"):
        Audit(log, signer)
    audit.close()


def test_many_write_at_once(tmp_path, signer, known):
    audit = Audit(tmp_path / "a.jsonl", signer, every=50)
    threads = [
        threading.Thread(target=lambda: [audit.write("x", i=i).result(5) for i in range(20)])
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit.close()
    assert check(audit.path, known).signed == 400 + 8


def test_a_few_lines_are_signed_after_a_while(tmp_path, signer, known, monkeypatch):
    monkeypatch.setattr("tacit.serving.audit.SIGN_S", 0.05)
    audit = Audit(tmp_path / "a.jsonl", signer)
    audit.write("x").result(5)
    wait_for(lambda: check(audit.path, known).signed == 2)
    time.sleep(0.2)
    assert check(audit.path, known).lines == 2
    audit.close()
    assert check(audit.path, known).lines == 2


def test_a_log_that_cannot_be_written_says_so(log, signer):
    audit = Audit(log, signer)
    audit.file.close()
    with pytest.raises(ValueError, match="closed"):
        audit.write("x").result(5)
    with pytest.raises(ValueError, match="closed"):
        audit.write("x").result(5)


@pytest.mark.parametrize("text", [b"\n", b"[]\n", b"{}\n", b"\xff\n", b"[" * 3000 + b"\n", b"x"])
def test_what_is_no_log(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    refused(path, {}, 1)
    assert main(["audit", "verify", str(path)]) == 2


def test_openssl_finds_the_signature_good(log, folder, tmp_path):
    """The words that are signed are those of the documentation."""
    kept = lines(log)
    told = json.loads(kept[10])
    (tmp_path / "signature").write_bytes(base64.b64decode(told["signature"]))
    words = b"tacit audit log, version 1\n" + told["previous"].encode()
    (tmp_path / "words").write_bytes(words)
    certificate = folder / "party0" / "cert.pem"
    asked = ["openssl", "x509", "-in", certificate, "-pubkey", "-noout"]
    try:
        key = subprocess.run(asked, check=True, capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    (tmp_path / "key").write_bytes(key)
    line = ["openssl", "dgst", "-sha256", "-verify", "key", "-signature", "signature", "words"]
    done = subprocess.run(line, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "Verified OK", done


def test_only_its_owner_reads_a_log(tmp_path, signer):
    path = tmp_path / "audit.jsonl"
    Audit(path, signer).close()
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link.jsonl").symlink_to(path)
    with pytest.raises(OSError):
        Audit(tmp_path / "link.jsonl", signer)
