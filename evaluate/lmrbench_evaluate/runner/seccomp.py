"""The system calls that tested code cannot make, as a program for the kernel by libseccomp.

Namespaces do not cover everything: sockets to a hypervisor, keyrings, memory that belongs to no
process. Ordinary code also does not need most parts of the kernel in which escapes were found.
Calls for another architecture end the process.
"""

import ctypes
import errno
import os

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_EQUAL_MASKED = 7
_GREATER = 6
_UNKNOWN = -1
_CLONE_NEWUSER = 0x10000000
_MAP_SHARED_ANONYMOUS = 0x1 | 0x20
_AF_LOCAL = 1

#: What a zygote needs to build the walls of a job.
NEEDED_FOR_WALLS = ("unshare", "setns", "mount", "mount_setattr")
#: Kernel memory that outlives a process or belongs to none: harmless where a cgroup limits and
#: namespaces end it.
OWNERLESS = ("memfd_create", "memfd_secret", "shmget", "msgget", "semget")
#: Keyrings, mounts, parts of the kernel that numerical code does not need, and the machine.
_OTHERS = """
add_key keyctl request_key
umount umount2 pivot_root chroot open_tree open_tree_attr move_mount
fsopen fsmount fsconfig fspick name_to_handle_at open_by_handle_at
bpf perf_event_open userfaultfd fanotify_init lookup_dcookie
io_setup io_uring_setup io_uring_enter io_uring_register
quotactl quotactl_fd modify_ldt vm86 vm86old
kexec_load kexec_file_load init_module finit_module delete_module
iopl ioperm reboot acct swapon swapoff syslog
settimeofday clock_settime clock_adjtime adjtimex
""".split()
REFUSED = (*OWNERLESS, *NEEDED_FOR_WALLS, *_OTHERS)


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`: which argument, the operator, and two values."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_uint),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


def filter_program(*, has_cgroup: bool = False) -> bytes:
    """Return the filter as the kernel reads it.

    Args:
        has_cgroup: a cgroup limits all memory of the tested code, also that which belongs to no
            process.

    Raises:
        OSError: libseccomp is not installed, or does not know this architecture.
    """
    rules = _Filter()
    try:
        for name in REFUSED:
            if not (has_cgroup and name in OWNERLESS):
                rules.refuse(name, errno.EPERM)
        # The flags of clone3 are in memory, which a filter cannot read. Without clone3, the C
        # library uses clone.
        rules.refuse("clone3", errno.ENOSYS)
        new_user = _Comparison(0, _EQUAL_MASKED, _CLONE_NEWUSER, _CLONE_NEWUSER)
        rules.refuse("clone", errno.EPERM, new_user)
        if not has_cgroup:
            # Such pages stay when every process has let go of them, and count for none.
            shared = _Comparison(3, _EQUAL_MASKED, _MAP_SHARED_ANONYMOUS, _MAP_SHARED_ANONYMOUS)
            rules.refuse("mmap", errno.EPERM, shared)
        # No network, not even a loopback. The kernel reads the lower half of the argument; a filter
        # sees all of it.
        for name in ("socket", "socketpair"):
            rules.refuse(name, errno.EAFNOSUPPORT, _Comparison(0, _GREATER, _AF_LOCAL, 0))
            unspecified = _Comparison(0, _EQUAL_MASKED, 0xFFFFFFFF, 0)
            rules.refuse(name, errno.EAFNOSUPPORT, unspecified)
        return rules.export()
    finally:
        rules.release()


class _Filter:
    """A filter of libseccomp that allows all calls but those that are refused."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libseccomp.so.2")
        except OSError as error:
            hint = "Debian: `apt-get install libseccomp2`"
            raise OSError(f"libseccomp is not installed ({hint})") from error
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(_ALLOW)))
        if not self._context:
            raise OSError("libseccomp cannot make a filter for this machine")

    def refuse(self, name: str, error: int, *when: _Comparison) -> None:
        """Let a call fail, if all comparisons hold."""
        number = self._library.seccomp_syscall_resolve_name(name.encode("ascii"))
        if number == _UNKNOWN:  # to this version of the library, or on this architecture
            return
        comparisons = (_Comparison * len(when))(*when)
        action = ctypes.c_uint32(_ERRNO | error)
        result = self._library.seccomp_rule_add_array(
            self._context, action, number, len(when), comparisons
        )
        if result != 0:
            raise OSError(f"libseccomp refuses a rule for {name}: {os.strerror(-result)}")

    def export(self) -> bytes:
        """Return the program."""
        with open(os.memfd_create("seccomp"), "rb") as file:
            result = self._library.seccomp_export_bpf(self._context, file.fileno())
            if result != 0:
                raise OSError(f"libseccomp cannot write the filter: {os.strerror(-result)}")
            file.seek(0)
            return file.read()

    def release(self) -> None:
        """Free the memory of the filter."""
        self._library.seccomp_release(self._context)
