"""Renders the templates of cases.json anew: what jinja2 makes of them, and which variables it
finds in them. A new case needs its template alone. Each sees the variables of variables.json.

    pip install jinja2==3.1.6 && python3 cases.py
"""
import copy
import json
import pathlib

from jinja2.meta import find_undeclared_variables

from reference import environment

here = pathlib.Path(__file__).parent
VARS = json.loads((here / "variables.json").read_text())
env = environment()
cases = []
for template in [c["template"] for c in json.loads((here / "cases.json").read_text())]:
    case = {"template": template}
    try:
        case["text"] = env.from_string(template).render(**copy.deepcopy(VARS))
        case["text"].encode()
        case["reads"] = sorted(find_undeclared_variables(env.parse(template)))
    except Exception as e:
        case = {"template": template, "error": f"{type(e).__name__}: {e}"}
    cases.append(case)
(here / "cases.json").write_text(json.dumps(cases, indent=0, ensure_ascii=False) + "\n")
print(len(cases), "cases,", sum("error" in c for c in cases), "of which are errors")
