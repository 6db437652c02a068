import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Places } from './table.ts'

export interface Fixture extends Places {
  readonly root: string
  /**
   * The files that are copied for each line. Lines are checked against `world`, an unchanged copy.
   */
  readonly template: string
  readonly world: string
  /** Links to busybox by the names of its programs, and as `sh`. */
  readonly applets: string
  readonly home: string
  close(): void
}

const signatures = `tree TREE
author A <a@example.test> 1700000000 +0000
committer A <a@example.test> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 x
 -----END PGP SIGNATURE-----

signed
`

/**
 * Creates the files that lines are checked against and run in: a workspace with a repository, a
 * home and a folder outside.
 */
export function openFixture(): Fixture {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'attacks-')))
  const at = (path: string) => join(root, path)
  const template = at('template')
  const workspace = at('world/workspace')
  const bin = at('tools/bin')
  const applets = at('tools/applets')

  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, mode)
  }
  write(join(bin, 'marker'), `#!/bin/sh\n: > ${at('world/mark')}\n`, 0o755)
  // A Node program, like npm.
  write(join(bin, 'npm'), '#!/bin/sh\nexec node -e 0\n', 0o755)
  symlinkSync(process.execPath, join(bin, 'node'))
  mkdirSync(applets)
  const busybox = programPath('busybox')
  if (busybox) {
    const names = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n').filter(Boolean)
    for (const name of names) symlinkSync(busybox, join(applets, name))
  }

  for (const [path, text] of Object.entries(files(join(bin, 'marker'), at('world'))))
    write(join(template, path), text, text.startsWith('#!') ? 0o755 : 0o644)
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(template, path)), { recursive: true })
    symlinkSync(target, join(template, path))
  }
  for (const folder of ['workspace/emptydir', 'workspace/out/d0'])
    mkdirSync(join(template, folder), { recursive: true })
  archives(join(template, 'workspace'))
  if (programPath('gcc'))
    execFileSync('gcc', ['-shared', '-fPIC', '-o', 'evil.so', 'evil.so.c'], {
      cwd: join(template, 'workspace'),
    })
  repositories(join(template, 'workspace'))
  cpSync(template, at('world'), { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  return {
    root,
    template,
    world: at('world'),
    workspace,
    outside: at('world/outside'),
    home: at('world/home'),
    bin,
    applets,
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

export function programPath(name: string): string | undefined {
  const folders = ['/usr/bin', '/bin', '/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** Hostile files of a project: they run `marker` if they are executed. */
function files(marker: string, world: string): Record<string, string> {
  // They find it whatever PATH is.
  const script = `#!/bin/sh\n${marker}\n`
  const workspace: Record<string, string> = {
    'a.txt': 'alpha foo\n',
    'b.txt': 'beta\n',
    'b2.txt': 'one\ntwo\n',
    'c.txt': 'gamma\n',
    'a.json': '{}\n',
    'a.x': 'alpha foo\n',
    'big.txt': 'abcdefghijklmnopqrstuvwxyz\n'.repeat(4_000),
    'package.json': '{"scripts":{"test":"true"}}\n',
    '.gitattributes': '*.x diff=x filter=x\n',
    'src/a.ts': 'export const foo = 1\n',
    'src/b.ts': 'export const bar = 2\n',
    'out/x0': 'x\n',
    'evil.sh': script,
    'evil.arith': 'a[$(marker)0]\n',
    'evil.arith.sh': "x='a[$(marker)0]'\n",
    'evil.prompt': '$(marker)\n',
    'evil.name': 'marker\n',
    'evil.path': 'bin\n',
    'evil.path2': 'x bin\n',
    'evil.js': 'require("child_process").execSync("marker")\n',
    'evil.py': 'import os\nos.system("marker")\n',
    'evil.pl': 'system("marker");\n',
    'evil-begin.pl': 'BEGIN { system("marker") }\n',
    'evil.rb': 'system("marker")\n',
    'evil.php': '<?php system("marker");\n',
    'evil.lua': 'os.execute("marker")\n',
    'evil.tcl': 'exec marker\n',
    'evil.sqlite': '.shell marker\n',
    'evil.awk': 'BEGIN { system("marker") }\n',
    'evil.sed': '1e marker\n',
    'evil.ed': '!marker\nq\n',
    'evil.vim': ':!marker\n',
    'evil.gdb': 'shell marker\n',
    'evil.m4': 'syscmd(`marker)\n',
    'evil.mk': '$(shell marker)\nx:\n\tmarker\n',
    'evil.so.c':
      '#include <stdlib.h>\n__attribute__((constructor)) void run(void) { unsetenv("LD_PRELOAD"); unsetenv("LD_AUDIT"); system("'.concat(
        marker,
        '"); }\n',
      ),
    Makefile: 'all:\n\tmarker\n',
    'evil.c': 'int main(void) { return 0; }\n',
    'evil.ripgreprc': `--pre=${marker}\n`,
    'evil.curlrc': `url = file://${world}/workspace/a.txt\noutput = ../outside/w\n`,
    'evil.wgetrc': 'output_document = ../outside/w\n',
    'evil.ssh': 'Host *\n  ProxyCommand marker\n',
    'evil.sftp': '!marker\n',
    'evil.tarlist': '--checkpoint=1\n--checkpoint-action=exec=marker\na.txt\n',
    'evil.magic': '0 string x y\n',
    'evil.attributes': '*.txt diff=x\n',
    'evil.gitconfig': `[core]\n\tfsmonitor = ${marker}\n`,
    'evil.patch': 'diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-beta\n+changed\n',
    'evil.patch2': '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-alpha foo\n+changed\n',
    'evilhome/.gitconfig': `[core]\n\tfsmonitor = ${marker}\n`,
    'evilhome/xdg/git/config': `[core]\n\tfsmonitor = ${marker}\n`,
    'evilhome/.curlrc': 'output = ../outside/w\n',
    'evilhome/.sqliterc': '.shell marker\n',
    'evilhome/.gdbinit': 'shell marker\n',
    'eviltemplate/hooks/pre-commit': script,
    'eviltemplate/hooks/post-checkout': script,
    'hooks/pre-commit': script,
    'hooks/post-checkout': script,
    'gitexec/git-foo': script,
    'evilrepo/Makefile': 'all:\n\tmarker\n',
    'evilrepo/sub/a.txt': 'a\n',
    'lib/sitecustomize.py': 'import os\nos.system("marker")\n',
    'lib/evilmod.py': 'import os\nos.system("marker")\n',
    'lib/evil.pm': 'system("marker"); 1;\n',
    // Names that a glob passes to a program as options.
    'globs/--pre=marker': '',
    'globs/b': 'b foo\n',
    'globs/c': 'c foo\n',
    'gitglobs/--output=w': '',
    'gitglobs/a': 'a\n',
    'gitglobs/b': 'b\n',
    'dirglobs/--pre=./evil': '',
    'dirglobs/evil': script,
    'tars/--checkpoint=1': '',
    'tars/--checkpoint-action=exec=marker': '',
    'tars/a': 'a\n',
    'finds/-delete': '',
    'finds/a': 'a\n',
  }
  for (const name of ['ls', 'git', 'cat', 'npm', 'gzip', 'sort', 'marker2']) workspace[`bin/${name}`] = script
  return {
    ...Object.fromEntries(Object.entries(workspace).map(([path, text]) => [`workspace/${path}`, text])),
    'outside/f': 'outside\n',
    'outside/secret.txt': 'secret\n',
    'outside/out/f': 'outside\n',
    'home/.gitconfig':
      '[user]\n\tname = A\n\temail = a@example.test\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    'home/.ssh/config': '',
  }
}

const links = {
  'workspace/to-outside': '../outside',
  'workspace/to-file': '../outside/f',
  'workspace/to-new': '../outside/new',
  'workspace/to-evil': 'evilrepo',
  'workspace/to-evil-sub': 'evilrepo/sub',
  'workspace/out/link': '../../outside',
  'workspace/out/file-link': '../b.txt',
}

const date = '2024-01-01T00:00:00Z'
const gitEnv = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.test',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.test',
  GIT_AUTHOR_DATE: date,
  GIT_COMMITTER_DATE: date,
}

function repositories(workspace: string) {
  const git = (cwd: string, args: readonly string[], input = '') =>
    execFileSync('git', args, { cwd, env: gitEnv, input, encoding: 'utf8' }).trim()
  git(workspace, ['init', '-q', '-b', 'main', '--template='])
  git(workspace, ['add', 'a.txt', 'b.txt', 'a.x', 'src', '.gitattributes'])
  git(workspace, ['commit', '-qm', 'one'])
  git(workspace, ['branch', 'other'])
  for (const name of ['a.txt', 'a.x']) writeFileSync(join(workspace, name), 'alpha foo\nmore\n')
  git(workspace, ['commit', '-qam', 'two'])
  git(workspace, ['checkout', '-q', 'other'])
  writeFileSync(join(workspace, 'b.txt'), 'beta\nother\n')
  git(workspace, ['commit', '-qam', 'three'])
  git(workspace, ['checkout', '-q', 'main'])
  const tree = git(workspace, ['rev-parse', 'HEAD^{tree}'])
  const signed = git(
    workspace,
    ['hash-object', '-t', 'commit', '-w', '--stdin'],
    signatures.replace('TREE', tree),
  )
  git(workspace, ['tag', 'signed', signed])

  const evil = join(workspace, 'evilrepo')
  git(evil, ['init', '-q', '-b', 'main', '--template='])
  git(evil, ['add', '.'])
  git(evil, ['commit', '-qm', 'one'])
  git(evil, ['config', 'core.fsmonitor', 'marker'])
  git(evil, ['config', 'core.pager', 'marker'])
  // A folder can be a repository without a .git in it.
  git(workspace, ['clone', '-q', '--bare', '--template=', 'evilrepo', 'bare.git'])
  const bare = join(workspace, 'bare.git')
  git(bare, ['config', 'core.bare', 'false'])
  git(bare, ['config', 'core.worktree', '..'])
  git(bare, ['config', 'core.fsmonitor', 'marker'])
  cpSync(bare, join(workspace, 'linked.git'), { recursive: true })
  rmSync(join(workspace, 'linked.git/HEAD'))
  symlinkSync('refs/heads/nothing', join(workspace, 'linked.git/HEAD'))
}

function archives(workspace: string) {
  const tar = (...args: string[]) => execFileSync('tar', args, { cwd: workspace })
  mkdirSync(join(workspace, 'packed'))
  for (const name of ['p.txt', 'q.txt']) writeFileSync(join(workspace, 'packed', name), 'packed\n')
  tar('-cf', 'a.tar', '-C', 'packed', 'p.txt', 'q.txt')
  tar('-czf', 'a.tgz', '-C', 'packed', 'p.txt')
  rmSync(join(workspace, 'packed'), { recursive: true })
  execFileSync('gzip', ['-n'], { input: 'foo\n' })
  writeFileSync(join(workspace, 'a.gz'), execFileSync('gzip', ['-nc'], { input: 'foo\n' }))
}
