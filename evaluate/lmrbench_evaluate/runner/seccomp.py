"""The system calls that tested code cannot make, as a program for the kernel, which libseccomp writes.

Namespaces do not cover everything: sockets to a hypervisor, keyrings, memory that belongs to no process. Ordinary code
also does not need most parts of the kernel in which escapes were found. Calls for another architecture end the process.
"""

import ctypes
import errno
import os

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EQUAL_MASKED, _GREATER = 7, 6
_UNKNOWN = -1
_CLONE_NEWUSER = 0x10000000
_MAP_SHARED, _MAP_ANONYMOUS = 0x1, 0x20
_AF_LOCAL = 1

#: What a zygote needs to build the walls of a job.
NEEDED_FOR_WALLS = ("unshare", "setns", "mount", "mount_setattr")
#: Kernel memory that outlives a process or belongs to none: harmless where a cgroup limits and namespaces end it.
OWNERLESS = ("memfd_create", "memfd_secret", "shmget", "msgget", "semget")
REFUSED = (
    *OWNERLESS,
    *NEEDED_FOR_WALLS,
    *("add_key", "keyctl", "request_key"),
    # namespaces and mounts
    *("umount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount"),
    *("fsopen", "fsmount", "fsconfig", "fspick"),
    *("name_to_handle_at", "open_by_handle_at"),
    # parts of the kernel that numerical code does not need
    *(
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "io_setup",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
    ),
    *(
        "fanotify_init",
        "quotactl",
        "quotactl_fd",
        "lookup_dcookie",
        "modify_ldt",
        "vm86",
        "vm86old",
    ),
    # the machine
    *(
        "kexec_load",
        "kexec_file_load",
        "init_module",
        "finit_module",
        "delete_module",
        "iopl",
        "ioperm",
        "reboot",
    ),
    *(
        "acct",
        "swapon",
        "swapoff",
        "syslog",
        "settimeofday",
        "clock_settime",
        "clock_adjtime",
        "adjtimex",
    ),
)


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`: which argument, the operator, and two values."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_uint),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


def filter_program(*, has_cgroup: bool = False) -> bytes:
    """Return the filter as `bwrap --seccomp` and the kernel read it.

    Args:
        has_cgroup: a cgroup limits all memory of the tested code, also that which belongs to no process.

    Raises:
        OSError: libseccomp is not installed, or does not know this architecture.
    """
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise OSError(
            "libseccomp is not installed (Debian: `apt-get install libseccomp2`)"
        ) from error
    library.seccomp_init.restype = ctypes.c_void_p
    context = library.seccomp_init(ctypes.c_uint32(_ALLOW))
    if not context:
        raise OSError("libseccomp cannot make a filter for this machine")
    try:
        for name in set(REFUSED) - set(OWNERLESS if has_cgroup else ()):
            _refuse(library, context, name, errno.EPERM)
        # Its flags are in memory, which a filter cannot read; the C library then uses clone.
        _refuse(library, context, "clone3", errno.ENOSYS)
        _refuse(
            library,
            context,
            "clone",
            errno.EPERM,
            _Comparison(0, _EQUAL_MASKED, _CLONE_NEWUSER, _CLONE_NEWUSER),
        )
        if not has_cgroup:
            # Its pages stay when every process has let go of them, and then count as nobody's memory.
            shared = _MAP_SHARED | _MAP_ANONYMOUS
            _refuse(
                library, context, "mmap", errno.EPERM, _Comparison(3, _EQUAL_MASKED, shared, shared)
            )
        # No network, not even a loopback. The kernel reads the lower half of the argument; a filter sees all of it.
        for call in ("socket", "socketpair"):
            _refuse(
                library, context, call, errno.EAFNOSUPPORT, _Comparison(0, _GREATER, _AF_LOCAL, 0)
            )
            _refuse(
                library,
                context,
                call,
                errno.EAFNOSUPPORT,
                _Comparison(0, _EQUAL_MASKED, 0xFFFFFFFF, 0),
            )
        return _exported(library, context)
    finally:
        library.seccomp_release(ctypes.c_void_p(context))


def _refuse(library: ctypes.CDLL, context: int, name: str, error: int, *when: _Comparison) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode("ascii"))
    if number == _UNKNOWN:  # to this version of the library, or on this architecture
        return
    rules = (_Comparison * len(when))(*when)
    context_p, action = ctypes.c_void_p(context), ctypes.c_uint32(_ERRNO | error)
    result = library.seccomp_rule_add_array(context_p, action, number, len(when), rules)
    if result != 0:
        raise OSError(f"libseccomp refuses a rule for {name}: {os.strerror(-result)}")


def _exported(library: ctypes.CDLL, context: int) -> bytes:
    with open(os.memfd_create("seccomp"), "rb") as file:
        result = library.seccomp_export_bpf(ctypes.c_void_p(context), file.fileno())
        if result != 0:
            raise OSError(f"libseccomp cannot write the filter: {os.strerror(-result)}")
        file.seek(0)
        return file.read()
