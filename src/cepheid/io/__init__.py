"""Events in, events out: files, streams, tables and frames on one side, typed events on the other.

Reading has two steps. Readers turn any source into records, which hold raw values and know their
place; the decoder checks a record against its type and makes an event of it. So a broken line and
a wrong value are found where they are, and a reader needs no schema.

Where there is nothing to find, files and tables are read in columns at once (`columns`); this takes the
types, and gives way to records wherever it could differ from them.
"""

from cepheid.io.arrow import to_arrow, to_pandas
from cepheid.io.encode import encode
from cepheid.io.infer import infer_types
from cepheid.io.read import READERS, expand, fail, read_records, read_stream
from cepheid.io.records import Decoder, Record
from cepheid.io.sources import records_of
from cepheid.io.write import Format, write_csv, write_file, write_jsonl, write_parquet

__all__ = [
    "READERS",
    "Decoder",
    "Format",
    "Record",
    "encode",
    "expand",
    "fail",
    "infer_types",
    "read_records",
    "read_stream",
    "records_of",
    "to_arrow",
    "to_pandas",
    "write_csv",
    "write_file",
    "write_jsonl",
    "write_parquet",
]
