import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { shell } from '../shell.ts'
import { elsewhere, fill, folder, hasSandbox, inside } from './sandbox.test-kit.ts'
import { findSandbox, sandboxed, sandboxProblem } from './sandbox.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

describe.skipIf(!hasSandbox)('in the sandbox', () => {
  test.each([
    ['below /tmp', undefined],
    ['elsewhere', elsewhere],
  ])('the workspace can be read and written, %s', async (_, parent) => {
    const root = fill(folder(parent), { 'a.txt': 'before' })
    const line = 'cat a.txt && echo after > a.txt && mkdir b && mv a.txt b/ && pwd'
    expect(await inside(line, { root })).toMatchObject({ exitCode: 0, output: `before${root}\n` })
    expect(readFileSync(join(root, 'b/a.txt'), 'utf8')).toBe('after\n')
  })

  test('more folders are writable if named, and a missing one is ignored', async () => {
    const [root, more] = [folder(), folder(elsewhere)]
    const writable = [more, join(more, 'nothing')]
    expect(await inside(`echo hi > ${more}/a`, { root, writable })).toMatchObject({ exitCode: 0, output: '' })
    expect(readFileSync(join(more, 'a'), 'utf8')).toBe('hi\n')
  })

  test('variables for the command do not affect bubblewrap itself', async () => {
    const [root, outside] = [folder(), folder(elsewhere)]
    const env = { A: 'b', LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(outside, 'linker') }
    const box = shell({ workspace: root, sandbox: 'required' })
    const model = scriptedModel(script.tool('shell', { command: ['sh', '-c', 'echo $A > a'], env }, 'Done.'))
    await agent({ model, tools: [box] }).run('Go.')
    await box.close()
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('b\n')
    expect(readdirSync(outside)).toStrictEqual([])
  })

  test('a bwrap in the workspace is never used, whatever PATH says', async () => {
    const root = folder()
    writeFileSync(join(root, 'bwrap'), '#!/bin/sh\n', { mode: 0o755 })
    vi.stubEnv('PATH', `${root}:${process.env.PATH}`)
    expect(sandboxed('true', [], { root, cwd: root }).file).not.toBe(join(root, 'bwrap'))
    expect(await findSandbox({ root })).not.toBe(join(root, 'bwrap'))
  })

  test('installed programs can be run and read', async () => {
    const file = join(fill(folder(elsewhere), { a: 'read ' }), 'a')
    const { exitCode, output } = await inside(`cat ${file} && env echo run`, { root: folder() })
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: 'read run\n' })
  })

  test('/tmp is private, and TMPDIR is reset', async () => {
    const file = join(fill(folder('/tmp'), { a: 'secret' }), 'a')
    vi.stubEnv('TMPDIR', '/nowhere')
    const line = `ls -A /tmp; cat ${file}; echo x > "$(mktemp)" && echo written`
    const { output } = await inside(line, { root: folder(elsewhere) })
    expect(output).toMatch(/^written\ncat: .* No such file/)
  })

  describe('nothing outside the workspace can be changed', () => {
    const outside = (file: string) => join(folder(elsewhere), file)
    const ways: [name: string, line: (target: string) => string][] = [
      ['by its path', (target) => `echo x > ${target}`],
      ['by `..`', (target) => `echo x > "$(realpath --relative-to=. ${target})"`],
      ['through an existing link', () => 'echo x > link'],
      ['through a new link', (target) => `ln -s ${target} new && echo x > new`],
      ['through a hard link', (target) => `ln ${target} new && echo x > new`],
      ['through the root of process 1', (target) => `echo x > /proc/1/root${target}`],
      ['through the root of its own process', (target) => `echo x > /proc/self/root${target}`],
      ['by removing it', (target) => `rm -f ${target}`],
      ['by moving it in', (target) => `mv ${target} .`],
      ['by replacing it', (target) => `echo x > new; mv new ${target}`],
      ['by its mode', (target) => `chmod 777 ${target}`],
      ['by truncating it', (target) => `truncate -s 0 ${target}`],
      ['by remounting the root', (target) => `mount -o remount,rw / && echo x > ${target}`],
      ['by a bind mount of its folder', (target) => `mount --bind / mnt && echo x > mnt${target}`],
      [
        'as root of another namespace',
        (target) => `unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > ${target}'`,
      ],
      ['in another root', (target) => `chroot / sh -c 'echo x > ${target}'`],
      ['in the namespaces of process 1', (target) => `nsenter -t 1 -a sh -c 'echo x > ${target}'`],
      ['as root', (target) => `sudo -n sh -c 'echo x > ${target}'`],
    ]
    test.each(ways)('%s', async (_, line) => {
      const target = outside('old.txt')
      writeFileSync(target, 'old', { mode: 0o600 })
      const root = fill(folder(), { 'mnt/a': '' })
      symlinkSync(target, join(root, 'link'))
      const { exitCode } = await inside(line(target), { root })
      expect(exitCode).not.toBe(0)
      expect(readFileSync(target, 'utf8')).toBe('old')
      expect(statSync(target).mode & 0o777).toBe(0o600)
    })
  })

  test('no device can be created, and none of the machine is visible', async () => {
    const line = 'mknod disk b 254 0 || mknod mem c 1 1 || ls /dev/vda /dev/sda /dev/mem /dev/kmsg'
    const { exitCode } = await inside(line, { root: folder() })
    expect(exitCode).not.toBe(0)
  })

  test('nothing can be mounted or unmounted', async () => {
    const root = fill(folder(), { 'mnt/a': '' })
    for (const line of ['mount -t tmpfs none mnt', 'umount /tmp', 'umount /run', 'umount -l /proc'])
      expect((await inside(line, { root })).exitCode, line).not.toBe(0)
  })

  test('other processes cannot be seen or killed', async () => {
    const other = spawn('sleep', ['1000'])
    try {
      const line = `ls -d /proc/[0-9]* | wc -l; cat /proc/${other.pid}/environ; kill -9 ${other.pid}`
      const { exitCode, output } = await inside(line, { root: folder() })
      expect(exitCode).not.toBe(0)
      expect(Number.parseInt(output, 10)).toBeLessThan(8)
      expect(output).toContain('No such process')
      expect(other.exitCode).toBeNull()
      expect(process.kill(other.pid ?? 0, 0)).toBe(true)
    } finally {
      other.kill('SIGKILL')
    }
  })

  test('it has no capabilities and cannot gain any', async () => {
    const { output } = await inside('grep -E "^(Cap(Eff|Prm|Bnd)|NoNewPrivs)" /proc/self/status', {
      root: folder(),
    })
    expect(output.match(/Cap\w+:\s0+$/gm)).toHaveLength(3)
    expect(output).toMatch(/NoNewPrivs:\s1/)
  })

  test('a server on this machine is reached only if the network is allowed', async () => {
    const server = createServer((socket) => socket.end('reached'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const line = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`
    const root = folder()
    try {
      expect((await inside(line, { root })).output).toContain('Connection refused')
      expect((await inside(line, { root, network: true })).output).toBe('reached')
    } finally {
      server.close()
    }
  })

  test('with the network, names are resolved as outside', async () => {
    const outside = existsSync('/etc/resolv.conf') ? readFileSync('/etc/resolv.conf', 'utf8') : ''
    const { output } = await inside('cat /etc/resolv.conf 2> /dev/null', { root: folder(), network: true })
    expect(output).toBe(outside)
  })

  test('sockets of the machine are hidden, even if a variable names them', async () => {
    const [hidden, agent] = [join(folder('/tmp'), 'a.sock'), join(folder(elsewhere), 'agent.sock')]
    const servers = [hidden, agent].map((path) => createServer((socket) => socket.end('out')).listen(path))
    await Promise.all(servers.map((server) => once(server, 'listening')))
    vi.stubEnv('SSH_AUTH_SOCK', agent)
    const ask = (path: string) =>
      `node -e 'require("net").connect("${path}").on("error", (e) => console.log(e.code)).on("data", (d) => console.log(String(d)))'`
    const { output } = await inside(`${ask(hidden)}; ${ask(agent)}; ls -A /run`, {
      root: folder(),
      network: true,
    })
    for (const server of servers) server.close()
    expect(output).not.toContain('out')
    expect(output).toMatch(/^(ENOENT|ECONNREFUSED)\n(ENOTSOCK|ECONNREFUSED|EACCES)\n/)
    expect(output).not.toMatch(/docker|dbus|postgresql|^user$/m)
  })

  describe('secrets in the home folder', () => {
    const home = () => {
      const made = fill(folder(elsewhere), {
        '.ssh/id_ed25519': 'key',
        '.config/gh/hosts.yml': 'key',
        '.config/other': 'fine',
        '.npmrc': 'key',
        'real/aws': 'key',
      })
      symlinkSync(join(made, 'real'), join(made, '.aws'))
      vi.stubEnv('HOME', made)
      return made
    }
    const look = 'cd "$HOME"; ls -A .ssh .config/gh real; cat .npmrc .aws/aws .config/other'

    test('are hidden, even through links', async () => {
      home()
      const { output } = await inside(look, { root: folder() })
      expect(output).not.toContain('key')
      expect(output).toMatch(/^\.config\/gh:\n\n\.ssh:\n\nreal:\nfine/)
    })

    test('are hidden if the home folder is the workspace', async () => {
      const root = home()
      expect((await inside(look, { root })).output).not.toContain('key')
      expect(readFileSync(join(root, '.npmrc'), 'utf8')).toBe('key')
    })

    test('are visible if the workspace is inside, or if they are named', async () => {
      const at = join(home(), '.ssh')
      expect((await inside('cat id_ed25519', { root: at })).output).toBe('key')
      expect((await inside('cat ~/.ssh/id_ed25519', { root: folder(), writable: [at] })).output).toBe('key')
    })
  })

  test('caches that builds need are visible, but not the secrets next to them', async () => {
    const secret = [
      '.m2/settings.xml',
      '.cargo/credentials.toml',
      '.gradle/gradle.properties',
      '.nuget/NuGet/NuGet.Config',
    ]
    const needed = ['.m2/repository/a.jar', '.cargo/registry/a', '.gradle/caches/a', '.nuget/packages/a']
    const files = [...secret.map((path) => [path, 'key']), ...needed.map((path) => [path, 'fine'])]
    vi.stubEnv('HOME', fill(folder(elsewhere), Object.fromEntries(files)))
    const { output } = await inside(`cd; cat ${[...secret, ...needed].join(' ')} 2> /dev/null`, {
      root: folder(),
    })
    expect(output).toBe('fine'.repeat(needed.length))
  })

  test('secrets that a variable names are hidden, wherever they are', async () => {
    const at = fill(folder(elsewhere), {
      aws: 'key',
      one: 'key',
      two: 'key',
      'gpg/ring': 'key',
      other: 'fine',
    })
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(at, 'aws'))
    vi.stubEnv('KUBECONFIG', `${join(at, 'one')}:${join(at, 'two')}`)
    vi.stubEnv('GNUPGHOME', join(at, 'gpg'))
    vi.stubEnv('NPM_CONFIG_USERCONFIG', '/dev/null')
    const { output } = await inside(`cat ${at}/* ${at}/gpg/*; cat /dev/null`, { root: folder() })
    expect(output).toMatch(/^fine\n?cat: /)
    expect(output).not.toContain('key')
  })

  describe('in read-only mode', () => {
    test.each(['echo x > a', 'rm a', 'mkdir b', 'git commit --allow-empty -m x', 'echo x > more/a'])(
      'nothing can be changed: %s',
      async (line) => {
        const [root, more] = [fill(folder(elsewhere), { a: 'old' }), folder(elsewhere)]
        execFileSync('git', ['init', '-q'], { cwd: root })
        symlinkSync(more, join(root, 'more'))
        const { exitCode, output } = await inside(line, { root, writable: [more], readOnly: true })
        expect(exitCode).not.toBe(0)
        expect(output).toContain('Read-only file system')
        expect(readFileSync(join(root, 'a'), 'utf8')).toBe('old')
      },
    )

    test('everything can be read, git shows changes, and /tmp is writable', async () => {
      const root = fill(folder(elsewhere), { a: 'old' })
      const git =
        'git init -q; git add a; git -c user.name=a -c user.email=b commit -q -m one; touch -d yesterday a; sed -i s/old/new/ a'
      execFileSync('bash', ['-ec', git], { cwd: root })
      const line =
        'git status --short; git diff --stat; git log --format=%s; cat a > /tmp/a && cat /tmp/a; echo $GIT_OPTIONAL_LOCKS'
      const { exitCode, output } = await inside(line, { root, readOnly: true })
      expect({ exitCode, output }).toStrictEqual({
        exitCode: 0,
        output: ' M a\n a | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\none\nnew0\n',
      })
    })

    test('a folder without a repository stays unchanged, even while the command runs', async () => {
      const root = folder(elsewhere)
      expect((await inside('ls -A', { root, readOnly: true })).output).toBe('')
    })
  })

  test('no visible process leads out through its root, folder or open files', async () => {
    const [root, outside] = [folder(elsewhere), join(fill(folder(elsewhere), { a: 'old' }), 'a')]
    const line = `
      sleep 5 & other=$!
      for process in /proc/[0-9]* /proc/self /proc/thread-self; do
        for way in root cwd task/*/root task/*/cwd fd/* map_files/*; do
          for target in "$process"/$way${outside} "$process"/$way/..${outside} "$process"/$way/../../../../..${outside}; do
            echo x 2> /dev/null > "$target"
          done
          ls -d "$process"/$way/newroot "$process"/$way/oldroot "$process"/$way/.pivot_root 2> /dev/null
        done
        readlink "$process"/root "$process"/cwd "$process"/fd/*
      done
      ls /proc | grep -c '^[0-9]'; kill $other`
    const { output } = await inside(line, { root })
    expect(readFileSync(outside, 'utf8')).toBe('old')
    expect(output).not.toMatch(/newroot|oldroot|pivot_root/)
    const links = output.split('\n').filter((text) => text.startsWith('/'))
    expect(
      links.filter((path) => !['/', root, '/dev/null'].includes(path) && !path.startsWith('/proc')),
    ).toStrictEqual([])
  })

  describe('in a git repository', () => {
    const repository = () =>
      fill(folder(), { '.git/hooks/pre-commit': 'old', '.git/config': 'old', '.git/HEAD': 'old' })

    test.each([
      'echo x > .git/hooks/pre-commit',
      'echo x > .git/hooks/post-merge',
      'echo x > .git/config',
      'rm -r .git/hooks && mkdir .git/hooks',
      'echo x > new && mv new .git/config',
      'mv .git old && cp -r old .git && echo x > .git/config',
      'rm -rf .git; mkdir .git',
      'mv .git/hooks .git/old',
    ])('hooks and config cannot be changed: %s', async (line) => {
      const root = repository()
      expect((await inside(line, { root })).exitCode).not.toBe(0)
      expect(readdirSync(join(root, '.git/hooks'))).toStrictEqual(['pre-commit'])
      for (const file of ['.git/hooks/pre-commit', '.git/config'])
        expect(readFileSync(join(root, file), 'utf8')).toBe('old')
    })

    test('the rest can be written', async () => {
      const root = repository()
      expect((await inside('echo new > .git/HEAD', { root })).exitCode).toBe(0)
      expect(readFileSync(join(root, '.git/HEAD'), 'utf8')).toBe('new\n')
    })

    test('the .git file of a worktree cannot be changed', async () => {
      const root = fill(folder(), { '.git': 'gitdir: elsewhere' })
      expect((await inside('rm -f .git; mkdir .git', { root })).exitCode).not.toBe(0)
      expect(readFileSync(join(root, '.git'), 'utf8')).toBe('gitdir: elsewhere')
    })
  })

  test('it ends with the process that started it', async () => {
    const root = folder()
    const sleep = `1000.${process.pid}${Date.now()}`
    const line = `trap "" TERM; setsid sleep ${sleep} & sleep ${sleep}`
    const { file, args, filter = '' } = sandboxed('sh', ['-c', line], { root, cwd: root })
    writeFileSync(join(root, 'filter'), filter)
    const words = ['-c', '"$@" 3< "$0" & wait', join(root, 'filter'), file, ...args]
    const parent = spawn('sh', words, { stdio: 'ignore' })
    await expect.poll(() => running(sleep)).toBeGreaterThanOrEqual(2)
    parent.kill('SIGKILL')
    await expect.poll(() => running(sleep)).toBe(0)
  })
})

/** How many `sleep` processes have this duration. */
function running(sleep: string): number {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${sleep}\0`
    } catch {
      return false
    }
  }).length
}

describe('sandbox detection', () => {
  test.skipIf(!hasSandbox)('finds its path', async () => {
    expect(await findSandbox()).toMatch(/\/bwrap$/)
    expect(await sandboxProblem()).toBeUndefined()
  })

  /** Detection with only these programs installed. */
  async function where(bin: string) {
    vi.stubEnv('PATH', bin)
    vi.resetModules()
    const fresh = await import('./sandbox.ts')
    return [await fresh.findSandbox(), await fresh.sandboxProblem()]
  }

  test.skipIf(process.platform !== 'linux')('says how to install a missing one', async () => {
    expect(await where(folder())).toStrictEqual([
      undefined,
      'bubblewrap is not installed (apt-get install bubblewrap)',
    ])
  })

  test.skipIf(process.platform !== 'linux')('says why one does not work', async () => {
    const bin = folder()
    const words = 'No permissions to create new namespace'
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\necho 'bwrap: ${words}' >&2\nexit 1\n`, { mode: 0o755 })
    const [path, problem] = await where(bin)
    expect(path).toBeUndefined()
    expect(problem).toContain(`bubblewrap cannot create a sandbox here (${words})`)
  })
})
