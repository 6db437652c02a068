import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Nothing here waits on a clock; the limit only turns a hang into a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
