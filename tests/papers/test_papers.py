"""PDFs: fetched from a server with faults, added by hand, and read: columns, hyphens, formulas, what cannot be read."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from lmrbench.generation.paper_texts import paper_text
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.papers import fetch
from lmrbench_data.papers.fetch import TRIES, PaperStore, fetch_missing, fetch_pdf, paper_key
from lmrbench_data.papers.parse import parse_pdf
from support.command_line import Done, in_process
from support.openai_server import Reply, Request, Server

LEFT = "The left column comes first and has a word that is bro-\nken by its end. It says what the method does."
RIGHT = "The right column follows. Its eﬃcient ﬁrst ligatures are letters again, once they were read from the page."


def paper_pdf(pages: int = 1, **save: Any) -> bytes:
    """Two columns under a title, a formula, a footnote, a figure."""
    document = pymupdf.open()
    for number in range(pages):
        page = document.new_page()
        page.insert_text((60, 60), f"A Method, Part {number + 1}", fontsize=20)
        page.insert_textbox((60, 90, 290, 300), LEFT, fontsize=10)
        page.insert_htmlbox((310, 90, 540, 300), RIGHT)
        page.insert_text((60, 320), "L(x) = -log s(b (u - v))    (1)", fontsize=11)
        page.draw_rect((310, 320, 400, 400))
        page.insert_text((60, 780), "1 A footnote in small letters.", fontsize=7)
    document.set_metadata({"title": "A Method"})
    return bytes(document.tobytes(**save))


def scan() -> bytes:
    document = pymupdf.open()
    document.new_page().draw_rect((50, 50, 200, 200))
    return bytes(document.tobytes())


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    path = tmp_path / "paper.pdf"
    path.write_bytes(paper_pdf(3))
    return path


def test_columns_hyphens_and_sizes(pdf: Path) -> None:
    parsed = json.loads(parse_pdf(pdf, "1"))
    assert parsed["title"] == "A Method"
    [page] = parsed["pages"]
    lines = [line for block in page["blocks"] for line in block["lines"]]
    text = " ".join(line["text"] for line in lines)
    assert "broken by its end" in text
    assert "efficient first ligatures" in text
    assert text.index("A Method, Part 1") < text.index("left column") < text.index("right column")
    assert "L(x) = -log s(b (u - v)) (1)" in " ".join(text.split())
    assert {line["text"]: line["size"] for line in lines}["A Method, Part 1"] == 20.0


def test_pages_are_chosen(pdf: Path) -> None:
    text = parse_pdf(pdf, "2-3")
    assert "Part 1" not in text
    assert "Part 2" in text
    for pages in ("0", "3-2", "1-", "x", "1;2"):
        with pytest.raises(InputError, match="expected numbers and ranges"):
            parse_pdf(pdf, pages)
    with pytest.raises(InputError, match="has only 3 pages"):
        parse_pdf(pdf, "2-9")


BAD = {
    "encrypted": (lambda: paper_pdf(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="x"), "is encrypted"),
    "damaged": (lambda: b"%PDF-1.7\n" + b"\0garbage" * 100, "is damaged or not a PDF|no text|only 0 pages"),
    "a scan": (scan, "contains no text"),
    "no PDF": (lambda: b"<html>Please log in</html>", "is damaged or not a PDF"),
}


@pytest.mark.parametrize("name", BAD)
def test_unreadable_pdf_is_one_line(name: str, tmp_path: Path) -> None:
    make, message = BAD[name]
    path = tmp_path / "bad.pdf"
    path.write_bytes(make())
    with pytest.raises(InputError, match=message) as caught:
        parse_pdf(path)
    assert "\n" not in str(caught.value)


# --- fetching ---------------------------------------------------------------------------------------------------------


class PdfServer(Server):
    """Serves one PDF; `script` holds what goes wrong first."""

    def __init__(self) -> None:
        super().__init__()
        self.pdf = paper_pdf()
        self.url = f"{self.endpoint}/paper.pdf"

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.script.pop(0) if self.script else Reply(body=self.pdf)


def anywhere(url: str) -> bool:
    return True


@pytest.fixture
def server() -> Iterator[PdfServer]:
    with PdfServer() as running:
        yield running


def test_faults_are_retried_and_refusals_are_one_line(server: PdfServer) -> None:
    server.script = [Reply(503, {}), Reply(body=server.pdf, cut=99)]
    assert fetch_pdf(server.url, anywhere) == server.pdf
    assert len(server.requests) == 3
    server.script = [Reply(body=b"<html>Please wait</html>")]
    with pytest.raises(InputError, match="serves a web page instead of a PDF; `lmrbench papers add"):
        fetch_pdf(server.url, anywhere)
    server.script = [Reply(404, {})]
    with pytest.raises(InputError, match="HTTP 404"):
        fetch_pdf(server.url, anywhere)
    server.script = [Reply(500, {})] * TRIES
    with pytest.raises(InfraError, match=f"HTTP 500, after {TRIES} attempts"):
        fetch_pdf(server.url, anywhere)


def test_huge_file_is_refused_while_it_arrives(server: PdfServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 2**20)
    server.script = [Reply(body=b"%PDF-" + bytes(2**24))]
    tracemalloc.start()
    with pytest.raises(InputError, match="larger than 1 MiB"):
        fetch_pdf(server.url, anywhere)
    assert tracemalloc.get_traced_memory()[1] < 2**24 * 2.5, "the server's own copies count"
    tracemalloc.stop()
    server.script = [Reply(body=server.pdf, cut=99)] * TRIES
    with pytest.raises(InfraError, match="breaks the connection off"):
        fetch_pdf(server.url, anywhere)


def test_redirect_into_the_users_network_is_refused(server: PdfServer) -> None:
    away = Reply(302, {}, {"Location": "/other.pdf"})
    server.script = [away]
    assert fetch_pdf(server.url, anywhere) == server.pdf
    server.script = [away]
    with pytest.raises(InputError, match=r"redirects to http://127.*, which is not an https address of a public host"):
        fetch_pdf(server.url, lambda url: url == server.url)
    with pytest.raises(InputError, match="is not an https address of a public host"):
        fetch_pdf(server.url)


def test_each_unreachable_server_is_asked_once(tmp_path: Path) -> None:
    urls = ["https://papers.invalid/1.pdf", "https://papers.invalid/2.pdf", "https://others.invalid/last.pdf"]
    papers = {str(number): {"arxiv_id": "", "paper_url": url} for number, url in enumerate(urls)}
    first, second, third = fetch_missing(PaperStore(tmp_path), papers).problems.values()
    assert first is second
    assert str(first).startswith("papers.invalid cannot be reached (")
    assert str(third).startswith("others.invalid cannot be reached (")


def test_changed_pdf_is_refused(tmp_path: Path) -> None:
    store = PaperStore(tmp_path)
    first = store.put("key", b"%PDF-1", "somewhere")
    assert store.sha256("key") == first == hashlib.sha256(b"%PDF-1").hexdigest()
    with pytest.raises(InputError, match="differs from the PDF stored for key before"):
        store.put("key", b"%PDF-2", "elsewhere")
    store.path("key").write_bytes(b"%PDF-3")
    with pytest.raises(InputError, match="changed since it was stored"):
        store.sha256("key")


def test_a_pdf_goes_from_a_file_into_a_prompt(
    pdf: Path, toy_row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMRBENCH_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="toy-scale: its PDF is missing; run `lmrbench papers fetch toy-scale`"):
        paper_text(toy_row, "pdf-json")
    PaperStore().put(paper_key(toy_row), pdf.read_bytes(), "a test")
    text = paper_text(toy_row, "pdf-json", "1")
    assert "A Method, Part 1" in text
    PaperStore().path(paper_key(toy_row)).chmod(0o444)
    assert paper_text(toy_row, "pdf-json", "1") == text, "from the cache"
    assert "Part 2" in paper_text(toy_row, "pdf-json")


def test_commands_add_and_refuse(pdf: Path, toy_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMRBENCH_CACHE", str(tmp_path / "cache"))

    def run(*arguments: str) -> Done:
        return in_process("papers", *arguments, "--dataset", str(toy_dataset))

    assert run("add", "toy-scale", str(pdf)).returncode == 0
    [stored] = (tmp_path / "cache" / "papers").glob("*.pdf")
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"nothing")
    for arguments, message in (
        (("add", stored.stem, str(bad)), "is damaged or not a PDF"),
        (("fetch", "nothing"), "'nothing' is unknown"),
    ):
        done = run(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert message in done.stderr
