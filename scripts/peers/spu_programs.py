"""Measures programs in SecretFlow SPU on loopback: ABY3 in three processes, Cheetah in two.

    spu_programs.py RESULT.json PROTOCOL REPEAT PROGRAM...

A program is a benchmark network with its batch (`lenet:128`), or an operation with its size
(`relu:1000000`). Runs in an environment that has spu and jax (see `scripts/bench_peers.py`).
Inputs and weights are secret: under ABY3 shared, under Cheetah the weights party 0's own and the
input party 1's, which is faster there. The time is that of the evaluation, without sharing and
opening. Bytes are those that the busiest party sends, memory is that of all three together.
"""

import json
import multiprocessing
import os
import re
import resource
import socket
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import spu
from jax import lax
from spu.utils import frontend

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import encoders
import networks

PARTIES = {"aby3": 3, "cheetah": 2, "cheetah-32": 2}
PATIENCE = 5400


def config(protocol):
    """The ring, SPU's own fraction bits and approximations."""
    kind = spu.ProtocolKind.ABY3 if protocol == "aby3" else spu.ProtocolKind.CHEETAH
    field = spu.FieldType.FM32 if protocol == "cheetah-32" else spu.FieldType.FM64
    made = spu.RuntimeConfig(protocol=kind, field=field)
    made.enable_pphlo_profile = True
    return made


OPERATIONS = {
    "relu": jax.nn.relu,
    "mult": lambda x, y: x * y,
    "matmul": lambda x, y: x @ y,
    "exp": jax.numpy.exp,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jax.numpy.tanh,
    "rsqrt": lax.rsqrt,
}
DOMAINS = {"exp": (-8, 0), "rsqrt": (1 / 64, 64)}
"""Where the operands lie, if not between -4 and 4."""


def program(name):
    """A function and its secret arguments."""
    name, size = name.split(":")
    if name in networks.NETWORKS:
        return network(name), arguments(name, int(size))
    if name in encoders.ENCODERS:
        return encoder(name), (encoders.weights(name), encoders.texts(name, int(size)))
    shape = (int(size), int(size)) if name == "matmul" else (int(size),)
    low, high = DOMAINS.get(name, (-4, 4))
    random = np.random.default_rng(2)
    operands = 2 if name in ("mult", "matmul") else 1
    given = [random.uniform(low, high, shape).astype(np.float32) for _ in range(operands)]
    return OPERATIONS[name], given


def network(name):
    """The network as a JAX function of its weights and (n, 28, 28, 1) images."""

    def evaluate(parameters, x):
        following = iter(parameters)
        for kind, *sizes in networks.NETWORKS[name]:
            if kind == "conv":
                weight, bias = next(following)
                stride, pad = (sizes[3],) * 2, ((sizes[4],) * 2,) * 2
                axes = ("NHWC", "HWIO", "NHWC")
                x = lax.conv_general_dilated(x, weight, stride, pad, dimension_numbers=axes) + bias
            elif kind == "fc":
                weight, bias = next(following)
                x = x @ weight + bias
            elif kind == "pool":
                window = (1, *sizes * 2, 1)
                x = lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")
            elif kind == "relu":
                x = jax.nn.relu(x)
            else:
                x = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
        return x

    return evaluate


