/**
 * AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h, and the column in the tables below.
 */
const architectures: Readonly<Record<string, { readonly audit: number; readonly column: 0 | 1 }>> = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
}

/** The number of a system call on x86_64 and on aarch64. */
type Numbers = readonly [number, number]

/**
 * System calls that only system services need, and that had the kernel's worst vulnerabilities. Close to
 * the lists of flatpak and docker. `ptrace` is allowed: debuggers need it, and no other processes are
 * visible.
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
 * Fail with ENOSYS as on an older kernel, so that programs fall back to older calls: `clone` passes its
 * flags in a register, where they can be checked, and the older mount calls are forbidden.
 */
const missing: Readonly<Record<string, Numbers>> = {
  ...{ clone3: [435, 435] },
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  ...{ open_tree: [428, 428], move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431] },
  ...{ fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442], open_tree_attr: [467, 467] },
}

/** A `sock_filter` of linux/filter.h: code, instructions to skip if true and if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const returnAction = (action: number): Instruction => [0x06, 0, 0, action]
const jump =
  (code: number) =>
  (value: number, ifTrue: number, ifFalse: number): Instruction => [code, ifTrue, ifFalse, value]
const [ifEqual, ifAtLeast, ifAnyBit] = [jump(0x15), jump(0x35), jump(0x45)]

const allow = returnAction(0x7fff0000)
const killProcess = returnAction(0x80000000)
const fail = (errno: number) => returnAction(0x00050000 | errno)
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97]

/**
 * The low half of an argument in `seccomp_data` (little-endian): the kernel uses only 32 bits of
 * these.
 */
const argument = (index: number) => load(16 + 8 * index)

/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others bypass namespaces (AF_VSOCK) or reach rarely used
 * kernel code (AF_ALG).
 */
const families = [1, 2, 10, 16]
const [cloneNewUser, tiocsti, tioclinux] = [0x10000000, 0x5412, 0x541c]

const familyCheck = [
  argument(0),
  ...families.map((family, index) => ifEqual(family, families.length - index, 0)),
  fail(EAFNOSUPPORT),
  allow,
]
/** In a new user namespace a program would regain all capabilities. */
const namespaceCheck = [argument(0), ifAnyBit(cloneNewUser, 0, 1), fail(EPERM), allow]
/** These ioctls inject input into a terminal. */
const terminalCheck = [argument(1), ifEqual(tiocsti, 1, 0), ifEqual(tioclinux, 0, 1), fail(EPERM), allow]

const checked: readonly (readonly [Numbers, readonly Instruction[]])[] = [
  [[41, 198], familyCheck], // socket
  [[53, 199], familyCheck], // socketpair
  [[56, 220], namespaceCheck], // clone
  [[272, 97], namespaceCheck], // unshare
  [[16, 29], terminalCheck], // ioctl
]

/** The x32 ABI repeats the calls of x86_64, numbered from here on. */
const x32 = 0x40000000

/**
 * A seccomp filter for `bwrap --seccomp`, as an array of `sock_filter`. Undefined for an architecture
 * whose system call numbers are not listed here.
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
