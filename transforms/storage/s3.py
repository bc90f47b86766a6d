"""Objects on S3 and what speaks its protocol, through one client a process.

Beam has a file system for S3, and the job does not use it, for what was seen with Beam 2.77.0: it makes a session and a client anew for
each call (0.1 to 0.2 s of CPU; a call over this module takes 2 ms), its retries of a server that is gone take 10 minutes a call, it cannot
write an empty object, lists a bucket that does not exist as an empty one, and keeps the etag, the one token that tells whether an object
has changed, to itself. Its options (`--s3_endpoint_url` and the others of `S3Options`) hold here too, and so does all that AWS's own tools
read: AWS_ENDPOINT_URL, AWS_PROFILE, AWS_MAX_ATTEMPTS, ~/.aws, the role of a machine.

A put is atomic: whoever reads sees the old object, the new one, or none. So is an upload in several parts, which S3 publishes when it is
completed; what is left of one that was cut short is no object, and a lifecycle rule of the bucket sweeps it
(AbortIncompleteMultipartUpload).
"""

import io
import os
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple, cast

PREFIX = "s3://"

ATTEMPTS = 8
"""Of a request, with exponential back-off: some 35 s, which the restart of a server or a throttled bucket passes within. AWS_MAX_ATTEMPTS
sets another number."""

CHECK_ATTEMPTS = 2
"""Of the preflight's requests: who has mistyped an address must not wait for the answer."""

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 60.0
"""Seconds without a byte."""

CONNECTIONS = 64
"""Of one process at most; its threads are children + read-ahead."""

IN_MEMORY = 8 << 20
"""Bytes: a smaller object is read with one request and is seekable from memory; zipfile alone makes four requests of a commit."""

SINGLE_PUT = 64 << 20
"""Bytes: a larger object is sent in parts, so that a broken connection costs one part. S3 takes 5 GB at once."""

