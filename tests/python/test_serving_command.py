"""The command `tacit predict`: what it shows, and where the API keys come from."""

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

from serving_fakes import WEIGHTS, FakeSharing, client_table, parties

from tacit.cli import main
from tacit.serving import described

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def urls(tmp_path, monkeypatch):
    monkeypatch.setattr(described, "make_sharing", FakeSharing)
    clients = [[client_table("lab", f"key-{party}")] for party in range(3)]
    with parties(tmp_path / "parties", clients) as (running, _):
        np.save(tmp_path / "x.npy", X)
        yield [one.url for one in running]


def test_the_command(urls, tmp_path, capsys):
    given = [f"--party={url}" for url in urls]
    for party in range(3):
        (tmp_path / f"key{party}").write_text(f"key-{party}\n")
        given.append(f"--key-file={tmp_path / f'key{party}'}")
    line = ["predict", "digits", *given, "--input", str(tmp_path / "x.npy")]
    assert main([*line, "--output", str(tmp_path / "y.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), X @ WEIGHTS, rtol=1e-5)
    said = " ".join(capsys.readouterr().out.split())
    assert "score" in said and "It trusts the parties to compute as agreed" in said
    assert main([*line[:-1], str(tmp_path / "no.npy")]) == 2
    assert main([*line, "--digest", "00"]) == 2
    assert "another model" in capsys.readouterr().err
    (tmp_path / "key0").write_text("two words\n")
    assert main(line) == 2
    assert "no file of one key" in capsys.readouterr().err


def test_keys_that_are_not_in_files(urls, tmp_path, monkeypatch, capsys):
    (tmp_path / "a key").write_text("key-2\n")
    (tmp_path / "first").write_text("key-0\n")
    monkeypatch.setenv("TACIT_TEST_KEY", "key-1")
    line = ["predict", "digits", *(f"--party={url}" for url in urls)]
    line += ["--input", str(tmp_path / "x.npy")]
    command = f"cat '{tmp_path / 'a key'}'"
    # In the order of the parties, wherever each comes from.
    keys = ["--key-file", str(tmp_path / "first"), "--key-env", "TACIT_TEST_KEY"]
    assert main([*line, *keys, "--key-command", command]) == 0
    capsys.readouterr()
    secret = "sh -c 'echo the-secret; echo the-secret >&2; exit 4'"
    for flag, value, words in [
        ("--key-env", "TACIT_NOT_SET", "no variable TACIT_NOT_SET"),
        ("--key-command", secret, "exit status: 4"),
        ("--key-command", "echo the-secret 2", "the command echo gives no single key"),
        ("--key-command", "", "--key-command"),
    ]:
        assert main([*line, flag, value]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert words in said and "the-secret" not in said
    with pytest.raises(SystemExit):
        main([*line, "--key-command", "echo 'the-secret"])
    assert "a quotation in it has no end" in " ".join(capsys.readouterr().err.split())
