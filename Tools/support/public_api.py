# SPDX-License-Identifier: Apache-2.0
"""Counts the public declarations that a program sees which imports a product, from symbol graphs. See Tools/public-api."""
import json
import pathlib
import re
import sys

# What a product shows, and how many declarations that may be.
PRODUCTS = {"Holdfast": 400, "CrashReports": 300}


def exports(sources: pathlib.Path, folder: str) -> dict[str, set[str]]:
    """The modules that a folder's files re-export, each with the types; none where it is the whole module."""
    found = {}
    for file in (sources / folder).rglob("*.swift"):
        text = file.read_text()
        for module in re.findall(r"^@_exported\s+(?:public\s+)?import\s+(\w+)$", text, re.M):
            found[module] = set()
        for module, name in re.findall(r"^@_exported\s+(?:public\s+)?import\s+struct\s+(\w+)\.(\w+)$", text, re.M):
            found.setdefault(module, set()).add(name)
    # Somebody else's.
    found.pop("SystemPackage", None)
    return found


def symbols(graphs: pathlib.Path, module: str) -> list[tuple[str, str]]:
    """Kind and path of each declaration of a module's own, and of its extensions of other modules."""
    found = {}
    files = [graphs / f"{module}.symbols.json", *sorted(graphs.glob(f"{module}@*.symbols.json"))]
    if not files[0].exists():
        sys.exit(f"no symbol graph of {module} in {graphs}")
    for file in files:
        for symbol in json.loads(file.read_text())["symbols"]:
            identifier = symbol["identifier"]["precise"]
            if "::SYNTHESIZED::" in identifier:
                continue
            # What a conformance asks for, and the compiler wrote: nobody looks it up here.
            path = ".".join(symbol["pathComponents"])
            if re.search(r"\.(==|!=|hash\(into:\)|hashValue|encode\(to:\)|init\(from:\))", path) or path.endswith(".!=(_:_:)"):
                continue
            found[identifier] = (symbol["kind"]["identifier"].removeprefix("swift."), path)
    return sorted(found.values(), key=lambda entry: entry[1])


def main() -> None:
    graphs, sources, listing = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == "yes"
    failures = 0
    for product, limit in PRODUCTS.items():
        folder = "Reports" if product == "CrashReports" else product
        shown = {product: symbols(graphs, product)}
        for module, names in sorted(exports(sources, folder).items()):
            shown[module] = [
                entry for entry in symbols(graphs, module) if not names or entry[1].split(".")[0] in names
            ]
        total = sum(len(entries) for entries in shown.values())
        parts = ", ".join(f"{module} {len(entries)}" for module, entries in shown.items())
        print(f"    {product}: {total} public declarations ({parts}); {limit} is the aim")
        failures += total > limit
        if listing:
            for module, entries in shown.items():
                for kind, path in entries:
                    print(f"{module}\t{kind}\t{path}")
    sys.exit(1 if failures else 0)


main()
