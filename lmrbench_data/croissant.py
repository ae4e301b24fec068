"""Describe the dataset in Croissant 1.0, the JSON-LD vocabulary that search engines and loaders of datasets read.

The document follows from the Parquet schema and the benchmark's own facts: two builds are byte-identical. A column
without a description here is an error, so that no column can be added and forgotten.
"""

import json
from typing import TYPE_CHECKING, Any

from .loader import DATA_FILE, SPLIT
from .manifest import Benchmark

if TYPE_CHECKING:
    import pyarrow

FILE = "croissant.json"
HOME = "https://github.com/lmr-bench/lmr-bench"
CITATION = (
    "@inproceedings{yan2025lmrbench, "
    "title={{LMR-BENCH}: Evaluating {LLM} Agent's Ability on Reproducing Language Modeling Research}, "
    "author={Yan, Shuo and Li, Ruochen and others}, booktitle={Proceedings of EMNLP}, year={2025}, "
    "note={arXiv:2506.17335}}"
)

#: What each column holds; nested ones are named from the top, `tests.cases.name`.
COLUMNS = {
    "instance_id": "Name of the instance; unique.",
    "category": "One of the nine categories of research code.",
    "paper_title": "Title of the paper.",
    "paper_url": "Where the paper is.",
    "arxiv_id": "Its arXiv identifier; empty if it has none.",
    "venue": "Where the paper was published.",
    "year": "Year of the paper.",
    "upstream_repo": "Where the authors of the paper keep their code; none of it is in this dataset.",
    "instruction": "What to implement, as the paper's author would ask for it: one to four sentences.",
    "contract": "Every convention beyond paper and repository. Only the contract track shows it to a model.",
    "paper_text": "The method in our own words: notation, equations, algorithm.",
    "repo_name": "Name of the repository.",
    "repo_archive": "The repository with the goal function masked, a tar.gz (bytes).",
    "repo_sha256": "SHA-256 of the tar in `repo_archive`.",
    "goal_file": "Path of the file that holds the goal function.",
    "goal_function": "Name of the function to write; `Class.method` for a method.",
    "class_name": "Class of the goal function; empty for a plain function.",
    "context_files": "Files that standard prompting shows beside the goal file.",
    "golden_file": "The reference's whole goal file. Not for models.",
    "tests_archive": "The labelled inputs (`cases.py`), a tar.gz (bytes). Not for models.",
    "expected": "Recorded outputs of the reference (bytes). Not for models.",
    "recording": "Where the recorded outputs come from.",
    "recording.sha256": "SHA-256 of `expected`.",
    "recording.image": "Environment that the reference ran in.",
    "recording.sandbox": "Sandbox that it ran in.",
    "recording.cpu": "CPU that it ran on; the last bits of floats depend on it.",
    "tests": "Limits, seeds, and how each output is compared.",
    "tests.seeds": "Seeds with which each case runs.",
    "tests.timeout_s": "Time limit in seconds.",
    "tests.memory_mb": "Memory limit in MiB.",
    "tests.cases": "The cases, and how their outputs are compared.",
    "tests.cases.name": "Name of the case.",
    "tests.cases.core": "Whether it follows from paper and repository alone; the other cases test the contract.",
    "tests.cases.varies": "Whether its output depends on the seed; if not, it runs on the first seed only.",
    "tests.cases.rtol": "Relative tolerance.",
    "tests.cases.atol": "Absolute tolerance.",
    "tests.cases.exact": "Whether outputs must be equal to the last bit.",
    "tests.cases.unordered": "Whether the order of the outermost list does not matter.",
    "tests.cases.sign_invariant": "Whether each array counts up to a global sign.",
    "tests.cases.checker": "Another comparison in place of the default one; empty if none.",
    "test_protocol": "How the tests run; `cases` in this version.",
    "docker_image": "Tag of the environment; it is the hash of what the image is built from.",
    "benchmark_version": "Version of the benchmark.",
    "license": "Licence of the repository, instruction and tests; SPDX identifier in lower case.",
    "canary": "Marker by which a training corpus can filter this dataset out.",
    "row_sha256": "SHA-256 of the row, without its recorded outputs.",
}

#: Croissant has no type for bytes. `sc:Text` is what loaders of Croissant return unchanged as bytes.
_TYPES = {
    "string": "sc:Text",
    "binary": "sc:Text",
    "int64": "sc:Integer",
    "double": "sc:Float",
    "bool": "sc:Boolean",
}

#: The terms of Croissant 1.0, as its specification fixes them.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        term: f"cr:{term}"
        for term in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
}

