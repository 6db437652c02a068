import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const page = ['test/page/**/*.test.ts']
/** The packages find one another's sources by this, so that tests need no build and there is one copy of each module. */
const source = '@millrace/source'

export default defineConfig({
  resolve: { conditions: [source] },
  ssr: {
    resolve: {
      conditions: [source, 'module', 'node', 'development|production'],
      externalConditions: [source],
    },
  },
  test: {
    // Nothing here waits on a clock; the limit only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Most wait for processes and sockets, so that two share two cores well; left alone, vitest would use one of them.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Processes that tests start from sources, too.
    env: { NODE_OPTIONS: `--conditions=${source}` },
    projects: [
      {
        extends: true,
        test: {
          name: 'library',
          include: ['packages/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...page],
          globalSetup: 'test/system-packages.ts',
        },
      },
      // A browser is looked for, and got, only when these are run.
      { extends: true, test: { name: 'page', include: page, globalSetup: 'test/page/browser-setup.ts' } },
    ],
  },
})
