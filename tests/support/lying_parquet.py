"""Parquet files that lie about themselves, as an attacker would make them."""

import io

import pyarrow as pa
import pyarrow.parquet as pq


def varint(value: int) -> bytes:
    """Encode a number for the footer, in Thrift's compact protocol."""
    value, parts = value << 1, bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def with_sizes_of(content: bytes, claimed: int) -> bytes:
    """Return a file whose footer understates the size of its row groups."""
    length = int.from_bytes(content[-8:-4], "little")
    body, footer, end = content[: -8 - length], content[-8 - length : -8], content[-8:]
    with pq.ParquetFile(io.BytesIO(content)) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        sizes = {group.total_byte_size for group in groups}
        sizes |= {group.column(i).total_uncompressed_size for group in groups for i in range(group.num_columns)}
    for true in map(varint, sorted(sizes, reverse=True)):
        if len(true) > 3:
            lie = varint(claimed)
            footer = footer.replace(true, bytes([*lie[:-1], lie[-1] | 0x80, *[0x80] * (len(true) - len(lie) - 1), 0]))
    return body + footer + end


def unfolding(columns: pa.Schema, text: str, gigabytes: float) -> bytes:
    """Return kilobytes that decompress to gigabytes of text in one column, with a footer that denies it."""
    sink = io.BytesIO()
    size = 100 * 2**20
    with pq.ParquetWriter(sink, columns, compression="zstd", use_dictionary=False, write_statistics=False) as writer:
        for number in range(int(gigabytes * 2**30 / size)):
            value = pa.array([f"{number}" + "x" * size])
            cells = [value if field.name == text else pa.nulls(1, field.type) for field in columns]
            writer.write_table(pa.table(cells, schema=columns))
    return with_sizes_of(sink.getvalue(), 1000)
