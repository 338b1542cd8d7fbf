"""jinja2 as transformers sets it up, but with the plain sandbox: templates append to lists.

Used by cases.py here and by tools/templates.
"""
import json
from datetime import datetime

import jinja2
import jinja2.sandbox
from jinja2 import nodes
from jinja2.ext import Extension


class Generation(Extension):
    """{% generation %} marks what an assistant writes. It changes nothing of the text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_write"), [], [], body).set_lineno(line)

    def _write(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


NOW = datetime(2026, 3, 4, 17, 5, 9, 81)


def environment(cls=jinja2.sandbox.SandboxedEnvironment):
    env = cls(trim_blocks=True, lstrip_blocks=True,
              extensions=[Generation, "jinja2.ext.loopcontrols", "jinja2.ext.do"])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env
