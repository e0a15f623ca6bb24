"""GitHub's expressions, as far as our workflows use them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TOKEN = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||[!=]=|[!(),]|[\w.-]+)")
INSERTED = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)
WORDS = {"true": True, "false": False, "null": None}

Contexts = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]


def text_of(value: object) -> str:
    """A value as it is inserted into a text."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


PURE: Functions = {
    "format": lambda text, *values: text.format(*map(text_of, values)),
    "fromJSON": json.loads,
    "toJSON": lambda value: json.dumps(value, indent=2),
}


class Parser:
    """Evaluates while it reads, by recursive descent; nothing that we use has side effects."""

    def __init__(self, text: str, contexts: Contexts, functions: Functions) -> None:
        self.tokens = TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r"\s+(?=(?:[^']*'[^']*')*[^']*$)", "", text), text
        self.contexts, self.functions = contexts, {**PURE, **functions}

    def accept(self, *tokens: str) -> str | None:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in tokens else None

    def either(self) -> Any:
        value = self.both()
        while self.accept("||"):
            other = self.both()
            value = value or other
        return value

    def both(self) -> Any:
        value = self.comparison()
        while self.accept("&&"):
            other = self.comparison()
            value = value and other
        return value

    def comparison(self) -> Any:
        value = self.single()
        while operator := self.accept("==", "!="):
            value = (value == self.single()) == (operator == "==")
        return value

    def single(self) -> Any:
        if self.accept("!"):
            return not self.single()
        if self.accept("("):
            value = self.either()
            assert self.accept(")")
            return value
        token = self.tokens.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token in WORDS:
            return WORDS[token]
        if token.isdecimal():
            return int(token)
        return self.call(token) if self.accept("(") else self.lookup(token)

    def call(self, name: str) -> Any:
        arguments = []
        while not self.accept(")"):
            arguments.append(self.either())
            self.accept(",")
        return self.functions[name](*arguments)

    def lookup(self, path: str) -> Any:
        first, *rest = path.split(".")
        value = self.contexts[first]  # a context that is not available here is a mistake
        for name in rest:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def evaluate(text: str, contexts: Contexts, functions: Functions = PURE) -> Any:
    """The value of an expression, with or without its braces."""
    parser = Parser(INSERTED.sub(r"\1", text).strip(), contexts, functions)
    value = parser.either()
    assert not parser.tokens, text
    return value


def filled(value: Any, contexts: Contexts) -> Any:
    """A value of a workflow with its expressions evaluated, also those inside it."""
    if isinstance(value, dict):
        return {name: filled(part, contexts) for name, part in value.items()}
    if isinstance(value, list):
        return [filled(part, contexts) for part in value]
    if not isinstance(value, str):
        return value
    if INSERTED.fullmatch(value.strip()):
        return evaluate(value, contexts)
    return INSERTED.sub(lambda found: text_of(evaluate(found[1], contexts)), value)
