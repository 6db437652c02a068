import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { permission } from '../packages/tools/src/index.ts'
import { elsewhere, hasSandbox } from '../packages/tools/src/shell/sandbox/sandbox.test-kit.ts'
import {
  careful,
  expectHarmless,
  type Fixture,
  openFixture,
  type Row,
  resultsIn,
  wordsOf,
} from './escapes-fixture.ts'
import { write } from './escapes-rows.ts'

const sh = (name: string, command: string): Row => [name, ['shell', { command }]]

/** Attempts of commands, with rules that allow every command. */
const attempts: readonly Row[] = [
  sh('creates a file outside', 'touch ../outside/marker'),
  sh('appends to a file outside', 'echo a >> ../outside/secret.txt'),
  sh('removes files outside', 'rm -rf ../outside ~/profile'),
  sh('changes permissions outside', 'chmod 777 ../outside/folder'),
  sh('changes times outside', 'touch -d 2001-01-01 ../outside/secret.txt'),
  sh('moves a folder from outside', 'mv ../outside moved'),
  sh('writes through a link', 'ln -s ../outside soft && echo a > soft/marker'),
  sh('writes through a hard link', 'ln ../outside/secret.txt hard && echo a > hard'),
  sh('remounts the root as writable', 'mount -o remount,rw,bind / ; touch ../outside/marker'),
  sh('mounts the folder elsewhere', 'mkdir m; mount --bind ../outside m; touch m/marker'),
  sh(
    'creates its own namespace',
    'unshare -rm sh -c "mount -o remount,rw,bind / && touch ../outside/marker"',
  ),
  sh(
    'uses the first process',
    'touch /proc/1/root$PWD/../outside/marker; touch /proc/1/cwd/../outside/marker',
  ),
  sh('uses an open folder', 'for fd in /proc/self/fd/*; do touch $fd/../outside/marker $fd/marker; done'),
  sh('kills every process it can see', 'kill -9 -1; kill -9 $PPID; kill -9 1'),
  sh('leaves a process behind', '(setsid nohup sleep 300 >/dev/null 2>&1 &) ; setsid -f sleep 300'),
  sh('leaves a process behind with an empty environment', 'env -i setsid -f sh -c "sleep 300; : TOKEN"'),
  sh(
    'connects to a server of the machine',
    'exec 3<>/dev/tcp/127.0.0.1/PRIVATE; echo "GET / HTTP/1.0" >&3; echo >&3',
  ),
  sh('connects with a program', `node -e 'fetch("http://127.0.0.1:PRIVATE/")'`),
  sh('connects over IPv6', `node -e 'fetch("http://[::1]:PRIVATE/")'`),
  sh('creates a git hook', 'printf "#!/bin/sh\\n" > .git/hooks/pre-commit'),
  sh(
    'moves the repository away and creates another',
    'mv .git old; rm -rf .git; git init -q; git config core.fsmonitor x',
  ),
  sh(
    'changes the settings of git',
    'git config core.fsmonitor "touch ../outside/marker"; echo a >> .git/config',
  ),
]

describe.skipIf(!hasSandbox)('in the sandbox, everything outside stays unchanged when a command', () => {
  const everything = permission({ allow: ['run', 'read', 'write', 'fetch'] })
  let fixture: Fixture

  beforeAll(async () => {
    // Not in the temporary folder, which the sandbox hides completely.
    fixture = await openFixture({ sandbox: 'required', parent: elsewhere })
    return () => fixture.close()
  })
  afterEach(() => fixture.restore())

  test.for(attempts)('%s', async ([, ...calls]) => {
    const settings = () => readFileSync(join(fixture.workspace, '.git', 'config'), 'utf8')
    const before = settings()
    const [result] = resultsIn(await expectHarmless(fixture, () => fixture.run(calls, everything)))
    expect(wordsOf(result)).toMatch(/\[(exit code|ended by)/)
    expect(settings()).toBe(before)
  })

  test('runs a program of the project that does harm', async () => {
    const [result] = resultsIn(
      await expectHarmless(fixture, () => fixture.run([['shell', { command: 'bin/ls' }]], everything)),
    )
    expect(wordsOf(result)).toMatch(/Read-only file system.*\[The sandbox denied this/s)
  })
})

const repository = (folder: string) => [
  write(`${folder}/HEAD`, 'ref: refs/heads/main\n'),
  write(`${folder}/objects/a`, ''),
  write(`${folder}/refs/a`, ''),
  write(
    `${folder}/config`,
    '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ../../outside/marker;"\n',
  ),
]

test('git does not treat a folder as a repository because it looks like one, so it runs none of its hooks', async () => {
  const fixture = await openFixture()
  try {
    const attempt = (rules: typeof careful | null) =>
      expectHarmless(fixture, () =>
        fixture.run([...repository('src'), ['shell', { command: 'git status', cwd: 'src' }]], rules),
      )
    const events = await attempt(null)
    expect(resultsIn(events).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
    expect(wordsOf(resultsIn(events).at(-1))).toMatch(/cannot use bare repository.*exit code 128/s)
    // And no rule for git allows another repository than that of the workspace.
    expect(resultsIn(await attempt(careful)).at(-1)?.status).toBe('blocked')
  } finally {
    await fixture.close()
  }
})
