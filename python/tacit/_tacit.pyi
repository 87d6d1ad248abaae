"""The extension module: settings and reports are JSON, arrays little-endian float32 bytes."""

from collections.abc import Callable
from typing import final

__version__: str

_Array = tuple[bytes, list[int]]
_Progress = Callable[[str, str, int, int], None]

class TacitError(Exception):
    """What went wrong, where, and what to do next.

    Attributes
    ----------
    code : str
        The kind of error, as docs/troubleshooting.md names it.
    party : int or None
        The party that it is about: lost, or suspected.
    step : str or None
        The step of the protocol.
    layer : str or None
        The layer of the model.
    """

    code: str
    party: int | None
    step: str | None
    layer: str | None

@final
class Compiled:
    """A model with its plan."""

    def __new__(
        cls,
        path: str,
        options: str,
        samples: _Array | None,
        protocol: str | None = None,
        named: list[tuple[str, _Array]] | None = None,
    ) -> Compiled:
        """Samples are an array, or arrays by the names of the model's inputs."""

    @staticmethod
    def inputs(path: str, options: str) -> str:
        """The inputs of a file, as plans have them, as JSON."""

    @staticmethod
    def unread(path: str) -> list[str]:
        """The inputs that a file declares and nothing in it reads."""

    def plan(self, run: str | None = None) -> str:
        """The plan that was made first, or that a run with these settings follows."""

    def predict_cost(
        self, run: str, items: int, speeds: str | None = None, rehearsed: str | None = None
    ) -> str: ...
    def rehearse(self, run: str, items: int, progress: _Progress | None = None) -> str: ...
    def reference(self, x: bytes) -> bytes: ...
    def accuracy(self, output: bytes, labels: list[int]) -> float: ...
    def analyze_truncation(
        self,
        x: _Array,
        labels: list[int],
        options: str,
        progress: _Progress | None,
    ) -> str:
        """What truncation does to the accuracy."""

@final
class Session:
    """All parties of this machine, between predictions."""

    def __new__(cls, run: str, command: list[str] | None = None) -> Session:
        """`command` starts a party when each is to be a process."""

    def predict(
        self,
        model: Compiled,
        x: _Array,
        batch: int | None,
        labels: list[int] | None,
        check: bool,
        progress: _Progress | None,
    ) -> tuple[bytes, str]:
        """The outputs and the report."""

    def close(self) -> None:
        """Lets the parties go."""

def serve_config(path: str) -> str:
    """A config file of a service, checked, as JSON; its paths are absolute."""

def check_offer(path: str, model: str, version: str, offer: bytes) -> None:
    """Refuses an offer, as it was kept, that the party of this config would not serve so."""

@final
class Service:
    """One served model at one party; long calls let other threads run."""

    def __new__(cls, config: str, model: str, version: str | None = None) -> Service: ...
    def run(self, notice: Callable[[str], None]) -> None:
        """One life: meets the other parties, then answers until it is drained or fails."""

    def standing(self) -> str: ...
    def described(self) -> bytes | None:
        """What clients need to know of the model, as JSON, once it is ready."""

    def offered(self) -> bytes | None:
        """What the model's owner offers, as JSON: at the owner itself what its file makes."""

    def submit(
        self, client: str, session: str, request: bytes, items: int, share: bytes
    ) -> str | None:
        """Takes a request of a client for a session, or says why not, as JSON."""

    def decline(self, request: bytes, code: str) -> None:
        """Notes why a request is not taken here, for the other parties to hear."""

    def answer(self, request: bytes, seconds: float) -> tuple[str, bytes] | None:
        """Waits so long for `("answered", share)` or `("refused", JSON)`."""

    def bell(self) -> int:
        """A socket's descriptor, to be closed by the caller: readable when requests have ended."""

    def ended(self) -> list[bytes]:
        """The requests that have ended since this was asked last; none before :meth:`bell`."""

    def times(self, request: bytes) -> tuple[float, float] | None:
        """Seconds that an answered request waited for its batch, and that its batch took."""

    def forget(self, request: bytes) -> bool:
        """Frees the place of a request that has not begun; whether it had not."""

    def leave(self) -> None:
        """Ends once what it took is answered, for good; while it waits for the others, at once."""

