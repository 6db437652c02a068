import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The export condition under which the packages resolve to their sources: tests need no build. */
const source = '@millrace/source'
const inAllFolders = (ending: string) => [
  `packages/**/*${ending}`,
  `bench/**/*${ending}`,
  `test/**/*${ending}`,
]
const excluded = ['**/node_modules/**', '**/dist/**']
const page = 'test/page/**'
const soak = 'test/soak/**'

/**
 * What runs at full size for each commit (`npm run test:soak`): the log, crashes, and other clients. The rest takes too
 * long for that (`npm run test:nightly`).
 */
const eachCommit = [
  'packages/millrace/src/{agent,client,log,protocol,threads,tools}/**/*.test.ts',
  'packages/millrace/src/view/fold.test.ts',
  'test/survival/{cut,lost-workers,machines,paid-once,rolling}.soak.test.ts',
  'test/page/clients/*.soak.test.ts',
  'test/soak/{package,quick-start}.test.ts',
]

/** A project for soak tests, and for tests that run in part in `npm test`: see test/size.ts. */
function atFullSize(name: 'soak' | 'nightly') {
  if (!process.argv.some((word) => word === name || word === `--project=${name}`)) return []
  const isSized = (path: string) => /\/size\.ts'/.test(readFileSync(path, 'utf8'))
  const sized = globSync(inAllFolders('.test.ts'), { exclude: excluded }).filter(isSized)
  const soaks = globSync([`${soak}/*.test.ts`, ...inAllFolders('.soak.test.ts')], { exclude: excluded })
  const early = new Set(globSync(eachCommit))
  return [
    {
      extends: true as const,
      test: {
        name,
        include: [...sized, ...soaks].filter((path) => early.has(path) === (name === 'soak')),
        env: { TEST_SIZE: '1' },
        testTimeout: 600_000,
        hookTimeout: 600_000,
        isolate: false,
        globalSetup: ['test/built.ts', 'test/system-packages.ts', 'test/page/browser-setup.ts'],
      },
    },
  ]
}

export default defineConfig({
  resolve: { conditions: [source] },
  ssr: { resolve: { conditions: [source, 'module', 'node'], externalConditions: [source] } },
  test: {
    // No test relies on this; it only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // One more than cores, since many tests wait for processes and sockets. Vitest's default is one
    // less.
    maxWorkers: availableParallelism() + 1,
    env: {
      // Also for processes that tests start from sources. The compile cache halves their CPU time.
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --conditions=${source}`.trim(),
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node'),
    },
    setupFiles: 'test/clean-up-setup.ts',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: inAllFolders('.test.{ts,tsx}'),
          exclude: [...excluded, page, soak, ...inAllFolders('.{io,process,soak}.test.ts')],
          setupFiles: 'test/no-io.ts',
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'io',
          include: inAllFolders('.io.test.ts'),
          exclude: [...excluded, page, soak],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: inAllFolders('.process.test.ts'),
          exclude: [...excluded, page, soak],
          globalSetup: ['test/built.ts', 'test/system-packages.ts'],
          isolate: false,
        },
      },
      // Finds or installs a browser, so only when these tests run.
      {
        extends: true,
        test: {
          name: 'page',
          include: ['test/page/**/*.test.ts'],
          exclude: [...excluded, 'test/page/**/*.soak.test.ts'],
          globalSetup: ['test/built.ts', 'test/page/browser-setup.ts'],
          isolate: false,
        },
      },
      ...atFullSize('soak'),
      ...atFullSize('nightly'),
    ],
  },
})
