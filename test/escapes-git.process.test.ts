import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  elsewhere,
  fill,
  folder,
  hasSandbox,
  inside,
} from '../packages/tools/src/shell/sandbox/sandbox.test-kit.ts'
import { sandboxDenial } from '../packages/tools/src/shell/sandbox/sandbox.ts'
import { some } from './size.ts'

/** A workspace, and the files of its user. */
interface Place {
  readonly workspace: string
  readonly marker: string
  readonly env: NodeJS.ProcessEnv
}

/**
 * An attempt. `MARKER` in its lines stands for a path outside, and `EVIL` for settings that make
 * git touch it.
 */
interface Route {
  readonly name: string
  /** Prepares the workspace, a repository with one commit. Runs outside the sandbox. */
  readonly before?: string
  /** Each is a separate command. */
  readonly lines: readonly string[]
  /** Where the user runs git afterwards, below the workspace. */
  readonly later?: string
  /** The workspace, if it is below the repository. */
  readonly below?: string
}

const hook = (at: string) => `printf '#!/bin/sh\\ntouch MARKER\\n' > ${at} && chmod +x ${at}`
const evil = (at: string) => `printf 'EVIL' >> ${at}`
const newRepository = (at: string) =>
  `mkdir -p ${at}/objects ${at}/refs && echo ref: refs/heads/main > ${at}/HEAD && ${evil(`${at}/config`)}`
/** Git treats a folder with these three as a repository, whatever its name. */
const bare = (at: string) =>
  `${newRepository(at)} && printf '\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ..\\n' >> ${at}/config`
const embedded =
  'mkdir -p vendor && git init -q vendor/lib && git -C vendor/lib commit -q --allow-empty -m one'

