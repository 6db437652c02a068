import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { type ProviderSimulator, providerSimulator } from '@millrace/simulator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerTo, docsEnv, redirectTo } from './docs-provider.ts'
import { linkFaults } from './links.ts'
import { type PostgresServer, postgresServer } from './postgres-server.ts'
import { plainEnv, run, typeCheck } from './processes.ts'
import { root } from './root.ts'
import { some } from './size.ts'
import {
  blockFaults,
  diagnosticsInDocs,
  fileOf,
  type Program,
  programsOf,
  tidy,
  withoutStrippingWarning,
} from './snippets.ts'

const docs = readDocs()
const programs = [...docs].flatMap(([doc, source]) => programsOf(doc, source))

const sources = globSync('{packages,test,bench,scripts,examples}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map((path) => `/${path.split(sep).join('/')}`)

// Inside the project, so that `millrace` resolves to this package and the rest to installed
// packages.
const folder = join(root, '.cache', 'snippets')

test('README.md has a program', () => {
  expect(
    programs.filter(({ doc }) => doc === 'README.md'),
    'README.md has a block that starts with ```ts',
  ).not.toEqual([])
})

describe('programs', () => {
  let provider: ProviderSimulator
  let postgres: PostgresServer
  afterAll(() => Promise.all([provider.close(), postgres.close()]))
  beforeAll(async () => {
    provider = await providerSimulator(answerTo)
    postgres = await postgresServer({ fsync: 'off' })
    if (!existsSync(join(root, 'packages/millrace/dist/index.js')))
      throw new Error('packages/millrace/dist/index.js is missing: run npm run build')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const program of programs) writeFileSync(join(folder, fileOf(program)), program.code)
    const config = {
      extends: '../../tsconfig.json',
      // Two programs may use the same names, even if one of them imports nothing.
      // The published types.
      compilerOptions: { moduleDetection: 'force', customConditions: [] },
      include: ['./*.ts', './*.tsx'],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  })

  test.runIf(programs.length > 0)('all programs type-check', async () => {
    const { exit, stdout, stderr } = await typeCheck(folder)
    expect(diagnosticsInDocs(stdout + stderr, programs)).toEqual([])
    expect(exit).toBe(0)
  })

  const atStart = programs.filter(({ doc }) => doc === 'README.md')
  // Those for a browser run in test/page/react-docs.test.ts.
  for (const program of new Set([...atStart, ...some(programs.filter(({ isPage }) => !isPage))])) {
    test(`${program.doc}:${program.line} runs`, async () => {
      // Each program writes its files to its own folder.
      const cwd = await mkdtemp(join(tmpdir(), 'millrace-snippet-'))
      try {
        const args = ['--import', redirectTo(provider.url), join(folder, fileOf(program))]
        const env = { ...plainEnv(), ...docsEnv, ...(await databaseFor(program)) }
        const { exit, stdout, stderr } = await run(process.execPath, args, { cwd, env })
        expect({ exit, stderr: withoutStrippingWarning(stderr) }).toEqual({ exit: 0, stderr: '' })
        if (program.expected !== undefined) expect(tidy(stdout)).toBe(program.expected)
      } finally {
        await rm(cwd, { recursive: true, force: true })
      }
    })
  }

  /** An empty database for a program that expects one. */
  async function databaseFor(program: Program) {
    const name = 'DATABASE_URL'
    return program.code.includes(name) ? { [name]: await postgres.database(fileOf(program)) } : {}
  }
})

describe.each([...docs.keys()])('%s', (doc) => {
  test('has valid code blocks', () => {
    expect(blockFaults(doc, docs.get(doc) ?? '')).toEqual([])
  })

  test('has no broken links', () => {
    expect(linkFaults(doc, docs, (path) => existsSync(join(root, path)))).toEqual([])
  })

  test('names sources that exist', () => {
    const named = [...(docs.get(doc) ?? '').matchAll(/`([\w./-]+\/[\w.-]+\.tsx?)`/g)].map(
      ([, path]) => `/${path}`,
    )
    expect(named.filter((path) => !sources.some((source) => source.endsWith(path)))).toEqual([])
  })
})

function readDocs(): ReadonlyMap<string, string> {
  const patterns = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'bench/README.md',
    'docs/**/*.md',
    'packages/*/README.md',
  ]
  // The build copies README.md into the package, and `npm run docs` writes pages from the types.
  const exclude = ['packages/millrace/README.md', 'docs/reference/api/**', 'docs/.vitepress/**']
  const paths = globSync(patterns, { cwd: root, exclude }).sort()
  return new Map(
    paths.map((path) => [path.split(sep).join('/'), readFileSync(join(root, path), 'utf8')] as const),
  )
}