@final
class Sharing:
    """A client's side of one model."""

    def __new__(cls, described: bytes) -> Sharing: ...
    def split(
        self, array: _Array | None, named: list[tuple[str, _Array]] | None = None
    ) -> tuple[int, list[bytes]]:
        """The number of items of what is given, and a share for each party."""

    def join(self, items: int, shares: list[bytes]) -> _Array:
        """The outputs of one share of each party."""

def bench(
    op: str,
    n: int,
    chunk: int | None,
    ring: int | None,
    field: int | None,
    fraction_bits: int | None,
    precision: int | None,
    key_bits: str | None,
    functions: str,
    as_printed_insecure: bool,
    paper_leakage: bool,
    repeat: int,
    run: str,
    progress: _Progress | None,
) -> str:
    """The report of a measured operation."""

def speeds(run: str, width: int | None = None, progress: _Progress | None = None) -> str: ...
def tables_liu24(parties: list[int], field: int) -> str:
    """Table 1 of Liu et al. beside what runs between so many parties metered."""

def interrupt(raised: bool = True) -> None:
    """Ends every run of this process, as Ctrl-C does, or lets them begin again; for any thread."""

def certificates(path: str) -> list[tuple[str | None, str, list[str]]]:
    """The certificates of a file: name, fingerprint, first and last moment of validity."""

def members(path: str) -> str:
    """Who the parties of a config file are, as JSON, whatever else stands in it; absolute paths."""

def next_certificate(folder: str, name: str, days: int, key: bytes | None = None) -> None:
    """Makes `next-cert.pem`, for this key or for a new one in `next-key.pem`."""

def secret(source: str, setting: str) -> bytes:
    """A secret from its source as a config has it, in JSON; `setting` is what errors call it."""

def check_outputs(outputs: list[str], inputs: list[str]) -> None:
    """Refuses files that could not be written, or that are inputs."""

def write_output(path: str, content: bytes) -> None:
    """Writes a file; where that fails, another one that the error names."""

def log(level: str) -> None:
    """Writes a log to stderr from now on: `off`, `warn`, `info`, `debug` or `trace`."""

def check_settings(run: str) -> None:
    """Refuses settings, as JSON, that no session could have."""

def protocols() -> str:
    """Pairs of a protocol's name and its options, `key, help, choices`; the default one first."""

def party(
    config: str,
    notice: Callable[[str], None],
    progress: _Progress | None,
    reveal: str | None = None,
    answered: tuple[Callable[[str], None], Callable[[str], None]] | None = None,
) -> tuple[str, str, bytes | None, str | None] | None:
    """Runs the party of a config file, which may insist on what is revealed.

    Returns its report and the model's outputs as JSON, the numbers of the outputs where the party
    learns them, and the file that its config asks for.

    With `answered`, which gets the report of each and the words of each file that cannot be used,
    the party stays for as many predictions as standard input names files of inputs at the data's
    owner.
    """

def init(folder: str, options: str) -> list[str]:
    """Makes keys, certificates and config files; what to do with them, in words."""

_Owned = tuple[int, bytes, bytes]

def train(
    model: str,
    options: str,
    run: str,
    train: list[_Owned],
    test: list[_Owned],
    progress: _Progress | None = None,
) -> tuple[bytes, bytes, str]:
    """The trained network as an ONNX file, its parameters' float32 bytes, and the report."""

def train_party(
    config: str,
    load: Callable[[], tuple[list[_Owned], list[_Owned]]],
    notice: Callable[[str], None],
    progress: _Progress | None = None,
) -> tuple[bytes | None, str]:
    """One party's part in the training of a config file; the network at its owner only.

    `load` gives this party's training and test data; it is called on another thread.
    """

def train_refuse(config: str, why: str, notice: Callable[[str], None]) -> None:
    """Tells the other parties of a config file why this one cannot run."""

def train_reference(
    model: str,
    options: str,
    train: list[_Owned],
    test: list[_Owned],
    every: int | None = None,
    progress: _Progress | None = None,
) -> tuple[bytes, str]:
    """Trains in float32 in the clear: the ONNX file, and how good the network is on the way."""

def train_cost(
    model: str,
    options: str,
    run: str,
    items: list[tuple[int, int]],
    test: list[tuple[int, int]],
    speeds: str | None = None,
) -> str:
    """What a training on so many items, each part of an owner, will cost."""

def train_start(model: str, options: str) -> bytes:
    """What a training starts from, as an ONNX file."""

def train_outputs(model: str) -> tuple[list[int], int]:
    """The shape of an input item, and the number of outputs."""

def train_config(path: str) -> str:
    """A config file, checked."""
