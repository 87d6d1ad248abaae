"""`tacit doctor` asks a service of another party whether it lives: that may answer as it likes."""

import socket
import threading
from contextlib import contextmanager, suppress

from tacit.operating.peers import over_http

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n"


@contextmanager
def answering(answer):
    """The address of a server that answers its first connection so, and how often it was asked."""
    over, asked = threading.Event(), []

    def run(listener):
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                answer(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=run, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def test_an_answer_that_drips_is_not_waited_for():
    """Each byte comes within the time that one read has."""

    def drip(connection, over):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not over.wait(0.05):
            connection.sendall(b"a")

    with answering(drip) as (url, asked):
        found, done = [], threading.Event()

        def ask():
            found.append(over_http(url, 0.3))
            done.set()

        threading.Thread(target=ask, daemon=True).start()
        assert done.wait(5) and found == [None] and asked


def test_whoever_sends_it_elsewhere_is_not_followed():
    def lives(connection, over):
        connection.sendall(ANSWER + b'{"live": true}')

    with answering(lives) as (inner, asked):

        def sends(connection, over):
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {inner}/x\r\n\r\n".encode())

        with answering(sends) as (url, asked_first):
            assert over_http(url) is None
        assert asked_first and not asked
        assert over_http(inner) is not None


def test_other_schemes_are_not_asked(tmp_path):
    (tmp_path / "v2" / "health").mkdir(parents=True)
    (tmp_path / "v2" / "health" / "live").write_text('{"live": true}')
    assert over_http(f"file://{tmp_path}") is None
