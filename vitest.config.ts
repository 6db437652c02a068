import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The packages find one another's sources by this, so that tests need no build and there is one copy of each module. */
const source = '@millrace/source'
const everywhere = (ending: string) => [`packages/**/*${ending}`, `bench/**/*${ending}`, `test/**/*${ending}`]
const notHere = ['**/node_modules/**', '**/dist/**']
const page = 'test/page/**'
const soak = 'test/soak/**'

/** Tests with a dial: `npm test` does a part of each, `npm run test:soak` the whole. See test/size.ts. */
const dialled = () =>
  globSync(everywhere('.test.ts'), { exclude: notHere }).filter((path) =>
    readFileSync(path, 'utf8').includes('/size.ts'),
  )
const isSoak = process.argv.some((word) => /^(--project[= ]?)?soak$/.test(word))

export default defineConfig({
  resolve: { conditions: [source] },
  ssr: { resolve: { conditions: [source, 'module', 'node'], externalConditions: [source] } },
  test: {
    // Nothing here waits on a clock; the limit only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // One more than cores, since many tests wait for processes and sockets. Vitest's default is one less.
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
          include: everywhere('.test.{ts,tsx}'),
          exclude: [...notHere, page, soak, ...everywhere('.{io,process,soak}.test.ts')],
          setupFiles: 'test/no-io.ts',
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'io',
          include: everywhere('.io.test.ts'),
          exclude: [...notHere, page, soak],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: everywhere('.process.test.ts'),
          exclude: [...notHere, page, soak],
          globalSetup: ['test/built.ts', 'test/system-packages.ts'],
          isolate: false,
        },
      },
      // A browser is looked for, and installed, only when these are run.
      {
        extends: true,
        test: {
          name: 'page',
          include: ['test/page/**/*.test.ts'],
          exclude: [...notHere, 'test/page/**/*.soak.test.ts'],
          globalSetup: ['test/built.ts', 'test/page/browser-setup.ts'],
          isolate: false,
        },
      },
      ...(isSoak
        ? [
            {
              extends: true as const,
              test: {
                name: 'soak',
                include: ['test/soak/**/*.test.ts', ...everywhere('.soak.test.ts'), ...dialled()],
                exclude: notHere,
                env: { TEST_SIZE: '1' },
                testTimeout: 600_000,
                hookTimeout: 600_000,
                isolate: false,
                globalSetup: ['test/built.ts', 'test/system-packages.ts', 'test/page/browser-setup.ts'],
              },
            },
          ]
        : []),
    ],
  },
})
