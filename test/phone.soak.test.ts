import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { idsIn } from '../examples/support-desk/aloud.ts'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'

// What `npm run phone` runs, after the build.
const main = join('examples', 'phone', 'main.ts')
const options = { cwd: root, env: { ...plainEnv(), MILLRACE_MODEL: 'simulator' } }

describe.concurrent('npm run phone', () => {
  test('a spoken question becomes an input, a tool runs, the answer is spoken, and an interruption is detected', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-phone-'))
    try {
      const wav = join(folder, 'call.wav')
      const { exit, stdout, stderr } = await run(process.execPath, [main, '--wav', wav], options)
      expect({ exit, stderr }, stdout).toEqual({ exit: 0, stderr: '' })
      const inOrder = [
        /caller: What are my orders\?/,
        /understood: What are my orders/i,
        /tool: list_orders/,
        /desk: Your orders/,
        /caller: Wait, where is order number forty two\?/,
        /turn \d interrupted: .*; (\d+) of (?!\1 )\d+ words heard/,
        /understood: .*order number (?:forty.two|42)/i,
        /tool: track_parcel/,
        // The words before the tool call are spoken while the carrier takes its two seconds.
        /desk: Let me look up order 42 and ask the carrier\./,
        /desk: Order 42, .* now at the hub in Lyon, and due on Thursday\./,
        /turn \d completed: first words \d+ ms, .* after the speech; (\d+) of \1 words heard/,
        /\n {2}caller +What are my orders/i,
        /\n {2}desk +Your orders/,
        /\n {2}not heard .*Order 45: a set of notebooks/,
        /\n {2}caller .*(?:forty.two|42)/i,
      ]
      expect(missingFrom(stdout, inOrder)).toBeUndefined()

      // Both sides are in the recording, and they take turns: one is silent while the other speaks.
      const [caller, desk] = [0, 1].map((side) => loudness(readFileSync(wav), side))
      expect(Math.max(...(caller ?? []))).toBeGreaterThan(1000)
      expect(Math.max(...(desk ?? []))).toBeGreaterThan(1000)
      expect(caller?.at(-10)).toBe(0)
      expect(desk?.at(0)).toBe(0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('asks the question of --call', async () => {
    const { exit, stdout } = await run(
      process.execPath,
      [main, '--call', 'What is order forty one?'],
      options,
    )
    expect(exit, stdout).toBe(0)
    expect(
      missingFrom(stdout, [
        /caller: What is order forty one\?/,
        /understood: What is order (?:forty.one|41)/i,
        /tool: lookup_order/,
        /desk: Order 41, a ceramic mug for 18 euros, is delivered\./,
        /turn 1 completed/,
      ]),
    ).toBeUndefined()
  })

  test('Ctrl-C during a call shuts down cleanly', async () => {
    const child = spawn(process.execPath, [main], { ...options, timeout: 500_000, killSignal: 'SIGKILL' })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        if (!output.includes('understood:') && (output + text).includes('understood:')) child.kill('SIGINT')
        output += text
      })
    const exit = await new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
    expect(exit).toBe(0)
    expect(output).not.toMatch(/turn 1|phone:/)
  })
})

test('order numbers are understood in written and spoken form', () => {
  expect(idsIn('Where are ORD-44 and ord-99?')).toEqual(['ORD-44', 'ORD-99'])
  expect(idsIn('Where is my order number forty-two?')).toEqual(['ORD-42'])
  expect(idsIn('And ordered forty five, orders 41 and twelve?')).toEqual(['ORD-45', 'ORD-41', 'ORD-12'])
  expect(idsIn('What did I order for two?')).toEqual([])
})

/** The first of these that does not come after the one before it. */
function missingFrom(text: string, inOrder: readonly RegExp[]): string | undefined {
  let rest = text
  for (const what of inOrder) {
    const found = what.exec(rest)
    if (!found) return `${what} is not in:\n${rest}`
    rest = rest.slice(found.index + found[0].length)
  }
  return undefined
}

/** The loudness of one side of a call at 16 kHz, for each tenth of a second. */
function loudness(wav: Buffer, side: number): number[] {
  const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length))
  return Array.from({ length: Math.floor(samples.length / 3200) }, (_, tenth) => {
    const part = samples.subarray(tenth * 3200, (tenth + 1) * 3200).filter((_, at) => at % 2 === side)
    return Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / part.length)
  })
}
