"""The options that only some protocols have: in the help, in Python and in config files."""

import inspect
import re

import pytest

import tacit
from tacit.cli import main
from tacit.protocols import OPTIONS, PROTOCOLS

GROUPS = {
    "falcon": ["security"],
    "falcon and bicoptor": ["truncation"],
    "falcon and bicoptor and shamir": ["comparison"],
    "bicoptor": ["sharing"],
    "shamir": ["threshold", "opening"],
    "sirnn": ["ot", "products"],
}


def sections(text):
    """The flags of each section of a help, in order."""
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(\w[\w ]*):", line):
            flags = found.setdefault(match[1], [])
        elif match := re.match(r"  --([\w-]+)", line):
            flags.append(match[1])
    return found


@pytest.mark.parametrize("command", ["run", "plan", "bench"])
def test_help_shows_what_is_common_first_and_each_protocol_s_own_under_its_name(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    found = sections(text)
    names = list(found)
    assert names[names.index("options") + 1 :] == list(GROUPS)
    assert {"protocol", "parties", "network", "ring", "fraction-bits"} <= {*found["options"]}
    measured = {"falcon": ["paper-leakage"], "bicoptor": ["as-printed-insecure"]}
    for group, flags in GROUPS.items():
        assert found[group] == flags + (measured.get(group, []) if command == "bench" else [])
    words = " ".join(text.split())
    for word in ("default: gap", "bicoptor: gap, aby3, secureml", "may be corrupt together"):
        assert word in words


def test_the_options_are_those_of_the_protocols():
    assert [*OPTIONS] == [option for group in GROUPS.values() for option in group]
    assert {name for option in OPTIONS.values() for name in option.of} < {*PROTOCOLS}
    assert OPTIONS["truncation"].choices == ["gap", "exact", "aby3", "secureml"]
    assert OPTIONS["truncation"].of["bicoptor"] == ["gap", "aby3", "secureml"]
    assert OPTIONS["threshold"].choices is None


def test_python_takes_and_explains_every_option():
    parameters = inspect.signature(tacit.local).parameters
    told = inspect.getdoc(tacit.local)
    for option in OPTIONS.values():
        assert parameters[option.key].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n{option.key}\n    Of {option.protocols}" in told
        tacit.local(next(iter(option.of)), **{option.key: (option.choices or [1])[0]})
    assert "options" not in parameters
    assert "        " not in told.split("timeout\n")[1], "indented once"


def test_an_option_that_no_protocol_has_is_refused_by_name():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'sharng'.*sharing"):
        tacit.local("bicoptor", sharng="rss")
    with pytest.raises(tacit.TacitError, match=r"unknown field `sharng`.*`sharing`"):
        tacit.bench("mult", 4, protocol="bicoptor", sharng="rss")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('sharng = "rss"', "unknown field `sharng`, expected one of `protocol`"),
        ('sharing = "rss"', "sharing: falcon has none to choose; leave it out"),
        ('truncation = "secureml"', "truncation 'secureml': falcon has gap, exact, aby3; choose"),
        ("truncation = 3", "truncation: invalid type: integer `3`, expected a string"),
        ('ot = ["iknp"]', "ot: falcon has none to choose; leave it out"),
    ],
)
def test_a_config_s_options_are_refused_with_file_and_key(line, words, tmp_path, capsys):
    assert main(["init", str(tmp_path / "made")]) == 0
    config = tmp_path / "made" / "party2" / "party.toml"
    key = line.split()[0]
    kept = [text for text in config.read_text().splitlines() if text.split(" ")[0] != key]
    text = "\n".join(kept).replace("connect_timeout = 120.0", "connect_timeout = 0.2")
    config.write_text(re.sub(r"\[run\].*", f"[run]\n{line}", text))
    capsys.readouterr()
    assert main(["party", "--config", str(config)]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert str(config) in error and words in error
