"""Makes a failing program small: removes statements, scopes, methods and outputs while it fails."""

import ast


def statements(tree):
    """(list that holds it, statement) of all that may go: in functions, in scopes, and methods."""
    found = []
    for node in ast.walk(tree):
        function = isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "inputs")
        if not function and not isinstance(node, (ast.With, ast.ClassDef)):
            continue
        found += [(node.body, s) for s in node.body if not isinstance(s, (ast.Return, ast.Pass))
                  and getattr(s, "name", None) not in ("__init__", "forward")]
    return sorted(found, key=lambda entry: entry[1].lineno)


def without(source, start, stop):
    """The source without some of its statements."""
    tree = ast.parse(source)
    for body, statement in statements(tree)[start:stop]:
        if statement in body:
            body.remove(statement)
        if not body:
            body.append(ast.Pass())
    return ast.unparse(tree) + "\n"


def unwrapped(source, number):
    """The source with one `with` replaced by what is inside it; None if there are fewer."""
    tree = ast.parse(source)
    scopes = [(body, s) for body, s in statements(tree) if isinstance(s, ast.With)]
    if number >= len(scopes):
        return None
    body, scope = scopes[number]
    place = body.index(scope)
    body[place:place + 1] = scope.body
    return ast.unparse(tree) + "\n"


def fewer_outputs(source, number):
    """The source with one element of forward's result left out; None if there are fewer."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            result = node.body[-1].value
            if number < len(result.elts) > 1:
                del result.elts[number]
                return ast.unparse(tree) + "\n"
    return None


class Shrinker:
    def __init__(self, source, fails, attempts):
        self.source, self.fails, self.attempts = source, fails, attempts
        self.shows = None

    def accept(self, smaller):
        """True if the smaller source fails too; it is then the one to go on with."""
        if self.attempts <= 0 or smaller == self.source:
            return False
        self.attempts -= 1
        found = self.fails(smaller)
        if found:
            self.source, self.shows = smaller, found
        return bool(found)

    def remove_statements(self):
        """Halves, quarters, … single ones, from the end: what comes last has no users."""
        progress = False
        piece = len(statements(ast.parse(self.source))) // 2
        while piece:
            stop = len(statements(ast.parse(self.source)))
            while stop > 0:
                start = max(0, stop - piece)
                progress |= self.accept(without(self.source, start, stop))
                stop = min(start, len(statements(ast.parse(self.source))))
            piece //= 2
        return progress

    def remove_each(self, make):
        """`make(source, number)` for each number that it knows."""
        progress, number = False, 0
        while (smaller := make(self.source, number)) is not None:
            if self.accept(smaller):
                progress = True
            else:
                number += 1
        return progress


def shrink(source, fails, attempts=300):
    """(source, what it shows): the smallest found of which `fails` still says something.

    `fails(source)` returns what is wrong, or None when nothing is or the program is not legal.
    Greedy; stops when no step helps, or after so many attempts.
    """
    shrinker = Shrinker(source, fails, attempts)
    progress = True
    while progress:
        progress = shrinker.remove_statements()
        progress |= shrinker.remove_each(unwrapped)
        progress |= shrinker.remove_each(fewer_outputs)
    return shrinker.source, shrinker.shows