_DELETED_AT_ONCE = 1000
_NOT_THERE = frozenset({"404", "NoSuchKey", "NoSuchBucket", "NotFound"})
_REFUSED = frozenset({"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "403", "ExpiredToken", "InvalidToken"})


class StoredObject(NamedTuple):
    """An object as a listing shows it."""

    uri: str
    size: int
    etag: str


class StoreError(OSError):
    """A request that failed, in a sentence. It was tried again as often as is of use."""


class ChangedError(StoreError):
    """The object is not the one that was asked for: its etag is another by now."""


def is_s3(uri: str) -> bool:
    """Whether this module reads it."""
    return uri[: len(PREFIX)].lower() == PREFIX


def split(uri: str) -> tuple[str, str]:
    """Bucket and key, both as they are: a key may hold any character, none of them encoded.

    Raises:
      ValueError: it names no bucket.
    """
    bucket, _, key = uri[len(PREFIX) :].partition("/")
    if not is_s3(uri) or not bucket:
        raise ValueError(f"{uri} names no bucket: use s3://BUCKET/NAME.")
    return bucket, key


def stat(uri: str) -> StoredObject | None:
    """Size and etag of an object; None where there is none, or no such bucket."""
    bucket, key = split(uri)
    if not key:
        return None
    try:
        answer = _ask(uri, "head_object", Bucket=bucket, Key=key)
    except FileNotFoundError:
        return None
    return StoredObject(uri, answer["ContentLength"], _bare(answer["ETag"]))


def open_read(uri: str, *, etag: str = "") -> BinaryIO:
    """Opens an object for reading, seekable.

    Args:
      etag: of the version that is meant; empty: whichever there is.
    Raises:
      FileNotFoundError, PermissionError, ChangedError, StoreError: as the store says.
    """
    bucket, key = split(uri)
    condition: dict[str, Any] = {"IfMatch": f'"{etag}"'} if etag else {}
    answer = _ask(uri, "get_object", Bucket=bucket, Key=key, **condition)
    reader = _ObjectReader(uri, answer)
    if answer["ContentLength"] > IN_MEMORY:
        return cast(BinaryIO, io.BufferedReader(reader, buffer_size=1 << 20))
    with reader:
        return io.BytesIO(b"".join(iter(partial(reader.read, IN_MEMORY), b"")))


def put(uri: str, content: bytes | BinaryIO) -> None:
    """Publishes an object: bytes, or a file from its position on."""
    bucket, key = split(uri)
    if isinstance(content, bytes) or _left(content) <= SINGLE_PUT:
        _ask(uri, "put_object", Bucket=bucket, Key=key, Body=content, ContentType="application/octet-stream")
        return
    with _told(uri):
        client().upload_fileobj(content, bucket, key, ExtraArgs={"ContentType": "application/octet-stream"})


def list_objects(prefix: str, *, within_folder: bool = False, limit: int | None = None) -> Iterator[StoredObject]:
    """The objects whose URI begins with `prefix`, in the store's order (on AWS that of the bytes of their names), 1,000 a request.

    Args:
      within_folder: only names without a further `/`.
      limit: how many are enough.
    Raises:
      FileNotFoundError: there is no such bucket; PermissionError, StoreError: as the store says.
    """
    bucket, key = split(prefix)
    arguments: dict[str, Any] = {"Bucket": bucket, "Prefix": key}
    if within_folder:
        arguments["Delimiter"] = "/"
    if limit is not None:
        arguments["MaxKeys"] = max(1, min(limit, 1000))
    count = 0
    while True:
        page = _ask(prefix, "list_objects_v2", **arguments)
        for item in page.get("Contents", ()):
            yield StoredObject(f"{PREFIX}{bucket}/{item['Key']}", item["Size"], _bare(item["ETag"]))
            count += 1
            if count == limit:
                return
        if not page.get("IsTruncated"):
            return
        arguments["ContinuationToken"] = page["NextContinuationToken"]


def delete(uris: Iterable[str]) -> None:
    """Deletes objects of one bucket; one that is not there is no error."""
    names = [split(uri) for uri in uris]
    for start in range(0, len(names), _DELETED_AT_ONCE):
        batch = names[start : start + _DELETED_AT_ONCE]
        bucket = batch[0][0]
        objects = [{"Key": key} for _bucket, key in batch]
        answer = _ask(f"{PREFIX}{bucket}", "delete_objects", Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        for error in answer.get("Errors", ()):
            raise StoreError(f"{PREFIX}{bucket}/{error['Key']} cannot be deleted: {error['Message']}")


def check(uri: str) -> None:
    """Whether the bucket is there and this process may use it: a request that is not tried for long.

    Raises:
      OSError: with the sentence.
    """
    bucket, key = split(uri)
    prefix = key[: min((key.find(character) for character in "*?[" if character in key), default=len(key))]
    _ask(f"{PREFIX}{bucket}", "list_objects_v2", attempts=CHECK_ATTEMPTS, Bucket=bucket, Prefix=prefix, MaxKeys=1)


# --- the client ----------------------------------------------------------------------------------------------------------------------

_clients: dict[tuple[int, int | None], Any] = {}
_clients_lock = threading.Lock()


def client(attempts: int | None = None) -> Any:
    """The client of this process, for all its threads (boto3's clients are thread-safe, its sessions are not).

    Args:
      attempts: None: as the environment says, else ATTEMPTS.
    """
    name = (os.getpid(), attempts)  # a fork must not share its parent's connections
    with _clients_lock:
        if name not in _clients:
            _clients[name] = _new_client(attempts)
        return _clients[name]


def _new_client(attempts: int | None) -> Any:
    import boto3
    from botocore.config import Config

    retries: dict[str, Any] = {"mode": "standard"}
    if attempts or not os.environ.get("AWS_MAX_ATTEMPTS"):
        retries["total_max_attempts"] = attempts or ATTEMPTS
    config = Config(retries=retries, connect_timeout=CONNECT_TIMEOUT, read_timeout=READ_TIMEOUT, max_pool_connections=CONNECTIONS)
    options = _beam_options()
    session = boto3.session.Session()
    region = options.pop("region_name", None) or session.region_name or "us-east-1"  # any will do for servers of one's own
    return session.client("s3", region_name=region, config=config, **options)


def _beam_options() -> dict[str, Any]:
    """Beam's `S3Options` of this process's pipeline, as arguments of a client; those that are not set are left to AWS's own rules."""
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import S3Options

    options = getattr(FileSystems, "_pipeline_options", None)  # set by Pipeline and by Beam's workers (2.77.0)
    if options is None:
        return {}
    found = options.view_as(S3Options)
    arguments = {
        "endpoint_url": found.s3_endpoint_url,
        "region_name": found.s3_region_name,
        "api_version": found.s3_api_version,
        "verify": _verify(found.s3_verify),
        "aws_access_key_id": found.s3_access_key_id,
        "aws_secret_access_key": found.s3_secret_access_key,
        "aws_session_token": found.s3_session_token,
        "use_ssl": False if found.s3_disable_ssl else None,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _verify(value: str | None) -> bool | str | None:
    """`--s3_verify` is a text: a truth value, or the path of a bundle of certificates."""
    return {"true": True, "false": False}.get(value.lower(), value) if value else None


def _ask(uri: str, operation: str, *, attempts: int | None = None, **arguments: Any) -> dict[str, Any]:
    with _told(uri):
        return cast(dict[str, Any], getattr(client(attempts), operation)(**arguments))


class _told:  # noqa: N801 - used like a function; a class, as a generator costs more than the rest of a call
    """Has what boto3 raises come as an OSError whose text is the end of a sentence."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        told = _translate(self._uri, error)
        if told is not error:
            raise told from error


def _translate(uri: str, error: Exception) -> Exception:
    from boto3.exceptions import Boto3Error
    from botocore import exceptions

    bucket = split(uri)[0]
    if isinstance(error, exceptions.ClientError):
        facts = error.response.get("Error", {})
        code, reason = str(facts.get("Code", "")), str(facts.get("Message", "")).strip().rstrip(".")
        if code == "NoSuchBucket":
            return FileNotFoundError(f"there is no bucket {bucket}")
        if code in _NOT_THERE:
            return FileNotFoundError(f"there is no object {uri}")
        if code in _REFUSED:
            return PermissionError(f"the store refuses these credentials for s3://{bucket} ({code}: {reason})")
        if code in ("PreconditionFailed", "412"):
            return ChangedError(f"{uri} is not the object that was asked for: its etag is another")
        return StoreError(f"the store answers {uri} with {code}: {reason}")
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return PermissionError(
            f"there are no credentials for s3://{bucket}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if isinstance(error, exceptions.BotoCoreError | Boto3Error):
        return StoreError(f"the store of {uri} cannot be reached: {' '.join(str(error).split()).rstrip('.')}")
    return error


def _bare(etag: str) -> str:
    return etag.strip('"')


def _left(stream: BinaryIO) -> int:
    position = stream.tell()
    end = stream.seek(0, os.SEEK_END)
    stream.seek(position)
    return end - position


class _ObjectReader(io.RawIOBase):
    """One object as a file. A connection that breaks is opened again where it was, at the same version."""

    def __init__(self, uri: str, answer: dict[str, Any]) -> None:
        super().__init__()
        self._bucket, self._key = split(uri)
        self._uri = uri
        self._size: int = answer["ContentLength"]
        self._etag: str = answer["ETag"]
        self._body: Any = answer["Body"]
        self._body_position = 0
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        data = self._try_again(partial(self._read, wanted))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        self._drop()
        super().close()

    def _try_again(self, read: partial[bytes]) -> bytes:
        from botocore.exceptions import BotoCoreError

        for last in (False, False, True):
            try:
                return read()
            except BotoCoreError as error:  # the connection broke while the body came
                self._drop()
                if last:
                    raise _translate(self._uri, error) from error
        raise AssertionError("unreachable")

    def _read(self, wanted: int) -> bytes:
        if self._body is None or self._body_position != self._position:
            self._drop()
            answer = _ask(self._uri, "get_object", Bucket=self._bucket, Key=self._key, Range=f"bytes={self._position}-", IfMatch=self._etag)
            self._body, self._body_position = answer["Body"], self._position
        data: bytes = self._body.read(wanted)
        if not data:
            self._drop()
            raise StoreError(f"{self._uri} ended after {self._position:,} of {self._size:,} bytes")
        self._body_position += len(data)
        return data

    def _drop(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None
