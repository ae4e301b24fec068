"""Classify the shell commands of agents as finish, edit, run or read, by the first word of each of their parts.

A command is split at `;`, `&&`, `||`, `|` and line ends. It is `finish` if it prints mini-swe-agent's final marker,
else the first of these that fits a part: `edit`, it writes a file (a redirection or `tee`, not below /dev or /tmp, a
program that changes files, or Python code in the command that writes one); `run`, any other program; `read`, no change.
"""

import itertools
import re
import shlex
from collections.abc import Iterator

FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WRITERS = _words("patch cp mv rm rmdir mkdir touch ln chmod ed ex truncate dd install apply_patch black autopep8")
_READERS = _words(
    """
    cat head tail less more nl tac grep egrep fgrep rg ag find fd ls tree wc stat file du df pwd cd echo printf awk sed
    cut sort uniq tr diff cmp comm column jq which type whereis env printenv export set id whoami uname date basename
    dirname realpath readlink true false : test [ sleep hexdump xxd od strings md5sum sha256sum seq paste fold hostname
    nproc free history man help ulimit read tee
    """
)
_GIT_WRITES = _words("apply am checkout restore reset stash commit add rm mv revert merge cherry-pick init")
_GIT_READS = _words("diff log show status grep blame ls-files branch rev-parse config describe")
#: Words that may stand before a program.
_PREFIXES = _words("sudo time timeout nice nohup env command exec xargs then do else if while until ! { (")
_BLOCKS = _words("fi done } ) esac for case in function")
_BEFORE = re.compile(r"\w+=|-|\d")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
#: Python code that writes a file.
_PYTHON_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.write(?:_text|_bytes|lines)?\(|open\([^)]*,\s*(?:mode\s*=\s*)?['\"][rb+t]*[wax]"
    r"|shutil\.(?:copy|move|rmtree)|os\.(?:remove|rename|replace|unlink)\("
)


def kind_of(command: str) -> str:
    """Classify a command as `finish`, `edit`, `run` or `read`; an empty one is `run`."""
    if FINISH in command:
        return "finish"
    kinds = {_kind(words, command) for words in _parts(command)}
    return next((kind for kind in ("edit", "run", "read") if kind in kinds), "run")


def _parts(command: str) -> Iterator[list[str]]:
    """Split a command, without here-documents and comments, into simple commands; a redirection is a word."""
    text = _COMMENT.sub("", _HEREDOC.sub(r"\3", command.replace("\\\n", " ")))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t", ""
    words: list[str] = []
    try:
        for word in lexer:
            if word.strip(";&|\n"):
                words.append(word)
            else:
                yield words
                words = []
    except ValueError:  # a quote that is not closed: the words before it count
        pass
    yield words


def _kind(words: list[str], command: str) -> str | None:
    """Classify a simple command; None if there is no program."""
    if any(word in (">", ">>", "&>", "&>>", ">|") and _is_kept(name) for word, name in itertools.pairwise(words)):
        return "edit"
    words = list(itertools.dropwhile(lambda word: word in _PREFIXES or _BEFORE.match(word), words))
    if not words or words[0] in _BLOCKS:  # the body of a loop or branch is a part of its own
        return None
    name, rest = words[0].lstrip("({").rpartition("/")[2], words[1:]
    if name in _WRITERS or (name == "tee" and any(map(_is_kept, rest))) or (name == "find" and "-delete" in rest):
        return "edit"
    if name in ("sed", "perl") and any(map(_IN_PLACE.match, rest)):
        return "edit"
    if name.startswith(("python", "ipython")) and ("-c" in rest or "<<" in command) and _PYTHON_WRITES.search(command):
        return "edit"
    if name == "git":
        verb = next((word for word in rest if not word.startswith("-")), "")
        return "edit" if verb in _GIT_WRITES else "read" if verb in _GIT_READS else "run"
    return "read" if name in _READERS else "run"


def _is_kept(target: str) -> bool:
    """Return whether output into this file stays."""
    return not target.startswith(("-", "&", "/dev/", "/tmp/"))
