"""Takes from the decoding processes what no document needs: the network, the host's files, and power over other processes.

A parser that is taken over by a document shall find nothing to do with it. Three fences of the kernel, none of which needs root; each
is put up where the kernel has it, holds for all that is started below, and cannot be taken down again (`doctor` says which are there):

- *seccomp* (Linux 3.17; x86-64 and AArch64), in the zygote before it imports anything: no socket but a local one, none of them connected
  to anything, no io_uring (whose sockets a filter does not see), no namespaces, mounts, tracing or kernel keys.
- A *network namespace* of its own, where the zygote runs with CAP_SYS_ADMIN (as root, mostly): there is not even a loopback in it. Not by
  way of a user namespace: that works without root, but gives a hostile process the kernel's whole network code to attack.
- *Landlock* (Linux 5.19), in each child, once its lease's folder is known: it writes in that folder, reads the system's programs,
  libraries and fonts and the Python packages, and nothing else: no home, no library, no OUTPUT, no other lease. It also may not signal
  a process outside (Linux 6.12).

And what needs no kernel of a certain age: lowered limits on open files, on the size of a file and (not for root, whom the kernel exempts)
on processes; root's capabilities, all but the one to read what belongs to others, are dropped.
"""

import contextlib
import ctypes
import os
import platform
import resource
import shutil
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SYSTEM_FOLDERS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/snap",
    "/sys",
    "/proc",
)
"""What programs are made of. /proc shows a process its own kind only: Landlock forbids to look into those outside."""

SYSTEM_SETTINGS = (
    "alternatives",
    "fonts",
    "group",
    "ImageMagick-6",
    "ImageMagick-7",
    "java",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libreoffice",
    "localtime",
    "locale.alias",
    "magic",
    "magic.mime",
    "mime.types",
    "nsswitch.conf",
    "OpenCL",
    "os-release",
    "papersize",
    "passwd",
    "timezone",
)
"""Of /etc: what programs read of it while they convert. Not the folder: to root it has secrets in it."""

CACHES = ("/var/cache/fontconfig", "/var/lib/libreoffice", "/var/spool/libreoffice")

READABLE_VARIABLE = "UNIVERSAL_DECODER_READABLE"
"""Paths with colons between them: what else children may read, on a machine that keeps tools, models or fonts in places of its own."""

READ_VARIABLES = (
    READABLE_VARIABLE,
    "FONTCONFIG_PATH",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "LD_LIBRARY_PATH",
    "MAGIC",
    "NLTK_DATA",
    "TESSDATA_PREFIX",
)
"""Variables that name places of models, fonts and libraries."""

TOOLS = ("tesseract", "soffice", "libreoffice", "pandoc", "pdftoppm", "pdfinfo")
"""Programs that may be installed outside of the system's folders, in which case they lie in a prefix of their own."""

OPEN_FILES = 1024
"""LibreOffice opens 200; a leak of descriptors ends here and not with the machine's."""

FILE_SIZE = 4 << 30
"""Bytes of one file that a child writes, or four times the largest document if that is more: a converted or repaired copy is larger."""

MORE_TASKS = 2048
"""Processes and threads that the user may have beyond those at the start of the zygote. LibreOffice takes 20. Root is exempt."""

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_MACHINE = platform.machine()


def fences() -> tuple[str, ...]:
    """The names of the fences that this machine has: "seccomp", "network namespace", "landlock", and "signals" (Landlock of Linux 6.12)."""
    found = []
    if _libc is not None and _MACHINE in _AUDIT_ARCHITECTURES and _is_seccomp_there():
        found.append("seccomp")
    if _may_make_namespaces():
        found.append("network namespace")
    if _landlock_version() >= _OLDEST_LANDLOCK:
        found.append("landlock")
    if _landlock_version() >= _FENCES_SIGNALS:
        found.append("signals")
    return tuple(found)


# --- the network ---------------------------------------------------------------------------------------------------------------------


def cut_network() -> None:
    """Takes the network from this process and all that it starts, by each means that the kernel grants."""
    if _libc is None:
        return
    if _may_make_namespaces():
        _libc.unshare(_CLONE_NEWNET)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # without it only root may set a filter; set-uid programs become harmless too
    if _MACHINE in _AUDIT_ARCHITECTURES:
        _set_filter(_filter(_MACHINE))


_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_NO_NEW_PRIVS = 38
_PR_GET_SECCOMP = 21
_CAP_SYS_ADMIN = 21


def _may_make_namespaces() -> bool:
    return bool(_effective_capabilities() >> _CAP_SYS_ADMIN & 1) and Path("/proc/self/ns/net").exists()


def _effective_capabilities() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16)
    return 0


