import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const page = ['test/page/**/*.test.ts']

export default defineConfig({
  test: {
    // Nothing here waits on a clock; the limit only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Most wait for processes and sockets, so that two share two cores well; left alone, vitest would use one of them.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: 'library',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'inspector/**/*.test.{ts,tsx}'],
          exclude: page,
          globalSetup: 'test/system-packages.ts',
        },
      },
      // A browser is looked for, and got, only when these are run.
      { extends: true, test: { name: 'page', include: page, globalSetup: 'test/page/browser-setup.ts' } },
    ],
  },
})
