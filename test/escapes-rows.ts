import type { Call, Row } from './escapes-fixture.ts'

export const read = (path: string): Call => ['read_file', { path }]
export const write = (path: string, content = 'owned\n'): Call => ['write_file', { path, content }]
const edit = (path: string): Call => ['edit_file', { path, old_text: 'SECRET', new_text: 'owned' }]
const list = (path: string): Call => ['list_files', { path, depth: 3 }]
const find = (path: string, pattern = '*'): Call => ['find_files', { path, pattern }]
const search = (path: string, pattern = 'SECRET'): Call => ['search_files', { path, pattern }]
const page = (url: string): Call => ['web_fetch', { url }]
const redirect = (to: string): Call => page(`http://docs.example.test:PUBLIC/?to=${encodeURIComponent(to)}`)

/** Paths that lead out of the workspace. */
export const paths: readonly Row[] = [
  ['the folder above, read', read('..')],
  ['a file above, read', read('../outside/secret.txt')],
  ['a file above, written', write('../outside/secret.txt')],
  ['a new file above, written', write('../outside/marker')],
  ['a file above, edited', edit('../outside/secret.txt')],
  ['the folder above, listed', list('..')],
  ['the folder above, searched for names', find('..')],
  ['the folder above, searched', search('..')],
  ['down and up', read('src/../../outside/secret.txt')],
  ['up with dots between', read('./src/.././../outside/secret.txt')],
  ['up through a missing folder', write('nope/../../outside/marker')],
  ['up through a file', read('a.txt/../../outside/secret.txt')],
  ['up many levels', read(`${'../'.repeat(200)}etc/passwd`)],
  ['the absolute path of the secret, read', read('OUTSIDE/secret.txt')],
  ['the absolute path of the secret, written', write('OUTSIDE/secret.txt')],
  ['an absolute path that goes up', read('WORKSPACE/../outside/secret.txt')],
  ['a folder whose name starts like the workspace', write('WORKSPACE-evil/marker')],
  ['a file of the machine', read('/etc/passwd')],
  ['two slashes', read('//etc/passwd')],
  ['the environment of the process', read('/proc/self/environ')],
  ['an open file of the process', read('/proc/self/fd/0')],
  ['a device', read('/dev/zero')],
  ['the home folder', read('~/profile')],
  ['a NUL byte', read('../outside/secret.txt\0.png')],
  ['backslashes', read('..\\outside\\secret.txt')],
  ['a line break', write('..\n/outside/marker')],
  ['a glob that goes up', find('.', '../outside/*')],
  ['an option of the search program', ['search_files', { pattern: 'SECRET', path: '--follow' }]],
  ['a glob for a search that goes up', ['search_files', { pattern: 'SECRET', glob: '../**' }]],
]

/** Links that already exist, as in a hostile project. */
export const links: readonly Row[] = [
  ['a link to a file outside, read', read('out-file')],
  ['a link to a file outside, written', write('out-file')],
  ['a link to a file outside, edited', edit('out-file')],
  ['a link to a missing file outside', write('out-new')],
  ['a link to a folder outside, read through', read('out/secret.txt')],
  ['a link to a folder outside, written through', write('out/marker')],
  ['a link to a folder outside, listed', list('out')],
  ['a link to a folder outside, searched for names', find('out')],
  ['a link to a folder outside, searched', search('out')],
  ['a link with the absolute path of the folder', read('out-absolute/folder/deep.txt')],
  ['out through a link and up from there', read('out/../outside/secret.txt')],
  ['a link to a link', read('chain')],
  ['a link that goes up', read('src/up/outside/secret.txt')],
  ['up from the target of a link', read('to-src/../../outside/secret.txt')],
  ['a link to itself', read('self/a.txt')],
  ['a link to the root of the machine', read('machine/etc/passwd')],
  ['a link to the root through /proc', read('process/etc/passwd')],
]

/** Inside the workspace, but denied by a rule. */
export const forbidden: readonly Row[] = [
  ['a file of secrets, read', read('.env')],
  ['the same, spelled differently', read('src/.././.env')],
  ['the same by its absolute path', read('WORKSPACE/.env')],
  ['the same through a link', read('to-env')],
  ['the same, written through a link', write('to-env')],
  ['a new file of secrets', write('src/.env.local')],
  ['a hook of git', write('.git/hooks/pre-commit', '#!/bin/sh\n')],
  ['a hook of git through a link', write('to-git/hooks/pre-commit', '#!/bin/sh\n')],
  ['the settings of a repository inside the repository', write('src/.git/config', '[core]\nfsmonitor=x\n')],
  ['a file that names another repository', write('src/.git', 'gitdir: ../bin\n')],
  ['the same in capitals, for case-insensitive disks', write('.GIT/hooks/pre-commit', '#!/bin/sh\n')],
]

