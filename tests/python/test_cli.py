import json
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

import tacit
from tacit import console
from tacit.cli import main


@pytest.fixture
def files(tmp_path, digits, digits_samples):
    x, y = digits
    for name, array in {"x": x[:12], "y": y[:12], "samples": digits_samples}.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def arguments(digits_path, files, *more):
    return ["run", str(digits_path), "--input", str(files / "x.npy"), *map(str, more)]


def test_run_writes_outputs_and_report(digits_path, files, digits_model, capsys):
    more = ["--labels", files / "y.npy", "--samples", files / "samples.npy", "--check"]
    saved = ["--output", files / "out", "--json", files / "report.json"]
    assert main(arguments(digits_path, files, *more, *saved)) == 0
    output = np.load(files / "out")
    np.testing.assert_allclose(output, digits_model.reference(np.load(files / "x.npy")), atol=1e-3)
    report = json.loads((files / "report.json").read_text())
    assert report["agreement"] == 1
    shown = capsys.readouterr()
    assert "accuracy" in shown.out
    assert "fc1" in shown.out
    assert shown.err == ""  # no progress bar where there is no terminal


def test_run_with_every_option(digits_path, files):
    options = {
        "--protocol": "falcon",
        "--ring": 32,
        "--fraction-bits": 10,
        "--truncation": "exact",
        "--network": "0.1ms,1000Mbps",
        "--order": "multiply-then-truncate",
        "--batch": 5,
        "--input-range": 1,
        "--timeout": 60,
        "--samples": files / "samples.npy",
    }
    more = [word for option in options.items() for word in option]
    more += ["--public-model", "--processes"]
    assert main(arguments(digits_path, files, *more, "--json", files / "r.json")) == 0
    report = json.loads((files / "r.json").read_text())
    assert (report["ring"], report["fraction_bits"], report["batch"]) == (32, 10, 5)


def test_npz_input(digits_path, files, digits):
    x, _ = digits
    np.savez(files / "many.npz", x=x[:2], other=x[:3])
    run = ["run", str(digits_path), "--output", str(files / "o.npy"), "--input"]
    assert main([*run, str(files / "many.npz")]) == 0
    assert len(np.load(files / "o.npy")) == 2
    assert main([*run, str(files / "many.npz:other")]) == 0
    assert len(np.load(files / "o.npy")) == 3
    assert main([*run, str(files / "many.npz:none")]) == 2


def test_plan_shows_layers_and_cost(digits_path, capsys):
    assert main(["plan", str(digits_path), "--network", "wan", "--batch", "10"]) == 0
    shown = capsys.readouterr().out
    for word in ("fc1", "64-bit ring", "offline", "online", "busiest"):
        assert word in shown


def test_plan_counts_any_number_of_parties(digits_path, tmp_path):
    file = tmp_path / "cost.json"
    line = ["plan", str(digits_path), "--protocol", "clear", "--parties", "16", "--network", "wan"]
    assert main([*line, "--json", str(file)]) == 0
    cost = json.loads(file.read_text())
    assert cost["online"]["bytes_sent"] == [0, 15 * 64 * 8, *[0] * 14]
    assert cost["online"]["seconds"] == pytest.approx(0.035 + 15 * 64 * 8 / 40e6)


def test_run_with_five_parties(digits_path, files):
    more = ["--protocol", "clear", "--parties", "5", "--processes", "--json", files / "r.json"]
    assert main(arguments(digits_path, files, *more)) == 0
    report = json.loads((files / "r.json").read_text())
    assert report["parties"] == len(report["online"]["bytes_sent"]) == 5
    assert "threshold" not in report


def test_bench_writes_a_report(tmp_path):
    file = tmp_path / "relu.json"
    line = ["bench", "relu", "--n", "100", "--ring", "32", "--repeat", "2", "--json", str(file)]
    assert main(line) == 0
    report = json.loads(file.read_text())
    # At most 41 bytes per ReLU and party over 9 hops at 32 bits.
    assert max(report["online"]["bytes_sent"]) <= 41 * 100
    assert report["online"]["rounds"] <= 9


UNIT = 2.0**-18
"""The last place of 64-bit numbers here."""


