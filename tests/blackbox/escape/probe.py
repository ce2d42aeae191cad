"""Tries to look into, reach and steer the process `target`, and to get at `secret`.

Prints one line per try: its name, and `worked` or why not.
"""
import ctypes, fcntl, os, platform, resource, signal, sys

target, secret, wanted = int(sys.argv[1]), sys.argv[2], sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
EPERM, ENOSYS = 1, 38


def answered(function, *args):
    """The kernel looked at the arguments instead of refusing the call."""
    ctypes.set_errno(0)
    error = ctypes.get_errno() if function(*args) < 0 else 0
    if error in (EPERM, ENOSYS):
        raise OSError(error, os.strerror(error))


def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def in_a_child(action):
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def read(path):
    with open(path, "rb") as file:
        file.read(16)


def make(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(path)


def of(name):
    return f"/proc/{target}/{name}"


look = {
    "environ": lambda: read(of("environ")),
    "command line": lambda: read(of("cmdline")),
    "status": lambda: read(of("status")),
    "maps": lambda: read(of("maps")),
    "memory": lambda: os.open(of("mem"), os.O_RDONLY),
    "descriptors": lambda: os.listdir(of("fd")),
    "where it is": lambda: os.readlink(of("cwd")),
    "what it runs": lambda: os.readlink(of("exe")),
    "its root": lambda: os.listdir(of("root/")),
    "secret by its root": lambda: read(of("root") + secret),
    "secret by my root": lambda: read("/proc/self/root" + secret),
    "secret by my thread": lambda: read("/proc/thread-self/root" + secret),
    "secret by going up": lambda: read(os.path.relpath(secret)),
    "my descriptors": lambda: os.listdir("/proc/self/fd"),
    "processes": lambda: os.listdir("/proc"),
    "kernel settings": lambda: read("/proc/sys/kernel/hostname"),
    "kernel": lambda: os.listdir("/sys/kernel"),
    "devices": lambda: os.listdir("/dev"),
    "a terminal": lambda: os.open("/dev/ptmx", os.O_RDWR),
    "shared memory": lambda: make(f"/dev/shm/manyhands-{os.getpid()}"),
    "temporary files": lambda: make(f"/tmp/manyhands-{os.getpid()}"),
    "other programs' files": lambda: os.listdir("/tmp"),
    "homes": lambda: os.listdir("/home"),
}

reach = {
    "trace": lambda: done(libc.ptrace(0x4206, target, None, None)),
    "read memory": lambda: answered(libc.process_vm_readv, target, None, 0, None, 0, 0),
    "write memory": lambda: answered(libc.process_vm_writev, target, None, 0, None, 0, 0),
    "take a descriptor": lambda: answered(libc.syscall, 438, os.pidfd_open(target), 0, 0),
    "compare": lambda: answered(libc.syscall, 272 if arm else 312, target, os.getpid(), 2, 0, 0),
    "look up": lambda: os.pidfd_open(target),
    "its futexes": lambda: answered(
        libc.syscall, 100 if arm else 274, target, ctypes.byref(ctypes.c_void_p()), ctypes.byref(ctypes.c_size_t())
    ),
    "ask by signal": lambda: os.kill(target, 0),
    "ask by handle": lambda: signal.pidfd_send_signal(os.pidfd_open(target), 0),
    "interrupt": lambda: os.kill(target, signal.SIGWINCH),
}

steer = {
    "limits": lambda: resource.prlimit(
        target, resource.RLIMIT_CORE, resource.prlimit(target, resource.RLIMIT_CORE)
    ),
    "look at limits": lambda: resource.prlimit(target, resource.RLIMIT_CORE),
    "processors": lambda: os.sched_setaffinity(target, os.sched_getaffinity(target)),
    "priority": lambda: os.setpriority(
        os.PRIO_PROCESS, target, os.getpriority(os.PRIO_PROCESS, target)
    ),
    "scheduler": lambda: os.sched_setscheduler(target, os.SCHED_OTHER, os.sched_param(0)),
    "disk priority": lambda: done(libc.syscall(30 if arm else 251, 1, target, 2 << 13 | 4)),
    # A user and a group without processes: freely the kernel says that there are none.
    "priority of a user": lambda: answered(libc.setpriority, os.PRIO_USER, 54321, 19),
    "priority of a group": lambda: answered(libc.setpriority, os.PRIO_PGRP, 4194303, 19),
    "disk priority of a user": lambda: answered(libc.syscall, 30 if arm else 251, 3, 54321, 2 << 13 | 4),
    "disk priority of a group": lambda: answered(libc.syscall, 30 if arm else 251, 2, 4194303, 2 << 13 | 4),
    "deadline": lambda: answered(libc.syscall, 274 if arm else 314, target, None, 0),
    "parameters": lambda: answered(libc.sched_setparam, target, None),
}


def watch(path):
    queue = libc.inotify_init1(0)
    done(queue)
    done(libc.inotify_add_watch(queue, path.encode(), 0x100 | 0x200 | 0x80))


# A watch needs no right to open, and tells the names of what is made there.
watches = {
    "the folder outside": lambda: watch(os.path.dirname(secret)),
    "the secret": lambda: watch(secret),
    "the folder above": lambda: watch(os.path.dirname(os.path.dirname(secret))),
    "the root": lambda: watch("/"),
    "temporary files": lambda: watch("/tmp"),
    "settings": lambda: watch("/etc"),
    "here": lambda: watch("."),
}

kernel = {
    "unshare": lambda: answered(libc.unshare, 0x200),
    "setns": lambda: answered(libc.setns, -1, 0),
    "io_uring": lambda: answered(libc.syscall, 425, 0, 0),
    "keyctl": lambda: answered(libc.syscall, 219 if arm else 250, 9999, 0, 0, 0, 0),
    "open_tree": lambda: answered(libc.syscall, 428, -1, b"x", 0xFFFFFFFF),
    "mount_setattr": lambda: answered(libc.syscall, 442, -1, b"x", 0xFFFFFFFF, None, 0),
    "mq_open": lambda: answered(libc.mq_open, b"/manyhands-probe", 0),
    "fanotify_init": lambda: answered(libc.fanotify_init, 0x200, 0),
    "fanotify_mark": lambda: answered(libc.fanotify_mark, -1, 0, 0, -1, None),
    "name_to_handle": lambda: answered(libc.name_to_handle_at, -1, b"x", None, None, 0),
    "type into a terminal": lambda: typed(0x5412),
    "type into a console": lambda: typed(0x541C),
    "the group of another": lambda: in_a_child(lambda: os.setpgid(0, os.getpgid(target))),
    "new namespace": lambda: answered(libc.syscall, 220 if arm else 56, 0x10000000 | 0x02000000 | 0x800, 0, 0, 0, 0),
}

# Newer than some of the kernels we run on; where they are missing they harm nobody.
newer = {
    "statmount": lambda: answered(libc.syscall, 457, None, None, 0, 0),
    "listmount": lambda: answered(libc.syscall, 458, None, None, 0, 0),
    "open_tree_attr": lambda: answered(libc.syscall, 467, -1, b"x", 0xFFFFFFFF, None, 0),
    "file_setattr": lambda: answered(libc.syscall, 469, -1, b"x", None, 0, 0),
}


def typed(request):
    try:
        fcntl.ioctl(0, request, b"x")
    except OSError as error:
        if error.errno == EPERM:
            raise


for name, attempt in globals()[wanted].items():
    try:
        attempt()
        print(f"{name}: worked")
    except (OSError, ValueError) as error:
        print(f"{name}: {error}")
