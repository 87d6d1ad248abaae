"""What is told of certificates, and what other parties hear of one that cannot take part."""

import hashlib
import ssl
import subprocess
import sys

import pytest
from ports import move_ports

from tacit.cli import main

LIMIT = 120


def test_a_fingerprint_is_that_of_the_der_form(tmp_path, capsys):
    assert main(["init", str(tmp_path / "parties")]) == 0
    capsys.readouterr()
    paths = [tmp_path / "parties" / f"party{number}" / "cert.pem" for number in (0, 1)]
    assert main(["cert", "show", *map(str, paths)]) == 0
    shown = capsys.readouterr().out
    for path, name in zip(paths, ("model-owner", "data-owner"), strict=True):
        der = ssl.PEM_cert_to_DER_cert(path.read_text())
        assert hashlib.sha256(der).hexdigest() in shown
        assert str(path) in shown
        assert name in shown
    assert shown.count("Z to 2") == 2
    assert main(["cert", "show", str(tmp_path / "gone.pem")]) == 2
    assert "gone.pem: there is no such file" in capsys.readouterr().err


DATA = "[[data]]\ntrain = 'csv:{}:label=label'\n"


@pytest.mark.parametrize(
    ("bad", "own", "told"),
    [
        (DATA.format("gone.csv"), "gone.csv", "its data cannot be read"),
        (DATA.format("wide.csv"), "the items have shape", "its data cannot be read"),
        ("[trainning]\n", "trainning", "its config cannot be used"),
    ],
)
def test_why_one_party_cannot_train_is_told(tmp_path, bad, own, told):
    folder = tmp_path / "parties"
    assert main(["init", str(folder), "--training"]) == 0
    configs = [folder / f"party{number}" / "train.toml" for number in range(3)]
    move_ports(configs)
    good, spoilt = tmp_path / "good.csv", tmp_path / "wide.csv"
    good.write_text("a,b,label\n" + "1,2,0\n3,4,1\n" * 20)
    spoilt.write_text("a,b,c,label\n" + "1,2,3,0\n3,4,5,1\n" * 20)
    for number, config in enumerate(configs):
        head, rest = config.read_text().split("[model]", 1)
        run = rest[rest.index("[run]") :]
        data = bad.replace("wide.csv", str(spoilt)) if number == 1 else ""
        data = DATA.format(good) if number == 0 else data
        layers = "[model]\ninput = [2]\nlayers = [{type = 'linear', outputs = 2}]\n"
        config.write_text(f"{head}{layers}{data}{run}")
    command = [sys.executable, "-m", "tacit", "train"]
    started = [
        subprocess.Popen([*command, config], stderr=subprocess.PIPE, text=True)
        for config in configs
    ]
    try:
        errors = [process.communicate(timeout=LIMIT)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [2, 2, 2], errors
    assert own in errors[1].lower()
    for other in (0, 2):
        assert f'error: party 1 stopped: it says "{told}' in errors[other], errors
        assert "csv" not in errors[other]
