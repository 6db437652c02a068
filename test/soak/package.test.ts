import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, posix, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnv, run, typeCheck } from '../processes.ts'
import { root } from '../root.ts'

interface Manifest {
  readonly [field: string]: unknown
  readonly name: string
  readonly exports: Readonly<Record<string, Target>>
  readonly imports?: Readonly<Record<string, Target>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** A path, or one for each condition. */
type Target = string | { readonly [condition: string]: Target }

const published = ['millrace', 'tools', 'voice', 'otel', 'react', 'simulator']
const source = (name: string) => join(root, 'packages', name)
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(source(name), 'package.json'), 'utf8'))

/** The entry points that are modules, as a user names them. */
const modulesOf = ({ name, exports }: Manifest) =>
  Object.keys(exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) => subpath.replace(/^\./, name))

const oldNode = findOldNode()

const plainAgent = `import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
export default agent({ model: scriptedModel([]) })
`
let tarballs: string

beforeAll(async () => {
  if (!existsSync(join(source('millrace'), 'dist', 'index.js')))
    throw new Error('packages/millrace/dist/index.js is missing: run npm run build')
  tarballs = await mkdtemp(join(tmpdir(), 'millrace-tarballs-'))
  const workspaces = published.flatMap((name) => ['--workspace', `packages/${name}`])
  await succeed(
    'npm',
    ['pack', '--offline', '--ignore-scripts', '--pack-destination', tarballs, ...workspaces],
    root,
  )
})

afterAll(() => rm(tarballs, { recursive: true, force: true }))

