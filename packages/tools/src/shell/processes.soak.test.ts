import { describe, expect, test } from 'vitest'
import { modes, testShell } from './shell.test-kit.ts'

describe.each(modes)('a command, sandbox %s', (sandbox) => {
  test('that prints a gigabyte keeps head and tail in little memory', async () => {
    await using shell = testShell({ sandbox })
    let most = 0
    const memory = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
    const before = memory()
    const timer = setInterval(() => (most = Math.max(most, memory() - before)), 5)
    const progressed: { output?: string; bytes?: number }[] = []
    const command = 'echo first; yes | head -c 1G; echo last'
    const text = await shell.run(
      { command, timeout_ms: 100_000 },
      { progress: (data) => void progressed.push(data as never) },
    )
    clearInterval(timer)
    expect(text).toMatch(/^first\ny\ny\n/)
    expect(text).toMatch(/y\nlast\n\[1072\.7 MB of output left out in the middle: .*\n\[exit code 0 after/)
    expect(text.length).toBeLessThan(1.1 * 2 ** 20)
    // A quarter of the output: dropped chunks stay until garbage collection.
    expect(most).toBeLessThan(256 * 2 ** 20)
    const emitted = progressed.map(({ output = '' }) => output).join('')
    expect(emitted.length).toBe(65_536)
    expect(progressed.length).toBeLessThan(500)
  })
})
