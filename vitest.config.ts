import { defineConfig } from 'vitest/config'

const page = ['test/page/**/*.test.ts']

export default defineConfig({
  test: {
    // Nothing here waits on a clock; the limit only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'library',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'inspector/**/*.test.{ts,tsx}'],
          exclude: page,
        },
      },
      // A browser is looked for, and got, only when these are run.
      { extends: true, test: { name: 'page', include: page, globalSetup: 'test/page/browser-setup.ts' } },
    ],
  },
})
