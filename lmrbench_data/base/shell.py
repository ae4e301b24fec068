"""Classify the shell commands of agents: finish, edit, run or read.

A command is split at `;`, `&&`, `||`, `|` and line ends. Its kind is the first of these that fits one of its parts:

1. finish: it prints mini-swe-agent's final marker.
2. edit: it writes a file: a redirection or `tee` (not below /dev or /tmp), `sed -i`, `perl -i`, `patch`, `git apply`,
   `cp`, `mv`, `rm`, `mkdir`, `touch`, a formatter and the like; or Python code in the command that writes one.
3. run: any program that is not listed under 4.
4. read: it changes nothing: `cat`, `sed -n`, `grep`, `find`, `ls`, `git diff` and the like.
"""

import itertools
import re
import shlex
from collections.abc import Callable, Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_WRITERS = _words("patch cp mv rm rmdir mkdir touch ln chmod ed ex truncate dd install apply_patch black autopep8")
_GIT_WRITES = _words("apply am checkout restore reset stash commit add rm mv revert merge cherry-pick init")
_GIT_READS = _words("diff log show status grep blame ls-files branch rev-parse config describe")
_READERS = _words(
    """
    cat head tail less more nl tac grep egrep fgrep rg ag find fd ls tree wc stat file du df pwd cd echo printf awk sed
    cut sort uniq tr diff cmp comm column jq which type whereis env printenv export set id whoami uname date basename
    dirname realpath readlink true false : test [ sleep hexdump xxd od strings md5sum sha256sum seq paste fold pushd
    popd hostname nproc free history man help ulimit read
    """
)
#: Words that may precede a program.
_PREFIXES = _words("sudo time timeout nice nohup env command exec xargs then do else if while until ! { (")
_BLOCK_WORDS = _words("fi done } ) esac for case in function")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_ASSIGNMENT = re.compile(r"\w+=")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
#: Python code that writes a file.
_PYTHON_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.write(?:_text|_bytes|lines)?\(|open\([^)]*,\s*(?:mode\s*=\s*)?['\"][rb+t]*[wax]"
    r"|shutil\.(?:copy|move|rmtree)|os\.(?:remove|rename|replace|unlink)\("
)
_PYTHON = re.compile(r"python[\d.]*|ipython")
_SHELLS = _words("sh bash dash zsh")
_SCRIPT = re.compile(r"-[a-z]*c")
#: Python code that starts another program.
_STARTS_PROGRAM = re.compile(r"\bos\.system\(|\bsubprocess\.|\bget_ipython\(")
_REDIRECTIONS = frozenset({">", ">>", "&>", "&>>", ">|"})
_SEPARATORS = frozenset({";", "&&", "||", "|", "|&", "&", ";;", "\n"})


def kind_of(command: str) -> str:
    """Classify a command as `finish`, `edit`, `run` or `read`; an empty one is `run`."""
    if FINISH in command:
        return "finish"
    return _kind_of_all(command, _is_kept)


def may_write(command: str, name: str) -> bool:
    """Return whether a command that names a file may change it; redirections count only into a file of that name."""
    return _kind_of_all(command, lambda target: _base(target) == name) == "edit"


def cell_may_write(cell: str, name: str) -> bool:
    """Return whether an IPython cell that names a file may change it, in Python or by a shell command."""
    magic, _, body = cell.lstrip().partition("\n")
    if magic.startswith("%%"):
        return may_write(body, name)
    shell = (line.lstrip()[1:] for line in cell.splitlines() if line.lstrip().startswith("!"))
    in_python = _PYTHON_WRITES.search(cell) or _STARTS_PROGRAM.search(cell)
    return bool(in_python) or any(may_write(command, name) for command in shell)


def _kind_of_all(command: str, is_written: Callable[[str], bool]) -> str:
    kinds = {_kind(words, command, is_written) for words in _parts(command)}
    return next((kind for kind in ("edit", "run", "read") if kind in kinds), "run")


def _parts(command: str) -> Iterator[list[str]]:
    """Split a command into simple commands, as words; a redirection is a word of its own."""
    for line in _without_heredocs(command):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>\n")
        lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t", ""
        words: list[str] = []
        try:
            for word in lexer:
                if word in _SEPARATORS or not word.strip("\n"):
                    yield words
                    words = []
                else:
                    words.append(word)
        except ValueError:  # a quote that is not closed: the words before it count
            pass
        yield words


def _without_heredocs(command: str) -> Iterator[str]:
    """Drop here-documents and comment lines from a command."""
    lines = iter(command.replace("\\\n", " ").split("\n"))
    kept = []
    for line in lines:
        if line.lstrip().startswith("#"):
            continue
        kept.append(line)
        for _, word in _HEREDOC.findall(line):
            for text in lines:
                if text.strip() == word:
                    break
    yield "\n".join(kept)


def _kind(words: list[str], command: str, is_written: Callable[[str], bool]) -> str | None:
    """Classify a simple command; None if there is none.

    Args:
        is_written: whether output into this file counts as an edit.
    """
    if any(word in _REDIRECTIONS and is_written(target) for word, target in itertools.pairwise(words)):
        return "edit"
    words = _program(words)
    if not words:
        return None
    name, rest = _base(words[0]), words[1:]
    if name == "tee":
        return "edit" if any(is_written(word) for word in rest if not word.startswith("-")) else "read"
    if name in _WRITERS:
        return "edit"
    if name in ("sed", "perl", "gsed") and any(_IN_PLACE.match(word) for word in rest if word.startswith("-")):
        return "edit"
    if name == "find" and ("-delete" in rest or ("-exec" in rest and {"rm", "sed"} & set(rest))):
        return "edit"
    if name == "git":
        verb = next((word for word in rest if not word.startswith("-")), "")
        return "edit" if verb in _GIT_WRITES else "read" if verb in _GIT_READS else "run"
    if name in _SHELLS:
        inner = next((script for option, script in itertools.pairwise(rest) if _SCRIPT.fullmatch(option)), "")
        inner = command.partition("\n")[2] if "<<" in rest else inner
        return _kind_of_all(inner, is_written)
    if _PYTHON.fullmatch(name):
        own_code = "-c" in rest or "<<" in command
        return "edit" if own_code and _PYTHON_WRITES.search(command) else "run"
    return "read" if name in _READERS else "run"


def _is_kept(target: str) -> bool:
    """Return whether a target of output is a file that stays."""
    return not target.startswith(("&", "/dev/", "/tmp/"))


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _program(words: list[str]) -> list[str]:
    """Drop prefixes and assignments from the words of a command, so that the program comes first."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in _BLOCK_WORDS:
            return []  # of a loop or a branch; its body is a part of its own
        if word in _PREFIXES:
            place += 1
            # Options of the prefix, and the limit of `timeout`.
            while place < len(words) and (words[place].startswith("-") or words[place][:1].isdigit()):
                place += 1
        elif _ASSIGNMENT.match(word):
            place += 1
        else:
            first = word.lstrip("({")
            return [first, *words[place + 1 :]] if first and not word.startswith("#") else []
    return []