def _is_seccomp_there() -> bool:
    return _libc is not None and _libc.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


# <linux/audit.h>, <asm/unistd.h>
_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_CONNECT = {"x86_64": 42, "aarch64": 203}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_DENIED = {
    # ptrace, process_vm_readv, process_vm_writev, mount, umount2, pivot_root, chroot, unshare, setns, bpf, perf_event_open, userfaultfd,
    # add_key, request_key, keyctl, init_module, finit_module, delete_module, kexec_load, open_by_handle_at, swapon, reboot, acct
    "x86_64": (101, 310, 311, 165, 166, 155, 161, 272, 308, 321, 298, 323, 248, 249, 250, 175, 313, 176, 246, 304, 167, 169, 163),
    "aarch64": (117, 270, 271, 40, 39, 41, 51, 97, 268, 280, 241, 282, 217, 218, 219, 105, 273, 106, 104, 265, 224, 142, 89),
}
_NEW_CALLS = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442)
"""The same on all machines: io_uring_setup, _enter, _register, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr."""
_PRETENDED = {
    # chmod, fchmod, fchmodat, chown, fchown, lchown, fchownat, setxattr, lsetxattr, fsetxattr
    "x86_64": (90, 91, 268, 92, 93, 94, 260, 188, 189, 190),
    # fchmod, fchmodat, fchownat, fchown, setxattr, lsetxattr, fsetxattr
    "aarch64": (52, 53, 54, 55, 5, 6, 7),
}
"""Landlock lets a process change the rights of any file of its user. Programs do so to their own files and need no effect: they are told
that it was done. 452 (fchmodat2) is the same on all machines."""
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
"""Of another process of the same user it would end the job: RLIMIT_CPU of 0 s."""
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Classic BPF: load a word; jump if equal, at least, any bit set; return."""
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data (the low word of the argument: both machines are little-endian)."""


