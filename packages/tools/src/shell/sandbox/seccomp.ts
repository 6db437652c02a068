/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h, and the column of the tables below. */
const architectures: Readonly<Record<string, { readonly audit: number; readonly column: 0 | 1 }>> = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
}

/** The number of a system call on x86_64 and on aarch64. */
type Numbers = readonly [number, number]

/**
 * What only services of the machine need, and where the kernel's worst holes were. Close to the lists of flatpak and docker.
 * `ptrace` is allowed: debuggers need it, and there are no other processes to see.
 */
const forbidden: Readonly<Record<string, Numbers>> = {
  ...{ mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], setns: [308, 268] },
  ...{ add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  ...{ bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] },
  ...{ name_to_handle_at: [303, 264], open_by_handle_at: [304, 265] },
  ...{ init_module: [175, 105], finit_module: [313, 273], delete_module: [176, 106] },
  ...{ kexec_load: [246, 104], kexec_file_load: [320, 294], reboot: [169, 142] },
  ...{ swapon: [167, 224], swapoff: [168, 225], acct: [163, 89], syslog: [103, 116] },
  ...{ quotactl: [179, 60], quotactl_fd: [443, 443] },
}

/**
 * As on an older kernel, so that programs take the older call. That of `clone3` has its flags in sight; those of the mount family
 * are forbidden.
 */
const missing: Readonly<Record<string, Numbers>> = {
  ...{ clone3: [435, 435] },
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  ...{ open_tree: [428, 428], move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431] },
  ...{ fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442], open_tree_attr: [467, 467] },
}

/** A `sock_filter` of linux/filter.h: code, how many to skip if true and if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const give = (action: number): Instruction => [0x06, 0, 0, action]
const jump =
  (code: number) =>
  (value: number, ifTrue: number, ifFalse: number): Instruction => [code, ifTrue, ifFalse, value]
const [ifEqual, ifAtLeast, ifAnyBit] = [jump(0x15), jump(0x35), jump(0x45)]

const allow = give(0x7fff0000)
const killProcess = give(0x80000000)
const fail = (errno: number) => give(0x00050000 | errno)
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97]

/** The low half of an argument in `seccomp_data`, on machines that have it first: the kernel takes these for 32 bits. */
const argument = (index: number) => load(16 + 8 * index)

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others lead past every namespace (AF_VSOCK) or to rarely used kernel code (AF_ALG). */
const families = [1, 2, 10, 16]
const [cloneNewUser, tiocsti, tioclinux] = [0x10000000, 0x5412, 0x541c]

const familyCheck = [
  argument(0),
  ...families.map((family, index) => ifEqual(family, families.length - index, 0)),
  fail(EAFNOSUPPORT),
  allow,
]
/** In a user namespace of its own a program has all the rights that were taken from it. */
const namespaceCheck = [argument(0), ifAnyBit(cloneNewUser, 0, 1), fail(EPERM), allow]
/** These type into a terminal. */
const terminalCheck = [argument(1), ifEqual(tiocsti, 1, 0), ifEqual(tioclinux, 0, 1), fail(EPERM), allow]

const checked: readonly (readonly [Numbers, readonly Instruction[]])[] = [
  [[41, 198], familyCheck], // socket
  [[53, 199], familyCheck], // socketpair
  [[56, 220], namespaceCheck], // clone
  [[272, 97], namespaceCheck], // unshare
  [[16, 29], terminalCheck], // ioctl
]

/** x32: the calls of x86_64 once more, under numbers from here on. */
const x32 = 0x40000000

/**
 * A filter of system calls for `bwrap --seccomp`, as an array of `sock_filter`. Undefined for an architecture of which the numbers
 * are not known here.
 */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  const target = architectures[architecture]
  if (!target) return undefined
  const { audit, column } = target
  const when = (numbers: Numbers, block: readonly Instruction[]) => [
    ifEqual(numbers[column], 0, block.length),
    ...block,
  ]
  const program: Instruction[] = [
    load(4),
    ifEqual(audit, 1, 0),
    killProcess,
    load(0),
    ...(architecture === 'x64' ? [ifAtLeast(x32, 0, 1), fail(ENOSYS)] : []),
    ...Object.values(forbidden).flatMap((numbers) => when(numbers, [fail(EPERM)])),
    ...Object.values(missing).flatMap((numbers) => when(numbers, [fail(ENOSYS)])),
    ...checked.flatMap(([numbers, block]) => when(numbers, block)),
    allow,
  ]
  return Buffer.concat(program.map(encoded))
}

function encoded([code, ifTrue, ifFalse, operand]: Instruction): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(operand, 4)
  return bytes
}
