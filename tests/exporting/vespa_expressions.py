"""Vespa's ranking expressions, read by its grammar and computed in ``double``, and its importer of XGBoost.

``if (condition, yes, no)``, ``! < >=``, ``+ - * /`` with their precedence, numbers, and rank features by their text.
"""

import json
import re

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|([A-Za-z_@][\w@$]*)|(<=|>=|==|[-+*/()<>!,.\"]))")


class Expression:
    def __init__(self, text):
        self.text, self.tokens, place = text, [], 0
        while text[place:].strip():
            match = TOKEN.match(text, place)
            assert match, f"no token at {text[place : place + 20]!r}"
            self.tokens.append(match)
            place = match.end()
        self.at = 0

    def value_of(self, features):
        self.features, self.at = features, 0
        value = self.comparison()
        assert self.at == len(self.tokens), "something follows the expression"
        return value

    def peek(self):
        return self.tokens[self.at][0].strip() if self.at < len(self.tokens) else None

    def take(self, *wanted):
        found = self.peek()
        assert not wanted or found in wanted, f"expected {wanted}, found {found!r}"
        self.at += 1
        return found

    def comparison(self):
        left = self.sum()
        if self.peek() in ("<", ">="):
            operator, right = self.take(), self.sum()
            return left < right if operator == "<" else left >= right
        return left

    def sum(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            operator, other = self.take(), self.product()
            value = value + other if operator == "+" else value - other
        return value

    def product(self):
        value = self.single()
        while self.peek() in ("*", "/"):
            operator, other = self.take(), self.single()
            value = value * other if operator == "*" else value / other
        return value

    def single(self):
        if self.peek() == "-":
            self.take()
            return -self.single()
        if self.peek() == "!":
            self.take()
            return not self.single()
        if self.peek() == "(":
            self.take()
            value = self.comparison()
            self.take(")")
            return value
        if self.tokens[self.at][1]:
            return float(self.take())
        if self.peek() == "if":
            return self.condition()
        return self.feature()

    def condition(self):
        self.take("if")
        self.take("(")
        condition = self.comparison()
        self.take(",")
        yes = self.comparison()
        self.take(",")
        no = self.comparison()
        self.take(")")
        return yes if condition else no

    def feature(self):
        """The text of a rank feature: a name, arguments in parentheses, and outputs after dots."""
        start = self.at
        assert self.tokens[start][2], f"expected a rank feature, found {self.peek()!r}"
        self.at += 1
        if self.peek() == "(":
            depth = 0
            while True:
                depth += {"(": 1, ")": -1}.get(self.take(), 0)
                if not depth:
                    break
        while self.peek() == ".":
            self.at += 2
        first, last = self.tokens[start], self.tokens[self.at - 1]
        return self.features[self.text[first.start() : last.end()].strip()]


def of_xgboost_json(text):
    """The ranking expression that Vespa makes of XGBoost's JSON; a field that its reader lacks is refused."""
    trees = json.loads(text)
    assert trees
    return " + \n".join(map(_of_node, trees))


def _of_node(node):
    known = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "leaf", "children"}
    assert set(node) <= known, "unrecognised field"
    if "children" not in node:
        return repr(node["leaf"])
    yes, no = node["children"] if node["yes"] == node["children"][0]["nodeid"] else node["children"][::-1]
    name, limit = node["split"], node["split_condition"]
    is_missing_left = node["missing"] == node["yes"]
    condition = f"!({name} >= {limit!r})" if is_missing_left else f"{name} < {limit!r}"
    return f"if ({condition}, {_of_node(yes)}, {_of_node(no)})"