const routes: readonly Route[] = [
  { name: 'the settings', lines: [evil('.git/config')] },
  { name: 'a hook', lines: [hook('.git/hooks/pre-commit')] },
  {
    name: 'missing hooks',
    before: 'rm -r .git/hooks',
    lines: ['mkdir -p .git/hooks', hook('.git/hooks/pre-commit')],
  },
  { name: 'missing settings', before: 'rm .git/config', lines: [evil('.git/config')] },
  {
    name: 'the common folder of another repository',
    lines: [`cp -r .git copy && ${evil('copy/config')} && echo ../copy > .git/commondir`],
  },
  {
    name: 'a repository moved away and created again',
    lines: ['mv .git old; rm -rf .git', newRepository('.git')],
  },
  {
    name: 'a new repository',
    before: 'rm -rf .git',
    lines: ['git init -q', evil('.git/config')],
  },
  { name: 'a new repository made by hand', before: 'rm -rf .git', lines: [newRepository('.git')] },
  {
    name: 'a new .git file',
    before: 'rm -rf .git',
    lines: [`${newRepository('x')}; echo gitdir: x > .git`],
  },
  {
    name: 'a new .git link',
    before: 'rm -rf .git',
    lines: [`${newRepository('x')}; ln -s x .git`],
  },
  { name: 'the workspace itself as a repository', before: 'rm -rf .git', lines: [bare('.')] },
  { name: 'a new repository below the real one', below: 'src', lines: [newRepository('.git')] },
  {
    name: 'the target of a .git link',
    before: 'mv .git real && ln -s real .git',
    lines: [evil('real/config')],
  },
  {
    name: 'a repository in place of a .git link',
    before: 'mv .git real && ln -s real .git',
    lines: [`rm .git; ${newRepository('.git')}`],
  },
  {
    name: 'a repository in place of a .git link to the outside',
    before: 'mv .git ../real && ln -s ../real .git',
    lines: [`rm .git; ${newRepository('.git')}`],
  },
  {
    name: 'the target of a .git file',
    before: 'mv .git real && echo gitdir: real > .git',
    lines: [evil('real/config')],
  },
  {
    name: 'another .git file',
    before: 'mv .git ../real && echo gitdir: ../real > .git',
    lines: [`rm -f .git; ${newRepository('x')}; echo gitdir: x > .git`],
  },
  {
    name: 'the target of a .git file, created again',
    before: 'mv .git real && echo gitdir: real > .git',
    lines: [`mv real old; ${newRepository('real')}`],
  },
  {
    name: 'settings of an embedded repository',
    before: embedded,
    lines: [evil('vendor/lib/.git/config')],
    later: 'vendor/lib',
  },
  {
    name: 'a hook of an embedded repository',
    before: embedded,
    lines: [hook('vendor/lib/.git/hooks/pre-commit')],
    later: 'vendor/lib',
  },
  {
    name: 'an embedded repository, created again',
    before: embedded,
    lines: [`mv vendor/lib/.git old; ${newRepository('vendor/lib/.git')}`],
    later: 'vendor/lib',
  },
  {
    name: 'its folder moved away and created again',
    before: embedded,
    lines: [`mv vendor old; ${newRepository('vendor/lib/.git')}`],
    later: 'vendor/lib',
  },
  { name: 'a new embedded repository', lines: [newRepository('new/lib/.git')], later: 'new/lib' },
  {
    name: 'a repository in node_modules',
    lines: [newRepository('node_modules/@a/b/.git')],
    later: 'node_modules/@a/b',
  },
  {
    name: 'a folder that looks like a repository',
    lines: [bare('src/fixture')],
    later: 'src/fixture',
  },
  {
    name: 'a repository in a folder that cannot be listed',
    lines: [`${newRepository('new/.git')}; chmod 311 new`],
    later: 'new',
  },
  {
    name: 'a repository whose folder cannot be written',
    lines: [`${newRepository('new/.git')}; chmod 555 new/.git`],
    later: 'new',
  },
  {
    name: 'a repository in the index, too deep for a scan',
    lines: [
      'mkdir -p $(seq -f "many/%g" 1300)',
      'git init -q many/1/2/3/lib && git -C many/1/2/3/lib commit -q --allow-empty -m x && git add many/1/2/3/lib 2> /dev/null',
      evil('many/1/2/3/lib/.git/config'),
    ],
  },
  {
    name: 'settings of a submodule',
    before: 'git -c protocol.file.allow=always submodule add -q "$PWD" sub',
    lines: [evil('.git/modules/sub/config')],
  },
  {
    name: 'another folder for a submodule',
    before: 'git -c protocol.file.allow=always submodule add -q "$PWD" sub',
    lines: [`${newRepository('x')}; rm -f sub/.git; echo gitdir: ../x > sub/.git`],
  },
  {
    name: 'settings of a worktree',
    before: 'git config extensions.worktreeConfig true',
    lines: [evil('.git/config.worktree')],
  },
  {
    name: 'the common folder of a worktree',
    before: 'git worktree add -q tree',
    lines: [
      `cp -r .git copy && ${evil('copy/config')} && echo ../../../copy > .git/worktrees/tree/commondir`,
    ],
    later: 'tree',
  },
  {
    name: 'a file that the settings include',
    before: 'touch extra && git config include.path ../extra',
    lines: [evil('extra')],
  },
  {
    name: 'a missing file that the settings include',
    before: 'git config include.path ../extra',
    lines: [evil('extra')],
  },
  {
    name: 'a file that the settings include on another branch',
    before: 'git config includeIf.onbranch:b.path ../extra',
    lines: [`${evil('extra')}; git checkout -q -b b`],
  },
  {
    name: 'a file that an included file includes',
    before: 'git config include.path ../one; git config -f one include.path two',
    lines: [evil('two')],
  },
  {
    name: 'a folder of hooks in the workspace',
    before: 'mkdir checks && git config core.hooksPath checks',
    lines: [hook('checks/pre-commit')],
  },
  {
    name: 'a missing folder of hooks',
    before: 'git config core.hooksPath checks',
    lines: [`mkdir checks; ${hook('checks/pre-commit')}`],
  },
  {
    name: "a folder of hooks in the user's settings",
    before: 'git config --global core.hooksPath checks',
    lines: [`mkdir checks; ${hook('checks/pre-commit')}`],
  },
  {
    name: 'settings with a hard link',
    lines: ['git init -q new/lib && ln new/lib/.git/config other', evil('other')],
    later: 'new/lib',
  },
  {
    name: 'settings behind a link',
    lines: [
      'git init -q new/lib && mv new/lib/.git/config x && ln -s ../../../x new/lib/.git/config',
      evil('x'),
    ],
    later: 'new/lib',
  },
]

