# SPDX-License-Identifier: Apache-2.0
"""Man pages of the commands, from what their --help says of their options."""

import json
import pathlib
import re
import subprocess
import sys


def escaped(text):
    """Text for roff: what would be a command or an escape is none, and a hyphen is one that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def sections(discussion):
    """The discussion in parts, each with the title above it; the first has none."""
    parts = [("", [])]
    for line in discussion.split("\n"):
        title = re.fullmatch(r"([A-Z][A-Z ]+):", line)
        if title:
            parts.append((title[1], []))
        else:
            parts[-1][1].append(line)
    return parts


def prose(lines):
    """Paragraphs; what is indented stays as it is."""
    result = []
    is_example = False
    for line in lines:
        if line.startswith("  ") != is_example:
            is_example = not is_example
            result.append(".EX" if is_example else ".EE")
        if line:
            result.append(escaped(line[2:] if is_example else line))
        elif result and result[-1] not in (".PP", ".EE"):
            result.append(".PP")
    if is_example:
        result.append(".EE")
    while result and result[-1] == ".PP":
        result.pop()
    return result


def definitions(lines):
    """Lines of a word and what it means, as a list; what is indented further goes on with the line before."""
    result = []
    for line in lines:
        item = re.fullmatch(r"  (\S+) {2,}(\S.*)", line)
        if item:
            result += [".TP", f"\\fB{escaped(item[1])}\\fR", escaped(item[2])]
        elif line.strip():
            if not line.startswith(" ") and (not result or result[-1] != ".PP"):
                result.append(".PP")
            result.append(escaped(line.strip()))
    return result


def spelling(name):
    return ("-" if name["kind"] != "long" else "--") + name["name"]


def argument_head(argument):
    """The names of an option and its value, or the value of an argument."""
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        return value
    names = ", ".join(f"\\fB{escaped(spelling(name))}\\fR" for name in argument["names"])
    return names if argument["kind"] == "flag" else f"{names} {value}"


def synopsis_item(argument):
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        text = value
    else:
        text = f"\\fB{escaped(spelling(argument['preferredName']))}\\fR"
        if argument["kind"] == "option":
            text += f" {value}"
    if argument["isOptional"]:
        text = f"[{text}]"
    return text + (" ..." if argument["isRepeating"] else "")


def page(command, path, version, siblings):
    """The page of one command."""
    name = "-".join(path)
    lines = [
        f'.TH {escaped(name.upper())} 1 "" "Holdfast {escaped(version)}" "Holdfast"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(command['abstract'].rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{escaped(' '.join(path))}\\fR",
    ]
    shown = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    general = {"help", "version"}
    own = [argument for argument in shown if argument["valueName"] not in general]
    lines += [synopsis_item(argument) for argument in own]
    children = [child for child in command.get("subcommands", []) if child["shouldDisplay"] and child["commandName"] != "help"]
    if children:
        lines.append("\\fIcommand\\fR [\\fIoptions\\fR]")
    parts = sections(command.get("discussion", ""))
    lines.append(".SH DESCRIPTION")
    lines.append(escaped(command["abstract"]))
    if any(parts[0][1]):
        lines += [".PP", *prose(parts[0][1])]
    if children:
        lines.append(".SH COMMANDS")
        for child in children:
            lines += [".TP", f"\\fB{escaped(child['commandName'])}\\fR", escaped(child["abstract"])]
    groups = {}
    for argument in shown:
        title = "ARGUMENTS" if argument["kind"] == "positional" else argument.get("sectionTitle", "Options").upper()
        groups.setdefault(title, []).append(argument)
    for title in sorted(groups, key=lambda title: (title != "ARGUMENTS", title == "OPTIONS")):
        lines.append(f".SH {escaped(title)}")
        for argument in groups[title]:
            meaning = argument.get("abstract", "")
            if "defaultValue" in argument:
                meaning += f" The default is {argument['defaultValue']}."
            lines += [".TP", argument_head(argument), escaped(meaning)]
    for title, content in parts[1:]:
        lines.append(f".SH {escaped(title)}")
        lines += prose(content) if title == "EXAMPLES" else definitions(content)
    if len(path) > 1:
        lines += [".SH EXIT STATUS", "See", "\\fBcrashreport\\fR(1)."]
    lines.append(".SH SEE ALSO")
    others = [other for other in siblings if other != name]
    lines += [f"\\fB{escaped(other)}\\fR(1)" + ("," if other != others[-1] else "") for other in others]
    return "\n".join(lines) + "\n"


def pages(program):
    """All pages of a program, by the names of their files."""
    def output(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    command = json.loads(output("--experimental-dump-help"))["command"]
    version = output("--version").strip()
    root = command["commandName"]
    children = [child for child in command["subcommands"] if child["shouldDisplay"] and child["commandName"] != "help"]
    names = [root] + [f"{root}-{child['commandName']}" for child in children]
    result = {f"{root}.1": page(command, [root], version, names)}
    for child in children:
        path = [root, child["commandName"]]
        result[f"{'-'.join(path)}.1"] = page(child, path, version, names[:1])
    return result


def supervisor_page(program):
    """The page of holdfast, whose --help is text: it reads its options by hand."""
    def output(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    overview = output("--help")
    commands = re.findall(r"^  (\w+) +(\S.*)$", overview, re.M)
    version = output("--version").strip()
    lines = [
        f'.TH HOLDFAST 1 "" "Holdfast {escaped(version)}" "Holdfast"',
        ".SH NAME",
        "holdfast \\- run programs, keep their sockets, and say why they ended",
        ".SH SYNOPSIS",
    ]
    texts = {name: output(name, "--help") for name, _ in commands}
    for name, text in texts.items():
        usage = re.match(r"Usage: holdfast (\w+) (.*)", text)[2]
        lines += [".br"] if name != commands[0][0] else []
        lines.append(f"\\fBholdfast {name}\\fR {escaped(usage)}")
    lines.append(".SH COMMANDS")
    for name, meaning in commands:
        lines += [".TP", f"\\fB{name}\\fR", escaped(meaning)]
    seen = set()
    for name, text in texts.items():
        options = re.findall(r"^  (--[\w-]+)((?: [A-Z=]+)?) {2,}(\S.*(?:\n {8,}\S.*)*)$", text, re.M)
        new = [option for option in options if option[0] not in seen or name == "status" and option[0] in ("--store", "--control")]
        if not new:
            continue
        lines.append(f".SH OPTIONS OF {'RUN' if name == 'run' else 'STATUS AND OTHERS'}")
        for option, value, meaning in new:
            seen.add(option)
            head = f"\\fB{escaped(option)}\\fR" + (f" \\fI{escaped(value.strip())}\\fR" if value else "")
            lines += [".TP", head, escaped(re.sub(r"\n +", " ", meaning))]
    lines += [
        ".SH EXIT STATUS",
        "That of the program, or 128 and the signal that ended it.",
        "64: wrong usage.",
        "69: the supervisor cannot begin, or cannot be reached.",
        "125: it has given up.",
        "126: the program cannot be run.",
        "127: it was not found.",
        "1: an order was refused.",
        ".SH SEE ALSO",
        "\\fBcrashreport\\fR(1)",
    ]
    return "\n".join(lines) + "\n"


def main():
    program, supervisor, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    check = sys.argv[4:] == ["--check"]
    wanted = pages(program) | {"holdfast.1": supervisor_page(supervisor)}
    present = {path.name: path.read_text() for path in folder.glob("*.1")}
    if check:
        for name in sorted(wanted.keys() | present.keys()):
            if wanted.get(name) != present.get(name):
                print(f"{folder / name} is not what the options say: run Tools/man-pages", file=sys.stderr)
        sys.exit(0 if wanted == present else 1)
    folder.mkdir(parents=True, exist_ok=True)
    for name in present.keys() - wanted.keys():
        (folder / name).unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)
    print(f"{len(wanted)} pages in {folder}")


main()