describe.each(published)('packages/%s, packed', (folderName) => {
  const manifest = manifestOf(folderName)
  const modules = modulesOf(manifest)
  let folder: string
  let installed: string
  let consumer: string
  let files: string[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-package-'))
    consumer = join(folder, 'consumer')
    await mkdir(consumer)
    installed = await install(manifest)
    files = filesIn(installed)
    // Only declared dependencies are installed, so an import of anything else fails.
    if (folderName !== 'millrace') await install(manifestOf('millrace'))
    for (const name of ['zod', '@types/node']) await link(name, consumer)
    await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }))
  })

  afterAll(async () => {
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  async function install({
    name,
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  }: Manifest): Promise<string> {
    const place = join(folder, 'node_modules', name)
    await mkdir(place, { recursive: true })
    const tarball = `${name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`
    await succeed('tar', ['-xzf', join(tarballs, tarball), '--strip-components=1', '-C', place], folder)
    // Not the optional ones.
    const peers = Object.keys(peerDependencies ?? {}).filter(
      (peer) => !peerDependenciesMeta?.[peer]?.optional,
    )
    for (const needed of [...Object.keys(dependencies ?? {}), ...peers])
      if (needed !== 'millrace') await link(needed, folder)
    return place
  }

  async function runProgram(name: string, lines: readonly string[]) {
    const program = join(consumer, `${name}.js`)
    await writeFile(program, lines.join('\n'))
    const bundled = join(await mkdtemp(join(folder, 'alone-')), `${name}.mjs`)
    const bundle = await rolldown({ input: program, platform: 'node', logLevel: 'silent' })
    await bundle.write({ file: bundled, codeSplitting: false })
    await bundle.close()
    // It must exit on its own: nothing may keep it alive.
    const started = [program, bundled].map((path) =>
      run(process.execPath, [path], { cwd: tmpdir(), env: plainEnv() }),
    )
    return Promise.all(started)
  }

  test('has complete metadata', () => {
    expect(manifest).toMatchObject({
      version: manifestOf('millrace').version,
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining(['agent']),
      homepage: expect.stringMatching(/^https:/),
      bugs: expect.stringMatching(/^https:/),
      repository: { type: 'git', directory: `packages/${folderName}` },
      author: expect.any(String),
      license: 'Apache-2.0',
      type: 'module',
      sideEffects: false,
      engines: { node: '>=22.13' },
    })
    if (folderName !== 'millrace')
      expect(manifest.peerDependencies?.millrace).toBe(manifestOf('millrace').version)
  })

  test('contains every file that its exports and imports name', () => {
    const targets = [manifest.exports, manifest.imports ?? {}].flatMap(Object.values<Target>)
    const named = targets.flatMap(pathsOf).map((path) => path.replace(/^\.\//, ''))
    expect(named.filter((path) => !files.includes(path))).toEqual([])
  })

  test('contains its license, docs and sources, and no tests', () => {
    expect(['LICENSE', 'README.md', 'CHANGELOG.md'].filter((path) => !files.includes(path))).toEqual([])
    expect(files.filter((path) => /(^|\/)tests?\/|\.test(-kit)?\./.test(path))).toEqual([])
    expect(files).toContain('src/index.ts')
  })

  test('has source maps that point to sources in the package', () => {
    const maps = files.filter((path) => path.endsWith('.js.map'))
    expect(maps.length).toBeGreaterThan(0)
    const lost = maps.flatMap((path) => {
      const { sources } = JSON.parse(readFileSync(join(installed, path), 'utf8')) as { sources: string[] }
      return sources
        .map((one) => posix.join(posix.dirname(path), one))
        .filter((one) => !one.startsWith('src/') || !files.includes(one))
    })
    expect(lost).toEqual([])
  })

  test('contains no path of the machine that packed it', () => {
    const faults = files.flatMap((path) => {
      const found = machinePath.exec(readFileSync(join(installed, path), 'utf8'))
      return found ? [`${path}: ${found[0]}`] : []
    })
    expect(faults).toEqual([])
  })

  test.each(modules)('%s is imported by Node and exports something', async (name) => {
    const program = `console.log(Object.keys(await import(${JSON.stringify(name)})).length)`
    const args = ['--input-type=module', '--eval', program]
    const { exit, stdout, stderr } = await run(process.execPath, args, { cwd: consumer, env: plainEnv() })
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(Number(stdout)).toBeGreaterThan(0)
  })

  const imports = modules.map((name) => `import('${name}')`).join(', ')
  const refusals = `
    const found = await Promise.allSettled([${imports}])
    console.log(JSON.stringify(found.map(({ reason }) => reason?.message ?? 'imported')))`

  test('every module says at import which Node it needs', async () => {
    // Pretends to be an old version.
    const older =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.9.0' } })"
    const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]
    const { stdout } = await run(process.execPath, [...args, '--input-type=module', '--eval', refusals], {
      cwd: consumer,
      env: plainEnv(),
    })
    const message = 'millrace needs Node 22.13 or newer, but this is 20.9.0'
    expect(JSON.parse(stdout)).toEqual(modules.map(() => message))
  })

  test.skipIf(!oldNode)('every module says so on a real old Node', async () => {
    const args = ['--input-type=module', '--eval', refusals]
    const { stdout } = await run(oldNode ?? '', args, { cwd: consumer, env: plainEnv() })
    const says = expect.stringMatching(/^millrace needs Node 22\.13 or newer, but this is \d/)
    expect(JSON.parse(stdout)).toEqual(modules.map(() => says))
  })

  test('has types for every module that pass without skipLibCheck: none is `any`, and all catch a mistake', async () => {
    const project = await writeProject([
      'type IsAny<T> = 0 extends 1 & T ? true : false',
      'type AnyIn<T> = { [K in keyof T]: IsAny<T[K]> extends true ? K : never }[keyof T]',
      "type Loose<T> = [AnyIn<T>] extends [never] ? 'nothing' : AnyIn<T>",
      ...modules.map((_, index) => `export const isAny${index}: Loose<typeof m${index}> = 'nothing'`),
      // `@ts-expect-error` is an error if the next line has none.
      ...modules.flatMap((_, index) => ['// @ts-expect-error', `m${index}.thereIsNoSuchExport()`]),
    ])
    expect(await typeCheck(project)).toEqual({ exit: 0, stdout: '', stderr: '' })
  })

  /** A project of the consumer with one program, which starts with an import of every module. */
  async function writeProject(lines: readonly string[]): Promise<string> {
    const project = join(consumer, 'typed')
    const options = { module: 'nodenext', strict: true, skipLibCheck: false, noEmit: true, types: ['node'] }
    const imports = modules.map((module, index) => `import * as m${index} from '${module}'`)
    await mkdir(project)
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }))
    await writeFile(join(project, 'main.ts'), [...imports, ...lines].join('\n'))
    return project
  }

  describe.runIf(folderName === 'millrace')('alone', () => {
    test('is small: three dependencies without dependencies, and under 9 MB in total', () => {
      const dependencies = Object.keys(manifest.dependencies ?? {})
      expect(dependencies).toEqual(['@cfworker/json-schema', '@pydantic/genai-prices', 'ws'])
      const further = dependencies.flatMap((name) => {
        const { dependencies = {} } = JSON.parse(
          readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
        )
        return Object.keys(dependencies)
      })
      expect(further).toEqual([])
      const folders = [installed, ...dependencies.map((name) => join(root, 'node_modules', name))]
      const bytes = folders.flatMap((place) => filesIn(place).map((path) => statSync(join(place, path)).size))
      expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(9e6)
    })

    test('contains the page with the licenses of its dependencies', () => {
      const pages = files.filter((path) => path.includes('page/')).sort()
      expect(pages).toEqual(['dist/page/LICENSES.txt', 'dist/page/files.d.ts', 'dist/page/files.js'])
      expect(files.filter((path) => /(^|\/)inspector\/|\.tsx$/.test(path))).toEqual([])
      const licenses = readFileSync(join(installed, 'dist/page/LICENSES.txt'), 'utf8')
      const bundled = ['preact', '@preact/signals', '@preact/signals-core']
      for (const name of bundled)
        expect(licenses).toMatch(
          new RegExp(`^## ${name} - [\\d.]+ \\(MIT\\)\\n[^#]*Permission is hereby granted`, 'm'),
        )
    })

    test('serves the page, installed and bundled into one program', async () => {
      const ended = await runProgram('serves', [
        "import { agent } from 'millrace'",
        "import { serve } from 'millrace/server'",
        "import { scriptedModel } from 'millrace/testing'",
        'const app = serve({ agents: agent({ model: scriptedModel([]) }) })',
        "const page = await app.fetch(new Request('http://localhost/'))",
        'console.log(page.status, (await page.text()).slice(0, 15))',
        'await app.close()',
      ])
      const fine = { exit: 0, stdout: '200 <!doctype html>\n', stderr: '' }
      expect(ended).toEqual([fine, fine])
    })

    test.skipIf(!oldNode)('its command says which Node it needs if Node is too old', async () => {
      const main = join(installed, 'dist/cli/main.js')
      const ended = await run(oldNode ?? '', [main, 'hello'], { cwd: consumer, env: plainEnv() })
      const stderr = expect.stringMatching(/^millrace needs Node 22\.13 or newer/)
      expect(ended).toMatchObject({ exit: 1, stderr })
    })

    const missing = [
      [['serve', '--voice', 'flite'], '--voice', '@millrace/voice'],
      [['serve', '--otel'], '--otel', '@millrace/otel @opentelemetry/sdk-node'],
      [['serve', '--mcp'], '--mcp', '@millrace/tools'],
      [['mcp'], 'millrace mcp', '@millrace/tools'],
    ] as const
    test.each(missing)('millrace %j says what to install', async (args, flag, install) => {
      await writeFile(join(consumer, 'agents.js'), plainAgent)
      const [command, ...flags] = args
      const main = join(installed, 'dist/cli/main.js')
      const ended = await run(process.execPath, [main, command, 'agents.js', ...flags], {
        cwd: consumer,
        env: { ...plainEnv(), HOME: consumer },
      })
      const says = `${flag} needs a package that is not installed: run npm install ${install}`
      expect(ended).toMatchObject({ exit: 2, stdout: '', stderr: expect.stringContaining(says) })
    })
  })

  test.runIf(folderName === 'voice')(
    'serves without the packages for listening, and says what to install',
    async () => {
      const agents = join(consumer, 'agents.js')
      await writeFile(agents, plainAgent)
      const main = join(folder, 'node_modules/millrace/dist/cli/main.js')
      const args = [
        main,
        'serve',
        agents,
        '--voice',
        'flite',
        '--port',
        '0',
        '--data',
        join(consumer, 'kept.db'),
      ]
      const server = spawn(process.execPath, args, { env: { ...plainEnv(), HOME: consumer } })
      let output = ''
      server.stderr.on('data', (data) => {
        output += data
      })
      const ended = once(server, 'exit')
      await once(server.stdout, 'data')
      server.kill('SIGTERM')
      await ended
      const names = [
        'onnxruntime-node',
        '@ricky0123/vad-web',
        '@moonshine-ai/moonshine-js',
        'llama-tokenizer-js',
      ]
      expect(output).toContain('voice: speaking with flite, not listening: ')
      expect(output).toMatch(new RegExp(`npm install ${names.map((name) => `${name}@\\S+`).join(' ')}`))
    },
  )

  test.runIf(folderName === 'voice')('speaks, and says what to do if it was bundled', async () => {
    const [installedOne, bundledOne] = await runProgram('speaks', [
      "import { flite } from '@millrace/voice'",
      'const options = { signal: new AbortController().signal }',
      'let samples = 0',
      'try {',
      "  for await (const { pcm } of flite().synthesize('Hello.', options)) samples += pcm.length",
      '  console.log(samples > 5000)',
      '} catch (error) {',
      '  console.log(error.message)',
      '}',
    ])
    expect(installedOne).toEqual({ exit: 0, stdout: 'true\n', stderr: '' })
    expect(bundledOne).toMatchObject({ exit: 0, stderr: '' })
    expect(bundledOne?.stdout).toMatch(/exclude @millrace\/voice from your bundle/)
  })
})