const onlyPublic = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '0', '0.0.0.0', '127.0.0.1.'],
  ...['%31%32%37.0.0.1', '①②⑦.0.0.1', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]'],
  ...['[2002:7f00:1::]', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '169.254.169.254'],
  ...['0xa9fea9fe', '[fd00:ec2::254]', '[fe80::1]', 'localhost', 'LocalHost.', 'loopback.example.test'],
  ...['loopback6.example.test', 'mapped.example.test', 'zero.example.test', 'lan.example.test'],
  ...['link.example.test', 'metadata.example.test', 'metadata6.example.test', 'both.example.test'],
]

/** Pages outside the public web. */
export const privatePages: readonly Row[] = [
  ...onlyPublic.map((host): Row => [`the address ${host}`, page(`http://${host}:PRIVATE/`)]),
  ...['127.0.0.1', '[::1]', '2130706433', 'loopback.example.test', 'both.example.test'].map(
    (host): Row => [`a redirect to ${host}`, redirect(`http://${host}:PRIVATE/`)],
  ),
  ['a redirect without a scheme', redirect('//127.0.0.1:PRIVATE/')],
  [
    'a redirect to a redirect',
    redirect(`http://docs.example.test:PUBLIC/?to=${encodeURIComponent('http://127.0.0.1:PRIVATE/')}`),
  ],
]

/** Pages that cannot be fetched for another reason. */
export const otherPages: readonly Row[] = [
  ['a name that resolves differently the second time', page('http://fickle.example.test:PRIVATE/')],
  ['a host that a rule denies', page('http://denied.example.test:PUBLIC/')],
  ['the same in capitals and with a dot', page('http://DENIED.example.test.:PUBLIC/')],
  ['a redirect to a host that a rule denies', redirect('http://denied.example.test:PUBLIC/')],
  ['a file', page('file://OUTSIDE/secret.txt')],
  ['a redirect to a file', redirect('file://OUTSIDE/secret.txt')],
  ['data', page('data:text/plain,SECRET')],
  ['another protocol', page('gopher://127.0.0.1:PRIVATE/')],
  ['a user name and a password', page('http://ada:pass@docs.example.test:PUBLIC/')],
  ['a host that looks like a name', page('http://docs.example.test@127.0.0.1:PRIVATE/')],
  ['a redirect with a user name', redirect('http://ada:pass@127.0.0.1:PRIVATE/')],
]

/** What the same agent may do. Without these, rejections would prove nothing. */
export const allowed: readonly (readonly [name: string, call: Call, says: RegExp])[] = [
  ['a file, read', read('a.txt'), /inside, and changed/],
  ['a file through a link that stays inside', read('to-src/b.txt'), /inside too/],
  ['a path that goes up and stays inside', read('src/../a.txt'), /inside/],
  ['the absolute path of a file inside', read('WORKSPACE/a.txt'), /inside/],
  ['a new file, written', write('src/new.txt'), /^Wrote 1 line/],
  [
    'a file, edited',
    ['edit_file', { path: 'src/b.txt', old_text: 'too', new_text: 'as well' }],
    /^Edited src\/b\.txt/,
  ],
  ['a folder, listed', list('src'), /b\.txt/],
  ['names, found', find('.', '*.txt'), /src\/b\.txt/],
  ['lines, found', search('.', 'inside'), /a\.txt/],
  ['a search does not find denied files', search('.', 'KEY='), /^\[?no/i],
  ['a glob that goes up finds nothing', find('.', '{..,.}/outside/*'), /^\[no file/],
  ['a glob from the root finds nothing', find('.', '/etc/*'), /^\[no file/],
  ['a page', page('http://docs.example.test:PUBLIC/'), /a public page/],
  ['a redirect to a page', redirect('http://docs.example.test:PUBLIC/there'), /a public page/],
  ['a command', ['shell', { command: 'echo a b; ls src' }], /a b\nb\.txt.*exit code 0/s],
  ['a command in a folder', ['shell', { command: 'ls', cwd: 'to-src' }], /b\.txt.*exit code 0/s],
  ['output of git', ['shell', { command: 'git status --short && git diff' }], /a\.txt.*exit code 0/s],
  [
    'output to a file inside',
    ['shell', { command: 'echo hello > src/out.txt && ls src/out.txt' }],
    /^src\/out.txt\n/,
  ],
]