def _filter(machine: str) -> bytes:
    """The program: struct sock_filter[], as bytes."""
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),  # the 32-bit calls of the same machine have other numbers
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]  # x32
    for number in (*_DENIED[machine], *_NEW_CALLS):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in (*_PRETENDED[machine], 452):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO)]
    # A connection to a local socket is a way out as well: to a container engine, a bus, a display.
    steps += [(_EQUAL, 0, 1, _CONNECT[machine]), (_RETURN, 0, 0, _ERRNO | _EACCES)]
    # Its flags are behind a pointer, which a filter cannot follow; glibc then takes clone.
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    steps += [
        (_EQUAL, 0, 4, _SOCKET[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 0, 1, socket.AF_UNIX),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EACCES),
        (_EQUAL, 0, 4, _PRLIMIT[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_EQUAL, 0, 3, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _CLONE_NEWUSER),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def _set_filter(program: bytes) -> bool:
    if _libc is None:
        return False
    described = _Program(len(program) // 8, program)
    # SECCOMP_SET_MODE_FILTER with SPEC_ALLOW: else kernels before 5.16 switch speculation off for the process, which costs a tenth.
    call = ctypes.c_long(_SECCOMP_CALL[_MACHINE])
    return any(_libc.syscall(call, 1, flags, ctypes.byref(described)) == 0 for flags in (4, 0))


# --- files ---------------------------------------------------------------------------------------------------------------------------

_OLDEST_LANDLOCK = 2
"""Version 1 (Linux 5.13) forbids each rename from one folder to another, which LibreOffice does."""
_FENCES_SIGNALS = 6
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_REG, _MAKE_BLOCK, _MAKE_CHAR, _REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 8, 1 << 11, 1 << 6, 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_RIGHTS_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


def _landlock_version() -> int:
    if _libc is None:
        return 0
    return max(0, int(_libc.syscall(ctypes.c_long(_CREATE_RULESET), None, 0, 1)))


@dataclass(frozen=True)
class Places:
    """Files and folders, the latter with all below them, that a child may use besides its lease's folder."""

    readable: Sequence[Path]
    """What may be read, and run."""
    listed: Sequence[Path]
    """Folders whose names may be listed, which Python does with each folder of its path."""
    writable: Sequence[Path] = ()
    """Where everything may be done."""


def confine_files(lease: Path, places: Places) -> bool:
    """Leaves this process, and all that it starts, only these files.

    Args:
      lease: a folder: new files may be made in it, and in the folders that are in it now everything may be done.
      places: what else.
    Returns:
      Whether the kernel does so.
    """
    version = _landlock_version()
    if _libc is None or version < _OLDEST_LANDLOCK:
        return False
    handled = (1 << 14) - 1  # of version 2
    if version >= 3:
        handled |= _TRUNCATE
    if version >= 5:
        handled |= _IOCTL_DEVICE
    attributes = [handled]
    if version >= 4:
        attributes.append(0b11)  # TCP: neither bind nor connect
    if version >= _FENCES_SIGNALS:
        attributes.append(0b11)  # neither abstract local sockets nor signals across the fence
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    ruleset = _libc.syscall(ctypes.c_long(_CREATE_RULESET), packed, len(packed), 0)
    if ruleset < 0:
        return False
    try:
        for path, rights in _rules(lease, places, handled):
            _allow(ruleset, path, rights & handled)
        return bool(_libc.syscall(ctypes.c_long(_RESTRICT_SELF), ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _rules(lease: Path, places: Places, handled: int) -> Iterator[tuple[Path, int]]:
    every = handled & ~(_MAKE_BLOCK | _MAKE_CHAR | _IOCTL_DEVICE)
    own = (entry for entry in lease.iterdir() if entry.is_dir() and not entry.is_symlink())
    yield from ((folder, every) for folder in (*own, *places.writable))
    # Not the folder itself: who may replace `work` by a link has the owner write where it leads.
    yield lease, _READ_FILE | _READ_DIR | _WRITE_FILE | _MAKE_REG | _TRUNCATE
    yield from ((path, _READ) for path in places.readable)
    yield from ((path, _READ_DIR) for path in places.listed)
    yield from ((Path("/dev", name), _READ_FILE | _WRITE_FILE | _TRUNCATE) for name in ("null", "zero", "full", "random", "urandom"))
    yield Path("/proc/self"), _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Adds a rule for what is there; nothing where it is not."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            rights &= _RIGHTS_OF_FILES
        if _libc is not None:
            _libc.syscall(ctypes.c_long(_ADD_RULE), ruleset, 1, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def readable_places(writable: Sequence[Path] = ()) -> Places:
    """What a decode reads: the system, the interpreter, the packages, models and fonts.

    A folder of Python's path that is no place of installed packages may be anything, such as the folder that the job was started from:
    of it only the packages that are loaded from it are readable.
    """
    places = [*map(Path, SYSTEM_FOLDERS), *(Path("/etc", name) for name in SYSTEM_SETTINGS), *map(Path, CACHES)]
    places += map(Path, {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix})
    places += (Path(part) for name in READ_VARIABLES for part in os.environ.get(name, "").split(os.pathsep) if part)
    for tool in filter(None, map(shutil.which, TOOLS)):
        folder = Path(tool).resolve().parent
        places += (folder, *(folder.parent / name for name in ("lib", "lib64", "libexec", "share", "etc")))
    home = Path.home()
    places += (home / name for name in (".cache/huggingface", ".fonts", ".local/share/fonts", ".config/fontconfig", ".cache/fontconfig"))
    listed = []
    for entry in dict.fromkeys(sys.path):
        if any(Path(entry).glob("*.dist-info")):
            places.append(Path(entry))
        else:
            listed.append(Path(entry))
    return Places(list(dict.fromkeys([*places, *_loaded_packages(places)])), listed, writable)


def _loaded_packages(places: Sequence[Path]) -> Iterator[Path]:
    """The top packages and modules that are loaded from elsewhere than these places: a checkout, or what an editable installation leads to,
    which stands on no path. All of a package, as it may import the rest of itself later."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or not file:
            continue
        path = Path(file)
        place = path.parent if path.stem == "__init__" else path
        if not any(place.is_relative_to(known) for known in places):
            yield place


# --- limits --------------------------------------------------------------------------------------------------------------------------


def lower_limits(document_size: int) -> None:
    """Lowers what this process and each that it starts may open, write and start; see the module's constants.

    Args:
      document_size: bytes of the largest document.
    """
    limits = {
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_FSIZE: max(FILE_SIZE, 4 * document_size),
        resource.RLIMIT_NPROC: _tasks_of_user() + MORE_TASKS,
    }
    for kind, value in limits.items():
        soft, hard = resource.getrlimit(kind)
        limit = min(value, *(known for known in (soft, hard) if known != resource.RLIM_INFINITY), value)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))


def _tasks_of_user() -> int:
    """Processes and threads of this user, which is what RLIMIT_NPROC counts."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                count += sum(1 for _ in os.scandir(process / "task"))
    return count


_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION = 0x20080522


def drop_capabilities() -> None:
    """Drops what makes root more than another user, except for reading what others own: the packages may be theirs."""
    if _libc is None:
        return
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    kept = 1 << _CAP_DAC_READ_SEARCH & _effective_capabilities()
    # 64 bits of each of the three sets, as low words, then high words.
    _libc.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0))
