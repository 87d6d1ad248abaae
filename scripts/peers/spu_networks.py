"""Measures the benchmark networks in SecretFlow SPU: ABY3, FM64, three processes on loopback.

    spu_networks.py RESULT.json BATCH REPEAT NETWORK...

Runs in an environment that has spu and jax (see `scripts/bench_peers.py`). Inputs and weights
are secret; the time is that of the evaluation on shares, without sharing and opening.
"""

import json
import multiprocessing
import socket
import sys
import time
from pathlib import Path

import jax
import numpy as np
import spu
from jax import lax
from spu.utils import frontend

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import networks

PARTIES = 3
PATIENCE = 600


def config():
    """ABY3 over the 64-bit ring."""
    return spu.RuntimeConfig(protocol=spu.ProtocolKind.ABY3, field=spu.FieldType.FM64)


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


def party(rank, ports, pipe):
    """One party's process: runs what it is sent until it is sent None."""
    link = spu.link.Desc()
    link.recv_timeout_ms = link.http_timeout_ms = PATIENCE * 1000
    for i, port in enumerate(ports):
        link.add_party(f"party{i}", f"127.0.0.1:{port}")
    context = spu.link.create_brpc(link, rank)
    runtime = spu.Runtime(context, config())
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
        pipe.send((seconds, [runtime.get_var(o) for o in outputs]))


def measure(name, batch, repeat, pipes):
    """Seconds of each run, and the opened outputs."""
    io = spu.Io(PARTIES, config())
    given = arguments(name, batch)
    flat, _ = jax.tree_util.tree_flatten(given)
    variables = [f"in{i}" for i in range(len(flat))]
    executable, _ = frontend.compile(
        frontend.Kind.JAX,
        network(name),
        given,
        {},
        variables,
        [spu.Visibility.VIS_SECRET] * len(flat),
        lambda outputs: [f"out{i}" for i in range(len(outputs))],
    )
    shared = [io.make_shares(np.asarray(array), spu.Visibility.VIS_SECRET) for array in flat]
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
    return answers[0][0], np.asarray(opened)


def main():
    target, batch, repeat, *names = sys.argv[1:]
    multiprocessing.set_start_method("spawn")
    ports, pipes, workers = free_ports(PARTIES), [], []
    for rank in range(PARTIES):
        ours, theirs = multiprocessing.Pipe()
        worker = multiprocessing.Process(target=party, args=(rank, ports, theirs), daemon=True)
        worker.start()
        pipes.append(ours)
        workers.append(worker)
    results = {}
    for name in names:
        seconds, output = measure(name, int(batch), int(repeat), pipes)
        results[name] = {"seconds": seconds, "output": output.tolist()}
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join(10)
    Path(target).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
