import { describe, expect, test } from 'vitest'
import { folder, hasSandbox, inside, openDescriptors } from './sandbox.test-kit.ts'
import { seccompFilter } from './seccomp.ts'

const [x86, arm, i386] = [0xc000003e, 0xc00000b7, 0x40000003]
const [allowed, killed, noPermission, missing, noFamily] = [0x7fff0000, 0x80000000, 0x50001, 0x50026, 0x50061]

interface Call {
  readonly architecture: number
  readonly number: number
  readonly args?: readonly bigint[]
}

/** Evaluates the filter like the kernel: classic BPF over `struct seccomp_data`. */
function evaluate(filter: Buffer | undefined, { architecture, number, args = [] }: Call): number {
  if (!filter) throw new Error('there is no filter')
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(architecture, 4)
  args.forEach((value, index) => void data.writeBigUInt64LE(value, 16 + 8 * index))
  let loaded = 0
  for (let at = 0; ; at++) {
    const [code, operand] = [filter.readUInt16LE(8 * at), filter.readUInt32LE(8 * at + 4)]
    const skip = (isTrue: boolean) => filter.readUInt8(8 * at + (isTrue ? 2 : 3))
    if (code === 0x06) return operand
    if (code === 0x20) loaded = data.readUInt32LE(operand)
    else if (code === 0x15) at += skip(loaded === operand)
    else if (code === 0x35) at += skip(loaded >= operand)
    else if (code === 0x45) at += skip((loaded & operand) !== 0)
    else throw new Error(`no such instruction: ${code}`)
  }
}

const [newUser, highBits] = [0x10000000n, 0xffffffff00000000n]

describe.each([
  [
    'x64',
    x86,
    { read: 0, mount: 165, bpf: 321, socket: 41, clone: 56, unshare: 272, ioctl: 16, ptrace: 101 },
  ],
  [
    'arm64',
    arm,
    { read: 63, mount: 40, bpf: 280, socket: 198, clone: 220, unshare: 97, ioctl: 29, ptrace: 117 },
  ],
] as const)('the filter for %s', (name, architecture, numbers) => {
  const filter = seccompFilter(name)
  const of = (number: number, ...args: bigint[]) => evaluate(filter, { architecture, number, args })

  test('allows ordinary calls, including those of debuggers', () => {
    expect([numbers.read, numbers.ptrace, 451].map((number) => of(number))).toEqual(Array(3).fill(allowed))
  })

  test('denies calls for system services, and hides calls with an older form', () => {
    expect(of(numbers.mount)).toBe(noPermission)
    expect(of(numbers.bpf)).toBe(noPermission)
    for (const number of [425, 426, 427, 428, 429, 430, 431, 432, 433, 435, 442, 467])
      expect(of(number)).toBe(missing)
  })

  test('compares socket families as 32 bits', () => {
    for (const family of [1n, 2n, 10n, 16n, 2n + highBits]) expect(of(numbers.socket, family)).toBe(allowed)
    for (const family of [0n, 3n, 17n, 31n, 38n, 40n, 44n, 40n + highBits])
      expect(of(numbers.socket, family)).toBe(noFamily)
  })

  test('denies user namespaces', () => {
    for (const call of [numbers.clone, numbers.unshare]) {
      expect(of(call, newUser)).toBe(noPermission)
      expect(of(call, newUser | 0x20000n | 17n)).toBe(noPermission)
      expect(of(call, 0x1200011n)).toBe(allowed)
    }
  })

  test('denies terminal injection, ignoring the upper half of the argument', () => {
    for (const request of [0x5412n, 0x541cn, 0x5412n + highBits])
      expect(of(numbers.ioctl, 0n, request)).toBe(noPermission)
    expect(of(numbers.ioctl, 0n, 0x5413n)).toBe(allowed)
  })

  test('kills programs of another architecture', () => {
    const others = [x86, arm, i386].filter((one) => one !== architecture)
    for (const other of others)
      expect(evaluate(filter, { architecture: other, number: numbers.read })).toBe(killed)
  })
})

test('on x86_64, x32 calls do not exist', () => {
  const filter = seccompFilter('x64')
  expect(evaluate(filter, { architecture: x86, number: 0x40000000 })).toBe(missing)
  expect(evaluate(filter, { architecture: x86, number: 0x40000000 + 165 })).toBe(missing)
})

test('there is no filter for an unknown architecture', () => {
  expect(seccompFilter('riscv64')).toBeUndefined()
})

describe.skipIf(!hasSandbox || !seccompFilter())('in the sandbox', () => {
  test.each([
    ['unshare -U true', 'Operation not permitted'],
    ['unshare -Ur true', 'Operation not permitted'],
    ['mount -t tmpfs x /tmp', 'permission denied'],
    ['bwrap --ro-bind / / true', 'No permissions to create new namespace|Operation not permitted'],
    [`perl -e 'socket(S, 40, 1, 0) or die "$!\\n"'`, 'Address family not supported'],
    [`perl -e 'socket(S, 38, 5, 0) or die "$!\\n"'`, 'Address family not supported'],
    [`perl -e 'syscall(425, 8, 0) == 0 or die "$!\\n"'`, 'Function not implemented'],
    [`perl -e 'syscall(435, 0, 0) == 0 or die "$!\\n"'`, 'Function not implemented'],
    [`perl -e 'syscall(443, 0, 0, 0, 0) == 0 or die "$!\\n"'`, 'Operation not permitted'],
    [
      `perl -e 'open(T, "+<", "/dev/ptmx") or die "no terminal"; my $x = "x"; ioctl(T, 0x5412, $x) or die "$!\\n"'`,
      'permitted',
    ],
  ])('%s is denied', async (line, words) => {
    const { exitCode, output } = await inside(line, { root: folder(), network: true })
    expect(output).toMatch(new RegExp(words))
    expect(exitCode).not.toBe(0)
  })

  test('ordinary programs work', async () => {
    const lines = [
      'dash -c "echo dash; (echo forked) | cat"',
      `node -e 'new (require("worker_threads").Worker)("console.log(1 + 1)", { eval: true })'`,
      `node -e 'process.stdout.write(require("child_process").execSync("echo child"))'`,
      `node -e 'require("fs").promises.readFile("/etc/passwd").then(() => console.log("read"))'`,
      'cd /tmp && git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m first && git log --format=%s',
      'npm --version > /dev/null && echo npm',
      `perl -e 'socketpair(A, B, 1, 1, 0) && socket(C, 2, 1, 0) && print "sockets\\n"'`,
      'bash -c "echo here > >(cat); wait"',
    ]
    const root = folder()
    const output: string[] = []
    for (const line of lines) output.push((await inside(line, { root })).output.trim())
    expect(output).toEqual(['dash\nforked', '2', 'child', 'read', 'first', 'npm', 'sockets', 'here'])
  })

  test('several commands at once each have the filter, and no descriptor stays open', async () => {
    const root = folder()
    await inside('true', { root })
    const before = openDescriptors()
    const runs = Array.from({ length: 8 }, () =>
      inside('grep ^Seccomp: /proc/self/status; ls -l /proc/self/fd | grep -c socket:', { root }),
    )
    for (const { output } of await Promise.all(runs)) expect(output).toMatch(/^Seccomp:\t2\n1\n/)
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before)
  })
})