def encoder(name):
    """The encoder as a JAX function of its weights and (n, tokens, size) embeddings."""
    sizes = encoders.ENCODERS[name]

    def norm(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)

    def evaluate(parameters, x):
        for layer in parameters:

            def linear(part, value, layer=layer):
                weight, bias = layer[part]
                return value @ weight + bias

            def heads(part, x=x, linear=linear):
                apart = (*x.shape[:2], sizes.heads, sizes.size // sizes.heads)
                return linear(part, x).reshape(apart).transpose(0, 2, 1, 3)

            scores = heads("query") @ heads("key").transpose(0, 1, 3, 2)
            share = jax.nn.softmax(scores / (sizes.size // sizes.heads) ** 0.5, axis=-1)
            back = (share @ heads("value")).transpose(0, 2, 1, 3).reshape(x.shape)
            x = norm(linear("output", back) + x)
            inner = jax.nn.gelu(linear("inner", x), approximate=False)
            x = norm(linear("outer", inner) + x)
        return x

    return evaluate


def arguments(name, batch):
    """Weights and images in the layout of `network`."""
    parameters = [
        (weight.transpose(2, 3, 1, 0) if weight.ndim == 4 else weight, bias)
        for weight, bias in networks.weights(name)
    ]
    return parameters, networks.images(batch).transpose(0, 2, 3, 1)


def free_ports(n):
    """Ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def party(protocol, rank, ports, log, pipe):
    """One party's process: runs what it is sent until it is sent None. SPU logs what it sends."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    link = spu.link.Desc()
    link.recv_timeout_ms = link.http_timeout_ms = PATIENCE * 1000
    for i, port in enumerate(ports):
        link.add_party(f"party{i}", f"127.0.0.1:{port}")
    context = spu.link.create_brpc(link, rank)
    runtime = spu.Runtime(context, config(protocol))
    while (task := pipe.recv()) is not None:
        program, shares, outputs, repeat = task
        executable = spu.Executable()
        executable.ParseFromString(program)
        for variable, share in shares:
            runtime.set_var(variable, share)
        seconds = []
        for _ in range(repeat):
            context.barrier()
            start = time.perf_counter()
            runtime.run(executable)
            context.barrier()
            seconds.append(time.perf_counter() - start)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        pipe.send((seconds, [runtime.get_var(o) for o in outputs], memory))


def sent(log):
    """The bytes that a party said it sent in its last run."""
    said = re.findall(r"total send bytes (\d+)", Path(log).read_text(errors="replace"))
    return int(said[-1]) if said else None


def owners(protocol, given):
    """How each array is held, and by whom."""
    flat, _ = jax.tree_util.tree_flatten(given)
    if protocol == "aby3" or len(given) < 2:
        return [(spu.Visibility.VIS_SECRET, -1)] * len(flat)
    first = len(jax.tree_util.tree_flatten(given[0])[0])
    return [(spu.Visibility.VIS_SECRET, int(i >= first)) for i in range(len(flat))]


def measure(protocol, name, repeat, pipes):
    """Seconds of each run, the opened outputs, and the memory of all parties."""
    io = spu.Io(PARTIES[protocol], config(protocol))
    function, given = program(name)
    flat, _ = jax.tree_util.tree_flatten(given)
    held = owners(protocol, given)
    variables = [f"in{i}" for i in range(len(flat))]
    executable, _ = frontend.compile(
        frontend.Kind.JAX,
        function,
        given,
        {},
        variables,
        [visibility for visibility, _ in held],
        lambda outputs: [f"out{i}" for i in range(len(outputs))],
    )
    shared = [io.make_shares(np.asarray(a), *who) for a, who in zip(flat, held, strict=True)]
    outputs = list(executable.output_names)
    for rank, pipe in enumerate(pipes):
        shares = [(v, s[rank]) for v, s in zip(variables, shared, strict=True)]
        pipe.send((executable.SerializeToString(), shares, outputs, repeat))
    answers = []
    for pipe in pipes:
        if not pipe.poll(PATIENCE):
            raise TimeoutError(f"{name}: no answer within {PATIENCE} s")
        answers.append(pipe.recv())
    opened = io.reconstruct([answer[1][0] for answer in answers])
    return answers[0][0], np.asarray(opened), sum(answer[2] for answer in answers)


def main():
    target, protocol, repeat, *names = sys.argv[1:]
    parties = PARTIES[protocol]
    multiprocessing.set_start_method("spawn")
    logs = [Path(tempfile.mkdtemp()) / f"{rank}.log" for rank in range(parties)]
    ports, pipes, workers = free_ports(parties), [], []
    for rank, log in enumerate(logs):
        ours, theirs = multiprocessing.Pipe()
        given = (protocol, rank, ports, str(log), theirs)
        worker = multiprocessing.Process(target=party, args=given, daemon=True)
        worker.start()
        pipes.append(ours)
        workers.append(worker)
    results = {}
    for name in names:
        seconds, output, memory = measure(protocol, name, int(repeat), pipes)
        bytes_sent = [sent(log) for log in logs]
        results[name] = {
            "seconds": seconds,
            "output": output.tolist() if name.split(":")[0] in networks.NETWORKS else None,
            "bytes": None if None in bytes_sent else max(bytes_sent),
            "memory": memory,
        }
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join(10)
    Path(target).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
