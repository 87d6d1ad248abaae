"""A training's config, files and reports: where paths start, what is left alone, what is said."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_training import command, config, finished, images, organisations

from tacit.cli import main


@pytest.fixture
def made(tmp_path):
    """A config of which every path is relative, in a folder that is not the working directory."""
    path = config(tmp_path / "made", 2)
    path.write_text(path.read_text().replace(f"{path.parent}/", ""))
    assert str(path.parent) not in path.read_text()
    return path


def said(path, capsys, *more, code=0):
    assert main(["train", str(path), *more]) == code
    captured = capsys.readouterr()
    return " ".join((captured.out if code == 0 else captured.err).split())


def test_paths_start_from_the_config(made, tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for path in (made, Path("../made/train.toml")):
        shutil.rmtree(made.parent / "state", ignore_errors=True)
        said(path, capsys)
        for name in ("trained.onnx", "report.json", "report.html"):
            (made.parent / name).unlink()
        assert list((made.parent / "state").glob("*.checkpoint"))
        assert list((made.parent / "keys").glob("*.key"))
    assert not list(Path().iterdir())


@pytest.mark.parametrize("kind", ["csv", "idx", "train option"])
def test_every_kind_of_data_starts_there(kind, made, tmp_path, monkeypatch, capsys):
    """Files are found beside the config, even the second file of a source that names two."""
    folder = made.parent
    header = ",".join([*(f"c{i}" for i in range(16)), "y"])
    rows = np.c_[np.arange(640).reshape(40, 16) % 7, np.arange(40) % 3]
    np.savetxt(folder / "table.csv", rows, "%d", ",", header=header, comments="")
    images_file = bytes([0, 0, 8, 3, *(0, 0, 0, 40), *(0, 0, 0, 4), *(0, 0, 0, 4)]) + bytes(640)
    (folder / "images").write_bytes(images_file)
    (folder / "labels").write_bytes(
        bytes([0, 0, 8, 1, 0, 0, 0, 40]) + bytes(i % 3 for i in range(40))
    )
    source = {
        "csv": "csv:table.csv:label=y",
        "idx": "idx:images,labels",
        "train option": "csv:table.csv:label=y",
    }[kind]
    text = made.read_text().replace("npz:train.npz", source).replace('test = "npz:test.npz"\n', "")
    if kind == "train option":
        text = text.replace(
            "first = 20", 'first = 20\ntest = "csv:table.csv:label=y,train=table.csv"'
        )
    if kind != "idx":
        text = text.replace("input = [1, 4, 4]", "input = [16]")
        text = text.replace('{ type = "conv", filters = 2, kernel = 3 },', "")
    made.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_DATA", raising=False)
    said(made, capsys, "--plan", "--no-measure")


def test_the_working_directory_is_not_where_they_start(made, monkeypatch, capsys):
    work = made.parent / "work"
    work.mkdir()
    (made.parent / "train.npz").rename(work / "train.npz")
    monkeypatch.chdir(work)
    assert "no such file" in said(made, capsys, code=2)
    # The folder of all data sets is looked through as everywhere.
    monkeypatch.setenv("TACIT_DATA", str(work))
    said(made, capsys, "--plan", "--no-measure")


def test_a_finished_training_leaves_its_report_alone(made, capsys):
    first = said(made, capsys)
    assert "went on" not in first
    reports = [made.parent / name for name in ("report.json", "report.html")]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in reports]
    model = (made.parent / "trained.onnx").read_bytes()
    (made.parent / "trained.onnx").unlink()
    other = made.parent / "other.json"
    again = said(made, capsys, "--json", str(other))
    assert "the training is finished: all 20 mini-batches were done before this run" in again
    assert "left as they are" in again and "report.json" in again
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in reports] == before
    assert (made.parent / "trained.onnx").read_bytes() == model
    # What is not there yet is written.
    assert json.loads(other.read_text())["resumed"]["after"] == 20


def test_a_resumed_training_says_from_where(made, capsys):
    whole = made.read_text()
    made.write_text(whole.replace("epochs = 2", "epochs = 2\nstop_after = 7"))
    said(made, capsys)
    made.write_text(whole)
    again = said(made, capsys)
    assert "went on after mini-batch 7 of 20, from party0-00000007.checkpoint" in again
    report = json.loads((made.parent / "report.json").read_text())
    assert report["resumed"] == {"after": 7, "of": 20, "checkpoint": "party0-00000007.checkpoint"}
    assert report["batches"] == 13


def test_a_damaged_checkpoint_falls_back(made, capfd):
    whole = made.read_text()
    made.write_text(whole.replace("epochs = 2", "epochs = 2\nstop_after = 7"))
    said(made, capfd)
    made.write_text(whole)
    newest = made.parent / "state" / "party2-00000007.checkpoint"
    newest.write_bytes(newest.read_bytes()[:-30])
    assert main(["train", str(made)]) == 0
    captured = capfd.readouterr()
    shown = " ".join(captured.out.split())
    assert "went on after mini-batch 6 of 20, from party0-00000006.checkpoint" in shown
    assert "party2-00000007.checkpoint" in captured.err and "WARN" in captured.err


def test_parties_fall_back_together(tmp_path):
    """Of one party the newest is damaged: all say the same one before it."""
    paths = organisations(tmp_path / "apart")
    for path in paths:
        path.write_text(path.read_text().replace("epochs = 8", "epochs = 8\nstop_after = 5"))
    codes, words = finished([command(path) for path in paths])
    assert codes == [0, 0, 0], words
    damaged = paths[1].parent / "state" / "party1-00000005.checkpoint"
    damaged.write_bytes(damaged.read_bytes()[:50])
    for path in paths:
        path.write_text(path.read_text().replace("stop_after = 5", "stop_after = 8"))
    move = [command(path) for path in paths]
    codes, words = finished(move)
    assert codes == [0, 0, 0], words
    for party, path in enumerate(paths):
        report = json.loads((path.parent / "report.json").read_text())
        name = f"party{party}-00000004.checkpoint"
        assert report["resumed"] == {"after": 4, "of": 8, "checkpoint": name}


def test_outputs_are_checked_before_anything_is_read(made, capsys):
    whole = made.read_text()
    for line, why in (
        ('report = "no/report.json"', "its folder"),
        ('report = "state"', "it is a folder"),
        ('report = "trained.onnx"', "two outputs have this name"),
        ('report = "train.toml"', "one of the inputs"),
    ):
        (made.parent / "state").mkdir(exist_ok=True)
        made.write_text(whole.replace('report = "report.json"', line).replace("npz:", "absent:"))
        assert why in said(made, capsys, code=2)
    made.write_text(whole.replace('folder = "state"', 'folder = "train.npz/state"'))
    assert "checkpoints cannot be kept there" in said(made, capsys, code=2)


def test_outputs_of_a_party_are_checked_before_it_connects(tmp_path):
    """Every party hears of a bad output at once, the others without the path."""
    paths = organisations(tmp_path / "apart")
    text = paths[1].read_text()
    paths[1].write_text(text.replace('report = "', 'report = "no/'))
    codes, words = finished([command(path) for path in paths])
    assert codes == [2, 2, 2], words
    assert "its folder" in words[1] and "is not there" in words[1]
    for other in (0, 2):
        assert 'error: party 1 stopped: it says "its config cannot be used' in words[other]
        assert "folder" not in words[other]


def test_a_failed_training_has_a_report(tmp_path):
    """A failed training's report stands beside a good one, or in its place where none is."""
    paths = organisations(tmp_path / "apart")
    for path in paths:
        path.write_text(path.read_text().replace("epochs = 8", "epochs = 8\nstop_after = 5"))
    codes, words = finished([command(path) for path in paths])
    assert codes == [0, 0, 0], words
    reports = [path.parent / "report.json" for path in paths]
    reports[2].unlink()
    before = [report.read_bytes() for report in reports[:2]]
    # They differ in what they compare once they have met.
    paths[1].write_text(paths[1].read_text().replace('"exact"', '"gap"'))
    codes, words = finished([command(path) for path in paths])
    assert codes == [2, 2, 2], words
    assert [report.read_bytes() for report in reports[:2]] == before
    failed = [path.parent / "report.failed.json" for path in paths[:2]] + [reports[2]]
    for path, said in zip(failed, words, strict=True):
        report = json.loads(path.read_text())
        assert "differ in" in report["error"] and not report.get("revealed")
        assert " ".join(report["error"].split()) in " ".join(said.split())
    assert not (paths[2].parent / "report.failed.json").exists()


def test_a_model_that_cannot_be_written_is_kept(made, capsys):
    made.write_text(made.read_text().replace('model = "trained.onnx"', 'model = "/dev/full"'))
    error = said(made, capsys, code=2)
    kept = Path(error.split("its content is in ")[1].split(",")[0])
    assert kept.stat().st_size > 100 and kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    assert (made.parent / "report.json").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("batch = 3", "run: 'batch' in the settings of the run is of predictions; leave it out"),
        ("data_owner = 0", "run: 'data_owner' is of predictions; leave it out"),
        ('sharing = "rss"', "sharing: falcon has none to choose; leave it out"),
    ],
)
def test_settings_without_effect(line, words, made, capsys):
    made.write_text(made.read_text().replace("[run]", f"[run]\n{line}"))
    assert words in said(made, capsys, code=2)


def test_a_number_that_is_none_is_named_with_its_file(made, capsys):
    x, y = images(40, 1)
    x[5, 0, 1, 2] = np.inf
    np.savez(made.parent / "train.npz", x=x, y=y)
    error = said(made, capsys, code=2)
    assert "made/train.npz: the number at [5, 0, 1, 2] is inf" in error
