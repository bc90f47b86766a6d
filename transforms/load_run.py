"""LoadRun: the shards of a finished run are brought to a TrustGraph, each by one worker."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import apache_beam as beam

from transforms.errors import JobFailed
from transforms.storage import filesystem
from transforms.trustgraph.gateway import Gateway, GatewayError, read_token
from transforms.trustgraph.run_documents import json_line
from transforms.trustgraph.sending import Loaded, Loader, LoadTask

REPORT = "report.json"
TOKEN_OPTION = "--token-file"  # noqa: S105 - an option


@dataclass(eq=False)  # not frozen: applying a transform sets attributes on it (Beam 2.77.0)
class LoadRun(beam.PTransform):  # type: ignore[misc]
    """PBegin -> PCollection[Loaded], the one sum, once it is written to the folder of the markers.

    What crosses a shuffle is the names of parts, and counts.
    """

    task: LoadTask
    shards: Sequence[Mapping[str, str]]

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        """Wires shards, loaders and the sum."""
        names = [(f"part-{number:05d}-of-{len(self.shards):05d}", dict(parts)) for number, parts in enumerate(self.shards)]
        return (
            pipeline
            | "NameShards" >> beam.Create(names, reshuffle=False)
            | "SpreadOverWorkers" >> beam.Reshuffle()
            | "LoadShard" >> beam.ParDo(LoadShard(self.task)).with_output_types(Loaded)
            | "AddUp" >> beam.CombineGlobally(add_up)
            | "WriteReport" >> beam.Map(self._write).with_output_types(Loaded)
        )

    def _write(self, loaded: Loaded) -> Loaded:
        place = filesystem.join(self.task.markers, REPORT)
        filesystem.write_atomically(place, json_line(loaded._asdict()), scratch=filesystem.join(self.task.output, filesystem.SCRATCH))
        return loaded


def add_up(counts: Iterable[Loaded]) -> Loaded:
    """The sum; of none zero."""
    total = Loaded()
    for each in counts:
        total = total.plus(Loaded(*each))
    return total


class LoadShard(beam.DoFn):  # type: ignore[misc]
    """(name of the shard, its parts) -> what was brought of it. One client a worker, which reads the token there."""

    def __init__(self, task: LoadTask) -> None:
        self._task = task

    def setup(self) -> None:
        self._gateway = Gateway(
            self._task.gateway, read_token(self._task.token_file, TOKEN_OPTION), self._task.workspace, streams=self._task.connections
        )
        self._loader = Loader(self._task, self._gateway)

    def process(self, shard: tuple[str, Mapping[str, str]]) -> Iterator[Loaded]:
        try:
            with filesystem.output_told(self._task.output):
                yield self._loader.load(*shard)
        except GatewayError as error:
            raise JobFailed(f"{str(error)[:1].upper()}{str(error)[1:]}") from error

    def teardown(self) -> None:
        self._loader.close()
        self._gateway.close()
