import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { permission } from '../packages/tools/src/index.ts'
import { elsewhere, hasSandbox } from '../packages/tools/src/shell/sandbox/sandbox.test-kit.ts'
import { write } from './escapes-rows.ts'
import { careful, harmless, openWorld, type Row, resultsIn, type World, wordsOf } from './escapes-world.ts'

const sh = (name: string, command: string): Row => [name, ['shell', { command }]]

/** What a command tries that nobody has looked at: with rules that let every command pass. */
const attempts: readonly Row[] = [
  sh('makes a file outside', 'touch ../outside/marker'),
  sh('adds to a file outside', 'echo a >> ../outside/secret.txt'),
  sh('removes what is outside', 'rm -rf ../outside ~/profile'),
  sh('changes rights outside', 'chmod 777 ../outside/folder'),
  sh('changes times outside', 'touch -d 2001-01-01 ../outside/secret.txt'),
  sh('moves what is outside inside', 'mv ../outside moved'),
  sh('writes through a link', 'ln -s ../outside soft && echo a > soft/marker'),
  sh('writes through a hard link', 'ln ../outside/secret.txt hard && echo a > hard'),
  sh('mounts the machine again, to be written', 'mount -o remount,rw,bind / ; touch ../outside/marker'),
  sh('mounts the folder elsewhere', 'mkdir m; mount --bind ../outside m; touch m/marker'),
  sh('makes a room of its own', 'unshare -rm sh -c "mount -o remount,rw,bind / && touch ../outside/marker"'),
  sh(
    'goes by the first process',
    'touch /proc/1/root$PWD/../outside/marker; touch /proc/1/cwd/../outside/marker',
  ),
  sh('goes by an open folder', 'for fd in /proc/self/fd/*; do touch $fd/../outside/marker $fd/marker; done'),
  sh('ends every process it can see', 'kill -9 -1; kill -9 $PPID; kill -9 1'),
  sh('leaves a process behind', '(setsid nohup sleep 300 >/dev/null 2>&1 &) ; setsid -f sleep 300'),
  sh('leaves a process behind that has forgotten everything', 'env -i setsid -f sh -c "sleep 300; : TOKEN"'),
  sh(
    'asks a server of the machine',
    'exec 3<>/dev/tcp/127.0.0.1/PRIVATE; echo "GET / HTTP/1.0" >&3; echo >&3',
  ),
  sh('asks it by a program', `node -e 'fetch("http://127.0.0.1:PRIVATE/")'`),
  sh('asks it by IPv6', `node -e 'fetch("http://[::1]:PRIVATE/")'`),
  sh('makes a hook of git', 'printf "#!/bin/sh\\n" > .git/hooks/pre-commit'),
  sh(
    'moves the repository away and makes another',
    'mv .git old; rm -rf .git; git init -q; git config core.fsmonitor x',
  ),
  sh(
    'changes the settings of git',
    'git config core.fsmonitor "touch ../outside/marker"; echo a >> .git/config',
  ),
]

describe.skipIf(!hasSandbox)(
  'in the sandbox, whatever a command does, all around it stays as it is: it',
  () => {
    const everything = permission({ allow: ['run', 'read', 'write', 'fetch'] })
    let world: World

    beforeAll(async () => {
      // Not where folders for a while are, which it does not see at all.
      world = await openWorld({ sandbox: 'required', parent: elsewhere })
      return () => world.close()
    })
    afterEach(() => world.restore())

    test.for(attempts)('%s', async ([, ...calls]) => {
      const settings = () => readFileSync(join(world.workspace, '.git', 'config'), 'utf8')
      const before = settings()
      const [result] = resultsIn(await harmless(world, () => world.run(calls, everything)))
      expect(wordsOf(result)).toMatch(/\[(exit code|ended by)/)
      expect(settings()).toBe(before)
    })

    test('runs a program of the project that does harm', async () => {
      const [result] = resultsIn(
        await harmless(world, () => world.run([['shell', { command: 'bin/ls' }]], everything)),
      )
      expect(wordsOf(result)).toMatch(/Read-only file system.*\[The sandbox refused this/s)
    })
  },
)

const repository = (folder: string) => [
  write(`${folder}/HEAD`, 'ref: refs/heads/main\n'),
  write(`${folder}/objects/a`, ''),
  write(`${folder}/refs/a`, ''),
  write(
    `${folder}/config`,
    '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ../../outside/marker;"\n',
  ),
]

test('git takes no folder for a repository because it looks like one, and so runs nothing that it names', async () => {
  const world = await openWorld()
  try {
    const attempt = (rules: typeof careful | null) =>
      harmless(world, () =>
        world.run([...repository('src'), ['shell', { command: 'git status', cwd: 'src' }]], rules),
      )
    const events = await attempt(null)
    expect(resultsIn(events).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
    expect(wordsOf(resultsIn(events).at(-1))).toMatch(/cannot use bare repository.*exit code 128/s)
    // And no rule for git allows it in another repository than that of the workspace.
    expect(resultsIn(await attempt(careful)).at(-1)?.status).toBe('blocked')
  } finally {
    await world.close()
  }
})