@pytest.mark.parametrize(
    ("op", "protocol", "options", "bounds"),
    [
        ("relu", "falcon", [], (0, 0)),
        ("drelu", "bicoptor", [], (0, 0)),
        ("mult", "falcon", ["--truncation", "exact"], (0, 0)),
        ("mult", "falcon", [], (1, 1)),
        ("trunc", "shamir", [], (1, 2)),
        # Of the exact function: even where every protocol computes the same there is an error.
        ("sigmoid", "clear", [], (0.3, 8)),
        ("sigmoid", "falcon", [], (0.3, 8)),
        ("tanh", "sirnn", ["--precision", "16", "--fraction-bits", "12"], (0.3, 6)),
        ("division", "falcon", [], (0.3, 40)),
        ("batchnorm", "falcon", [], (0.3, 60)),
        ("exp", "bicoptor", [], (0.3, 20)),
    ],
)
def test_bench_tells_the_largest_error(op, protocol, options, bounds, tmp_path):
    low, high = bounds
    file = tmp_path / "report.json"
    line = ["bench", op, "--n", "400", "--chunk", "150", "--repeat", "1", "--protocol", protocol]
    assert main([*line, *options, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    assert (report["op"], report["n"], report["chunk"]) == (op, 400, 150)
    assert low <= report["max_ulp_error"] <= high
    unit = 2.0**-12 if options[-1:] == ["12"] else 1 if low == high == 0 and op != "mult" else UNIT
    assert report["max_abs_error"] == pytest.approx(report["max_ulp_error"] * unit)
    shown = " ".join(str(tacit.Report(report)).split())
    assert f"operation {op}, n = 400, 150 at a time" in shown and "units in the last place" in shown


def test_bench_counts_large_errors_among_the_errors(capsys):
    line = ["bench", "trunc", "--n", "2000", "--ring", "32", "--repeat", "1"]
    assert main([*line, "--truncation", "aby3"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    errors = shown.split("largest error ")[1].split(" units")[0].split(", ")
    assert float(errors[1]) >= 2**19 and "large error of this truncation" in shown


def test_bench_measures_the_paper_s_leakage_under_its_name_only(capsys):
    line = ["bench", "pow", "--n", "100", "--repeat", "1"]
    assert main(line) == 0
    assert "magnitude" not in capsys.readouterr().out
    assert main([*line, "--paper-leakage"]) == 0
    assert "learns the magnitude" in " ".join(capsys.readouterr().out.split())
    assert main([*line, "--paper-leakage", "--protocol", "shamir"]) == 2


def test_bench_in_chunks(monkeypatch, capsys):
    """The bar names the chunk, and the report its size."""
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=True, width=100))
    line = ["bench", "sigmoid", "--n", "1000", "--chunk", "400", "--repeat", "2"]
    numbers = ["--precision", "16", "--fraction-bits", "12"]
    assert main([*line, "--protocol", "sirnn", *numbers]) == 0
    shown = capsys.readouterr()
    assert "sigmoid, chunk 3 of 3, run 2 of 2" in shown.err
    assert "batches of 400" in shown.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["run", "absent.onnx", "--input", "x.npy"], ["absent.onnx"]),
        (["run", "MODEL", "--input", "absent.npy"], ["absent.npy", "no such file"]),
        (["run", "MODEL", "--input", "MODEL"], ["numpy.save"]),
        (["run", "MODEL", "--input", "x.npy", "--labels", "x.npy"], ["labels"]),
        (["run", "MODEL", "--input", "y.npy"], ["shape", "(n, 1, 8, 8)"]),
        (["run", "MODEL", "--input", "x.npy", "--network", "fast"], ["fast", "wan"]),
        (["run", "MODEL", "--input", "x.npy", "--fraction-bits", "70"], ["ring"]),
        (["run", "MODEL", "--input", "x.npy", "--parties", "4"], ["falcon", "3 parties, not 4"]),
        (["run", "MODEL", "--input", "x.npy", "--threshold", "1"], ["threshold", "leave it out"]),
        (["plan", "MODEL", "--comparison", "rot"], ["comparison", "auto, adder, falcon"]),
        (["plan", "MODEL", "--opening", "king"], ["opening", "leave it out"]),
        (["plan", "MODEL", "--field", "61"], ["61-bit field", "falcon", "--ring 32|64"]),
        (["run", "MODEL", "--input", "x.npy", "--key-bits", "5.2"], ["falcon", "leave it out"]),
        (["plan", "MODEL", "--key-bits", "full,"], ["key bits", "such as 5.2"]),
        (["plan", "MODEL", "--key-bits", "5.40"], ["key bits 5.40", "18 fraction bits"]),
        (["plan", "MODEL", "--key-bits", "auto"], ["key bits 'auto'", "give samples"]),
        (["plan", "MODEL", "--key-bits-loss", "0.1"], ["key_bits_loss", "ask for auto"]),
        (["bench", "relu", "--n", "1", "--key-bits", "5.2"], ["falcon", "leave it out"]),
        (["bench", "relu", "--n", "1", "--field", "31"], ["31-bit field", "--ring 32|64"]),
        (["bench", "matmul", "--n", "4", "--chunk", "2"], ["chunk 2", "'matmul' is not cut"]),
        (["init", "new", "--protocol", "clear", "--parties", "17"], ["clear", "1 to 16"]),
        (["run", "y.npy", "--input", "x.npy"], ["ONNX"]),
        (["run", "MODEL", "--input", "x.npy", "--output", "no/such/out.npy"], ["no/such/out.npy"]),
        (["party", "--config", "absent.toml"], ["absent.toml"]),
    ],
)
def test_errors_are_one_message_and_exit_code_two(line, words, digits_path, files):
    line = [str(digits_path) if word == "MODEL" else word for word in line]
    command = [sys.executable, "-m", "tacit", *line]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["run"],
        ["run", "m.onnx", "--input", "x.npy", "--ring", "48"],
        ["run", "m.onnx", "--input", "x.npy", "--ring", "64", "--field", "61"],
        ["plan", "m.onnx", "--parties", "0"],
        ["plan", "m.onnx", "--protocol", "falkon"],
        ["run", "m.onnx", "--input", "x.npy", "--batch", "0"],
        ["run", "m.onnx", "--input", "x.npy", "--dim", "seq"],
        ["run", "m.onnx", "--input", "x.npy", "--dim", "seq=4", "--dim", "seq=5"],
        ["bench", "sine", "--n", "3"],
        ["bench", "relu", "--n", "3", "--chunk", "0"],
    ],
)
def test_bad_arguments_are_refused(line, capsys):
    with pytest.raises(SystemExit) as stop:
        main(line)
    assert stop.value.code == 2
    assert "usage: tacit" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert tacit.__version__ in capsys.readouterr().out
