import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { plainEnv, run } from '../processes.ts'
import { root } from '../root.ts'

const repository = (path: string) => ({
  type: 'git',
  url: 'git+https://github.com/millrace/millrace.git',
  directory: path,
})

const library = (name: string, path: string) => ({
  name,
  version: '0.1.0',
  repository: repository(path),
  license: 'Apache-2.0',
  type: 'module',
  files: ['dist', 'CHANGELOG.md'],
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
})

/** Builds the packages and copies the changelog, like the real build. */
const build = `
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
for (const name of ['millrace', 'tools']) {
  mkdirSync(\`packages/\${name}/dist\`, { recursive: true })
  writeFileSync(\`packages/\${name}/dist/index.js\`, 'export const one = 1\\n')
  writeFileSync(\`packages/\${name}/dist/index.d.ts\`, 'export declare const one: number\\n')
  cpSync('CHANGELOG.md', \`packages/\${name}/CHANGELOG.md\`)
}
`

const files: Readonly<Record<string, string | object>> = {
  '.gitignore': 'dist/\nnode_modules/\npackages/*/CHANGELOG.md\n',
  '.npmrc': 'omit-lockfile-registry-resolved=true\nloglevel=error\n',
  'CHANGELOG.md':
    '# Changes\n\n## [Unreleased]\n\n- Costs $1 less, or $& more.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n',
  'build.mjs': build,
  'package.json': {
    name: 'workspace',
    private: true,
    workspaces: ['packages/*'],
    scripts: { build: 'node build.mjs', test: 'node test.mjs && npm run build' },
  },
  'test.mjs': '',
  'packages/millrace/package.json': {
    ...library('millrace', 'packages/millrace'),
    devDependencies: { '@millrace/tools': '0.1.0' },
  },
  'packages/page/package.json': {
    name: '@millrace/page',
    version: '0.1.0',
    private: true,
    dependencies: { millrace: '0.1.0' },
  },
  'packages/tools/package.json': {
    ...library('@millrace/tools', 'packages/tools'),
    peerDependencies: { millrace: '0.1.0' },
  },
}

/** In npm's format. */
const lockFile = {
  name: 'workspace',
  lockfileVersion: 3,
  requires: true,
  packages: Object.fromEntries(
    Object.entries(files).flatMap(([path, content]) =>
      path.endsWith('package.json') ? [[dirname(path).replace('.', ''), content]] : [],
    ),
  ),
}

/**
 * A small repository with the structure of this one and an origin, so that a release takes seconds.
 */
export async function releaseWorkspace() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-release-'))
  const work = join(folder, 'work')
  const registry = await startRegistry()
  const npmrc = join(folder, 'npmrc')
  writeFileSync(npmrc, `registry=${registry.url}\n${registry.url.replace('http:', '')}:_authToken=secret\n`)
  const env = {
    ...plainEnv(),
    NPM_CONFIG_USERCONFIG: npmrc,
    NPM_CONFIG_CACHE: join(folder, 'cache'),
    NPM_CONFIG_FETCH_RETRIES: '0',
    GIT_CONFIG_GLOBAL: join(folder, 'gitconfig'),
  }
  writeFileSync(env.GIT_CONFIG_GLOBAL, '[user]\nname = Test\nemail = test@example.com\n')

  const write = (path: string, content: string | object) => {
    mkdirSync(dirname(join(work, path)), { recursive: true })
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`
    writeFileSync(join(work, path), text)
  }
  const succeed = async (command: string, ...args: string[]) => {
    const { exit, stdout, stderr } = await run(command, args, { cwd: work, env })
    if (exit !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`)
    return stdout.trimEnd()
  }
  for (const [path, content] of Object.entries(files)) write(path, content)
  write('package-lock.json', lockFile)
  await succeed(process.execPath, 'build.mjs')
  await succeed('git', 'init', '--quiet', '--initial-branch=main')
  await succeed('git', 'add', '.')
  await succeed('git', 'commit', '--quiet', '-m', 'first')
  await succeed('git', 'clone', '--quiet', '--bare', '.', join(folder, 'origin.git'))
  await succeed('git', 'remote', 'add', 'origin', join(folder, 'origin.git'))

  return {
    folder,
    work,
    registry,
    write,
    git: (...args: string[]) => succeed('git', ...args),
    /** Runs a script of this project there. */
    script: (name: string, ...args: string[]) =>
      run(process.execPath, [join(root, 'scripts', name), ...args], { cwd: work, env }),
  }
}

/** The part of an npm registry that `npm view` and `npm publish` need. */
async function startRegistry() {
  const packuments = new Map<string, { versions: Record<string, unknown> }>()
  const published: string[] = []
  /** Packages that the registry rejects, to simulate a partial failure. */
  const rejected = new Set<string>()
  const server = createServer(async (request, response) => {
    const name = decodeURIComponent((request.url ?? '').slice(1).split('?')[0] ?? '')
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const packument = packuments.get(name)
    if (request.method === 'GET') return answer(packument ? 200 : 404, packument ?? { error: 'not found' })
    let text = ''
    for await (const chunk of request) text += chunk
    if (rejected.has(name)) return answer(503, { error: 'unavailable' })
    const body = JSON.parse(text)
    packuments.set(name, { ...body, versions: { ...packument?.versions, ...body.versions } })
    published.push(...Object.keys(body.versions).map((version) => `${name}@${version}`))
    answer(201, { ok: true })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, published, rejected, close: () => server.close() }
}