describe('package-lock.json', () => {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')

  test('names no registry, so that it installs from any registry', () => {
    expect(addressesIn(JSON.parse(text))).toEqual([])
    expect(text).not.toMatch(/registry\.|npmjs|yarnpkg/)
  })
})

async function succeed(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { exit, stderr } = await run(command, args, { cwd })
  if (exit !== 0) throw new Error(`${command} ${args.join(' ')}: ${exit}\n${stderr}`)
}

async function link(name: string, into: string): Promise<void> {
  const place = join(into, 'node_modules', name)
  await mkdir(dirname(place), { recursive: true })
  await symlink(join(root, 'node_modules', name), place, 'junction')
}

/** Every file below a folder, by its path from there. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    )
}

function pathsOf(target: Target): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(pathsOf)
}

/** Every address in a lockfile, except those in the metadata of packages. */
function addressesIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return value.includes('://') ? [`${key}: ${value}`] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => name !== 'funding' && name !== 'deprecated')
    .flatMap(([name, inner]) => addressesIn(inner, name))
}

/** A Node on this machine that is too old for the package, if there is one. */
function findOldNode(): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find((path) => {
      const [, major] =
        /^v(\d+)/.exec(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? []
      return major !== undefined && Number(major) >= 20 && Number(major) < 22
    })
}

/** The checkout, its parent folder, the home of the current user, and any home. */
const machinePath = machinePathPattern()

function machinePathPattern(): RegExp {
  // Too common to identify a machine: the root and the temporary folder.
  const common = [dirname(sep), tmpdir()]
  const places = [root, dirname(root), homedir()].filter((place) => !common.includes(place))
  const alternatives = [
    ...places.map((place) => place.replace(/[^\w/]/g, '\\$&')),
    '/home/\\w+',
    '/Users/\\w+',
    '[A-Z]:\\\\Users',
  ]
  return new RegExp(`(?<![\\w.~-])(${alternatives.join('|')})(?=[\\\\/])`)
}
