"""The description of the service's HTTP, at one place."""

from __future__ import annotations

from typing import Any

from .._tacit import __version__
from .refusals import STATUS
from .wire import LENGTH

MODEL = "/v2/models/{model}"
VERSION = MODEL + "/versions/{version}"


def document() -> dict[str, Any]:
    """The description, as OpenAPI 3.1."""
    paths: dict[str, Any] = {
        "/v2": {"get": _get("What this server is", "Server", (401,))},
        "/v2/health/live": {"get": _get("Whether the process answers", "Live", ())},
        "/v2/health/ready": {"get": _get("Whether all models can be asked", "Ready", (503,))},
        "/metrics": {"get": _text("Counters for Prometheus", (401, 403))},
        "/openapi.json": {"get": _get("This description", "Anything", ())},
    }
    for path, names in ((MODEL, ("model",)), (VERSION, ("model", "version"))):
        refused = (401, 403, 404)
        paths[path] = {"get": _get("A model, and what shares of it are", "Model", refused, names)}
        ready = _get("Whether a model can be asked", "Ready", (*refused, 503), names)
        paths[path + "/ready"] = {"get": ready}
        paths[path + "/infer"] = {"post": _infer(names)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit",
            "version": __version__,
            "description": "Private prediction, by the Open Inference Protocol v2. A client shares "
            "its input among all parties and posts one share to each of them, under one id; it "
            "puts their answers together. No party sees the input or the answer.",
        },
        "paths": paths,
        "security": [{}, {"key": []}],
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": SCHEMAS,
        },
    }


def _get(words: str, schema: str, refused: tuple[int, ...], names: tuple[str, ...] = ()) -> Any:
    content = {"application/json": {"schema": _ref(schema)}}
    return _operation(words, {"200": {"description": words, "content": content}}, refused, names)


def _text(words: str, refused: tuple[int, ...]) -> Any:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return _operation(words, {"200": {"description": words, "content": content}}, refused, ())


def _infer(names: tuple[str, ...]) -> Any:
    words = (
        "One party's share of a prediction: a header of JSON (RequestHeader), then the share's "
        "bytes. The answer has the same form (AnswerHeader). The same request again is answered "
        "again and counted once."
    )
    binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    length = {"schema": {"type": "integer"}, "description": "Bytes of the header of JSON"}
    answer = {"description": "This party's share", "headers": {LENGTH: length}, "content": binary}
    refused = sorted({status for code, status in STATUS.items() if code != "no-such-method"})
    found = _operation("Predicts", {"200": answer}, tuple(refused), names)
    found["description"] = words
    found["parameters"].append(
        {"name": LENGTH, "in": "header", "required": True, "schema": {"type": "integer"}}
    )
    found["requestBody"] = {"required": True, "content": binary}
    return found


def _operation(
    words: str, responses: dict[str, Any], refused: tuple[int, ...], names: tuple[str, ...]
) -> dict[str, Any]:
    content = {"application/json": {"schema": _ref("Error")}}
    for status in refused:
        codes = ", ".join(code for code, number in STATUS.items() if number == status)
        responses[str(status)] = {"description": codes or "refused", "content": content}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    return {"summary": words, "parameters": parameters, "responses": responses}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    named = list(properties) if required is None else required
    return {"type": "object", "required": named, "properties": properties}


TEXT = {"type": "string"}
HEX_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
WHOLE = {"type": "integer", "minimum": 0}
TENSOR = _object(
    name={"const": "share"},
    datatype={"const": "UINT8"},
    shape={"type": "array", "items": WHOLE, "minItems": 1, "maxItems": 1},
    parameters=_object(binary_data_size=WHOLE),
)
ONE_TENSOR = {"type": "array", "items": TENSOR, "minItems": 1, "maxItems": 1}
NAMED = _object(name=TEXT, datatype=TEXT, shape={"type": "array", "items": {"type": "integer"}})
SCHEMAS: dict[str, Any] = {
    "Anything": {"type": "object"},
    "Server": _object(
        ["name", "version", "extensions"],
        name=TEXT,
        version=TEXT,
        extensions={"type": "array", "items": TEXT},
        models={"type": "array", "items": _object(name=TEXT, version=TEXT)},
    ),
    "Live": _object(live={"type": "boolean"}),
    "Ready": _object(["ready"], ready={"type": "boolean"}, models={"type": "object"}),
    "Model": _object(
        name=TEXT,
        versions={"type": "array", "items": TEXT},
        platform={"const": "tacit"},
        inputs={"type": "array", "items": NAMED},
        outputs={"type": "array", "items": NAMED},
        parameters={"type": "object", "description": "What a client needs to share its input"},
    ),
    "RequestHeader": _object(
        id=HEX_ID,
        inputs=ONE_TENSOR,
        parameters=_object(items={"type": "integer", "minimum": 1}, session=TEXT),
    ),
    "AnswerHeader": _object(
        model_name=TEXT,
        model_version=TEXT,
        id=HEX_ID,
        outputs=ONE_TENSOR,
        parameters=_object(session=TEXT, digest=TEXT, party=WHOLE, seconds={"type": "number"}),
    ),
    "Error": _object(
        ["error", "code"],
        error=TEXT,
        code={"type": "string", "enum": list(STATUS)},
        request=TEXT,
        retry_after={"type": "number"},
    ),
}