_MAKERS = {
    "url": HOME,
    "creator": {"@type": "sc:Organization", "name": "The LMR-Bench maintainers", "url": HOME},
}
#: The vocabulary of responsible AI: what is true of every version of LMR-Bench. Of another benchmark nothing is known.
_RESPONSIBLE_AI = {
    "rai:dataCollection": (
        "Repositories, instructions, contracts, method descriptions and labelled inputs were written for this "
        "benchmark from the published methods. Data inside the repositories is synthetic or made by hand. Expected "
        "outputs were recorded by running each reference implementation in a sandbox."
    ),
    "rai:dataUseCases": [
        "Measuring whether language models and agents can implement a method from its paper.",
        "Not for training: the dataset holds its own solutions and a canary to filter it by.",
    ],
    "rai:dataLimitations": [
        "The repositories are compact re-implementations with tiny seeded models and small data: they do not measure "
        "whether a training run at scale reproduces a paper's numbers.",
        "One function an instance: planning and whole-repository design are not measured.",
        "Tests see finitely many inputs.",
    ],
    "rai:dataBiases": [
        "All papers are about language modelling, and instructions are in English and code in Python.",
    ],
    "rai:personalSensitiveInformation": ["None. Papers are named by title and address."],
    "rai:dataReleaseMaintenancePlan": (
        "A published version never changes. A correction of any row raises the version, and results name the version "
        "that they are of."
    ),
}


def render_croissant(
    benchmark: Benchmark,
    schema: "pyarrow.Schema",
    *,
    parquet_sha256: str,
    parquet_bytes: int,
    license: str,
    published: str = "",
) -> str:
    """The dataset's croissant.json: what it is, where its file lies, and each column of the split, nested ones too.

    Args:
        schema: the columns of the Parquet file (`build.schema`).
        parquet_sha256, parquet_bytes: hash and size of that file.
        license: identifier of the rows' licence, as the Hub writes it (`mit`).
        published: day of the version, `YYYY-MM-DD`; left out if empty.

    Raises:
        KeyError: a column has no description in `COLUMNS`, or a type that Croissant has no name for.
    """
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": benchmark.name,
        "alternateName": benchmark.title,
        "description": (
            f"{benchmark.title}: can language models reproduce language-modelling research? Each row gives the method "
            "of a published paper, a code repository with one function masked, an instruction and a contract. The "
            "written function is scored by unit tests in a container, at two levels: reproduced (every core case "
            "passes) and robust (every case passes); an LLM judge gives a second opinion."
        ),
        "version": benchmark.version,
        **({"datePublished": published} if published else {}),
        "license": f"https://choosealicense.com/licenses/{license}/",
        **(_MAKERS if benchmark.is_lmr_bench else {}),
        "citeAs": CITATION,
        "keywords": ["benchmark", "code generation", "language models", "reproducibility"],
        "inLanguage": "en",
        "isLiveDataset": False,
        **(_RESPONSIBLE_AI if benchmark.is_lmr_bench else {}),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": DATA_FILE,
                "name": DATA_FILE,
                "description": f"All rows of the split `{SPLIT}`.",
                "contentUrl": DATA_FILE,
                "contentSize": f"{parquet_bytes} B",
                "encodingFormat": "application/x-parquet",
                "sha256": parquet_sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": SPLIT,
                "name": SPLIT,
                "description": "One record for each instance of the benchmark.",
                "key": {"@id": f"{SPLIT}/instance_id"},
                "field": [_field(column.name, column.type, ()) for column in schema],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _field(name: str, kind: Any, above: tuple[str, ...]) -> dict[str, Any]:
    """A column or a part of one, with all that is nested in it.

    Args:
        kind: its Arrow type.
        above: names of what it is nested in, the column first.
    """
    path = (*above, name)
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": "/".join((SPLIT, *path)),
        "name": "/".join((SPLIT, *path)),
        "description": COLUMNS[".".join(path)],
    }
    if hasattr(kind, "value_type"):
        field["repeated"] = True
        kind = kind.value_type
    if kind.num_fields:
        parts = [kind.field(index) for index in range(kind.num_fields)]
        return {**field, "subField": [_field(part.name, part.type, path) for part in parts]}
    source: dict[str, Any] = {"fileObject": {"@id": DATA_FILE}, "extract": {"column": path[0]}}
    if path[1:]:
        source["transform"] = [{"jsonPath": part} for part in path[1:]]
    return {**field, "dataType": _TYPES[str(kind)], "source": source}