function place({ before, below }: Pick<Route, 'before' | 'below'>): Place {
  const base = folder(elsewhere)
  // A folder that cannot be listed cannot be removed, except by root.
  onTestFinished(() => void execFileSync('chmod', ['-R', 'u+rwX', base]))
  const [top, home, marker] = ['workspace', 'home', 'marker'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ]
  fill(base, {
    'workspace/a.txt': 'a\n',
    'workspace/src/b.txt': 'b\n',
    'home/.gitconfig': '[user]\n\tname = a\n\temail = a@b.test\n',
  })
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), GIT_CONFIG_NOSYSTEM: '1' }
  const sh = (line: string) => execFileSync('bash', ['-ec', line], { cwd: top, env })
  sh('git init -q -b main && git add . && git commit -q -m one && mkdir -p .git/hooks')
  if (before) sh(before)
  return { workspace: join(top, below ?? ''), marker, env }
}

const filled = (line: string, marker: string) =>
  line.replaceAll('EVIL', `[core]\\n\\tfsmonitor = "touch ${marker};:"\\n`).replaceAll('MARKER', marker)

/** What a user, a shell prompt and an editor do in such a folder. */
function useGit({ workspace, env }: Place, { later = '' }: Pick<Route, 'later'>) {
  for (const cwd of [workspace, join(workspace, later)])
    for (const args of [
      ['status'],
      ['diff'],
      ['log', '-1'],
      ['add', 'a.txt'],
      ['commit', '-q', '--allow-empty', '-m', 'two'],
    ])
      if (existsSync(cwd)) spawnSync('git', args, { cwd, env })
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe.skipIf(!hasSandbox)('git runs nothing for the user that a command left in the workspace', () => {
  test.for(some(routes))('$name', async (route) => {
    const [control, tried] = [place(route), place(route)]
    // Without the sandbox the attempt works, or this would prove nothing.
    for (const line of route.lines)
      spawnSync('bash', ['-c', filled(line, control.marker)], { cwd: control.workspace, env: control.env })
    useGit(control, route)
    expect(existsSync(control.marker)).toBe(true)

    vi.stubEnv('HOME', tried.env.HOME)
    vi.stubEnv('XDG_CONFIG_HOME', tried.env.XDG_CONFIG_HOME)
    for (const line of route.lines) await inside(filled(line, tried.marker), { root: tried.workspace })
    useGit(tried, route)
    expect(existsSync(tried.marker)).toBe(false)
  })
})

/** A workspace with these files committed. */
function repository(files: Record<string, string> = {}): string {
  const root = fill(folder(elsewhere), { 'a.txt': 'a\n', ...files })
  fill(root, { '.home/.gitconfig': '[user]\n\tname = a\n\temail = a@b.test\n' })
  execFileSync('bash', ['-ec', 'git init -q -b main && echo .home > .git/info/exclude'], { cwd: root })
  vi.stubEnv('HOME', join(root, '.home'))
  execFileSync('bash', ['-ec', 'git add . && git commit -q -m one'], { cwd: root })
  return root
}

describe.skipIf(!hasSandbox)('git still works in the sandbox', () => {
  test.for([
    'echo b > b && git add . && git commit -q -m two && git log --oneline | grep two',
    'git checkout -q -b new && git switch -q main && git switch -q -c newer',
    'echo b > a.txt && git stash -q && git stash pop -q && git checkout -q -- a.txt',
    'git checkout -q -b b && git commit -q --allow-empty -m b && git checkout -q main && git commit -q --allow-empty -m c && git rebase -q b && git merge -q --no-edit b',
    'git tag -a v1 -m v1 && git describe && git reset -q --hard v1 && git reflog && git gc -q && git fsck',
    'git worktree add -q ../tree 2> /dev/null; git worktree add -q tree && cd tree && git commit -q --allow-empty -m x && git worktree list && cd .. && git worktree remove tree',
    'git clone -q . copy && git -C copy commit -q --allow-empty -m x && git -C copy config user.name b',
    'cd "$(mktemp -d)" && git init -q && git config core.fsmonitor x',
  ])('%s', async (line) => {
    const root = repository()
    expect(await inside(line, { root })).toMatchObject({ exitCode: 0, putAside: [] })
    expect(spawnSync('git', ['status'], { cwd: root }).status).toBe(0)
  })

  test('the settings of a cloned repository are read-only for the next command', async () => {
    const root = repository()
    await inside('git clone -q . copy', { root })
    const { output } = await inside(
      'git -C copy config user.name b; git -C copy commit -q --allow-empty -m x && echo well',
      { root },
    )
    expect(output).toMatch(/^well\n.*config: Device or resource busy/)
  })
})

describe.skipIf(!hasSandbox)('a folder without a repository', () => {
  test('gets no repository, and the model gets the reason; no placeholder is left', async () => {
    const root = fill(folder(elsewhere), { a: '' })
    const { exitCode, output } = await inside('ls -A; git status; git init', { root })
    expect(output).toMatch(/^\.git\na\nfatal: not a git repository/)
    expect(sandboxDenial({ output, exitCode, network: false, root })).toContain(
      'git repositories cannot be created here',
    )
    expect(readdirSync(root)).toStrictEqual(['a'])
  })

  test('gets a repository if that is allowed', async () => {
    const root = folder(elsewhere)
    const line = 'git init -q && git config user.name b'
    expect(await inside(line, { root, writable: ['.git'] })).toMatchObject({
      exitCode: 0,
      output: '',
      putAside: [],
    })
    expect(existsSync(join(root, '.git/config'))).toBe(true)
  })

  test('keeps a repository that the user creates while a command runs', async () => {
    const root = folder(elsewhere)
    const command = inside('touch ready; until [ -e go ]; do sleep 0.05; done; touch .git/config', { root })
    await vi.waitUntil(() => existsSync(join(root, 'ready')))
    execFileSync('git', ['init', '-q'], { cwd: root })
    fill(root, { go: '', '.git/hooks/pre-commit': 'of the user' })
    expect(await command).toMatchObject({ exitCode: 1, putAside: [] })
    expect(readFileSync(join(root, '.git/hooks/pre-commit'), 'utf8')).toBe('of the user')
  })

  test('gets no repository from a background command either, even if another command ends first', async () => {
    const root = folder(elsewhere)
    const command = inside('touch ready; until [ -e go ]; do sleep 0.05; done; mkdir .git; touch .git/x', {
      root,
    })
    await vi.waitUntil(() => existsSync(join(root, 'ready')))
    await inside('true', { root })
    fill(root, { go: '' })
    expect((await command).output).toMatch(/File exists.*\n.*Read-only file system/)
    expect(existsSync(join(root, '.git'))).toBe(false)
  })
})

describe.skipIf(!hasSandbox)('settings of tools that run code', () => {
  const names = ['.npmrc', '.vscode', '.husky', '.envrc', '.mcp.json', '.claude', '.bashrc', '.gitmodules']

  test.for(names)('%s cannot be changed, and a new one does not stay', async (name) => {
    const root = fill(folder(elsewhere), { [`there/${name}`]: 'old', new: '' })
    const there = join(root, 'there')
    await inside(`echo x > ${name}; rm -f ${name}; echo x > y; mv y ${name}`, { root: there })
    expect(readFileSync(join(there, name), 'utf8')).toBe('old')
    const { putAside } = await inside(`mkdir -p below && echo x > below/a && mv below ${name}`, { root })
    expect(existsSync(join(root, name))).toBe(false)
    expect(putAside).toStrictEqual([
      expect.stringMatching(new RegExp(`^${root}/\\${name}\\.refused-[0-9a-f]{8}$`)),
    ])
    expect(readFileSync(join(putAside[0] ?? '', 'a'), 'utf8')).toBe('x\n')
  })

  test('can be changed if listed as writable, existing or not', async () => {
    const root = fill(folder(elsewhere), { '.npmrc': 'old' })
    const writable = ['.husky', join(root, '.npmrc')]
    const line = 'mkdir .husky && echo new > .husky/pre-commit && echo new > x && mv x .npmrc'
    expect(await inside(line, { root, writable })).toMatchObject({ exitCode: 0, putAside: [] })
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toBe('new\n')
    expect((await inside('echo x > .vscode', { root, writable })).putAside).toHaveLength(1)
  })

  test('in a nested project are read-only once they exist', async () => {
    const root = folder(elsewhere)
    expect((await inside('mkdir app && echo a > app/.npmrc', { root })).putAside).toStrictEqual([])
    expect((await inside('echo b > app/.npmrc', { root })).output).toContain('Read-only file system')
  })

  test('are reported even if the command succeeded', async () => {
    const root = folder(elsewhere)
    const { output, exitCode, putAside } = await inside('echo x > .npmrc', { root })
    expect(sandboxDenial({ output, exitCode, network: false, root, putAside })).toMatch(
      /^\[The sandbox renamed files .*\.npmrc\.refused-\w+\. Leave them there, and ask the user if they are needed\.\]$/,
    )
  })
})
