"""Classify shell commands: finish, edit, run or read. For agents whose every action is one command.

A command is split at `;`, `&&`, `||`, `|` and line ends. Its kind is the first of these that fits one of its parts:

1. finish: it prints mini-swe-agent's last word.
2. edit: it writes a file: a redirection or `tee` (not below /dev or /tmp), `sed -i`, `perl -i`, `patch`, `git apply`
   and the like, `cp`, `mv`, `rm`, `mkdir`, `touch`; or Python code in the command itself that writes one.
3. run: any other program but those of 4.
4. read: it changes nothing: `cat`, `sed -n`, `grep`, `find`, `ls`, `git diff` and the like.
"""

import re
import shlex
from collections.abc import Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_WRITERS = _words("patch cp mv rm rmdir mkdir touch ln chmod ed ex truncate dd install")
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
#: Words that precede a program: how, or on what condition, it runs.
_PREFIXES = _words("sudo time timeout nice nohup env command exec xargs then do else if while until ! { (")
_BLOCK_WORDS = _words("fi done } ) esac for case in function")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_ASSIGNMENT = re.compile(r"\w+=")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
#: Python code in a command that writes a file.
_PYTHON_WRITES = re.compile(
    r"(?<!stdout)(?<!stderr)\.write(?:_text|_bytes|lines)?\(|open\([^)]*,\s*(?:mode\s*=\s*)?['\"][rb+t]*[wax]"
    r"|shutil\.(?:copy|move|rmtree)|os\.(?:remove|rename|replace|unlink)\("
)
_PYTHON = re.compile(r"python[\d.]*|ipython")
_SEPARATORS = frozenset({";", "&&", "||", "|", "|&", "&", ";;", "\n"})


def kind_of(command: str) -> str:
    """`finish`, `edit`, `run` or `read`; an empty command reads nothing and is `run`."""
    if FINISH in command:
        return "finish"
    kinds = {_part(words, command) for words in _parts(command)}
    return next((kind for kind in ("edit", "run", "read") if kind in kinds), "run")


def _parts(command: str) -> Iterator[list[str]]:
    """The simple commands, as words; redirections are words of their own."""
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
        except ValueError:  # a quote that is not closed: what could be read counts
            pass
        yield words


def _without_heredocs(command: str) -> Iterator[str]:
    """The command without the text that it feeds to programs, and without lines that are comments."""
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


def _part(words: list[str], command: str) -> str | None:
    """The kind of a simple command; None if there is no command."""
    if any(_writes(word, words[place + 1 :]) for place, word in enumerate(words)):
        return "edit"
    words = _program(words)
    if not words:
        return None
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "tee":
        return "edit" if any(_is_file(word) for word in rest if not word.startswith("-")) else "read"
    if name in _WRITERS:
        return "edit"
    if name in ("sed", "perl", "gsed") and any(_IN_PLACE.match(word) for word in rest if word.startswith("-")):
        return "edit"
    if name == "find" and ("-delete" in rest or ("-exec" in rest and {"rm", "sed"} & set(rest))):
        return "edit"
    if name == "git":
        verb = next((word for word in rest if not word.startswith("-")), "")
        return "edit" if verb in _GIT_WRITES else "read" if verb in _GIT_READS else "run"
    if _PYTHON.fullmatch(name):
        own_code = "-c" in rest or "<<" in command
        return "edit" if own_code and _PYTHON_WRITES.search(command) else "run"
    return "read" if name in _READERS else "run"


def _writes(word: str, after: list[str]) -> bool:
    """Whether a word redirects output into a file."""
    if word not in (">", ">>", "&>", "&>>", ">|"):
        return False
    return bool(after) and _is_file(after[0])


def _is_file(target: str) -> bool:
    """Whether a target of output is a file that stays."""
    return not target.startswith(("&", "/dev/", "/tmp/"))


def _program(words: list[str]) -> list[str]:
    """The words of a command without prefixes and assignments: the program comes first."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in _BLOCK_WORDS:
            return []  # of a loop or a branch; what it holds is a part of its own
        if word in _PREFIXES:
            place += 1
            # What belongs to the prefix: options, and the limit of `timeout`.
            while place < len(words) and (words[place].startswith("-") or words[place][:1].isdigit()):
                place += 1
        elif _ASSIGNMENT.match(word):
            place += 1
        else:
            first = word.lstrip("({")
            return [first, *words[place + 1 :]] if first and not word.startswith("#") else []
    return []
