import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { plainEnv } from './processes.ts'
import { root } from './root.ts'

// What `npm start` runs, after the build.
const main = join('examples', 'support-desk', 'main.ts')
const esc = String.fromCharCode(27)
// Only turns a hang into a failure.
const limit = { timeout: 60_000, killSignal: 'SIGKILL' } as const
const colour = new RegExp(`${esc}\\[[0-9;]*m`)

// `script` runs a command in a pseudo-terminal. Part of every Linux; those of macOS and BSD take other options.
const hasScript = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
const needsScript = "the demo in a terminal is tested with util-linux' script: apt-get install bsdutils"
const skipTerminal = !hasScript && !process.env.CI
if (skipTerminal) process.stderr.write(`skipped: ${needsScript}\n`)

beforeAll(() => {
  if (!existsSync(join(root, 'dist', 'index.js')))
    throw new Error('there is no dist/index.js: run npm run build')
})

describe.concurrent('without a terminal', () => {
  test('it plays one exchange, answers from what the tools said, and exits 0', async () => {
    const { exit, stdout, stderr } = await play()
    expect(stdout).toContain('offline')
    expect(stdout).toContain(
      'ORD-42, trail running shoes for €129.00, is with Colibri, now at the hub in Lyon, and due on Thursday.',
    )
    expect(stdout).toContain('- ORD-44: a rain jacket, €89.50, being packed\n')
    expect(stdout).not.toContain(esc)
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  })

  test('both tools have started before either is done, and words go on meanwhile', async () => {
    const { stdout } = await play({ input: 'Where is ORD-42?' })
    const order = [
      '[track_parcel] {"id":"ORD-42"} …',
      '[lookup_order] {"id":"ORD-42"} …',
      '[lookup_order] done in ',
      '[track_parcel] at the hub in Lyon',
      '[track_parcel] done in ',
    ].map((line) => stdout.indexOf(line))
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(stdout.indexOf('Carriers take')).toBeGreaterThan(stdout.indexOf('[lookup_order] {'))
    expect(stdout.indexOf('Carriers take')).toBeLessThan(stdout.indexOf('[track_parcel] done'))
  })

  test('a question on stdin is the one it answers', async () => {
    const { exit, stdout } = await play({ input: 'Where are ORD-44 and ORD-99?\n' })
    expect(stdout).toContain('[lookup_order] failed after ')
    expect(stdout).toContain('is being packed, and no carrier has it')
    expect(stdout).toContain('I cannot help with ORD-99: there is no order ORD-99.')
    expect(exit).toBe(0)
  })

  test('a pipe that stays open and silent does not hold it up', async () => {
    const { exit, stdout } = await play({ input: 'never' })
    expect(stdout).toContain('and due on Thursday.')
    expect(exit).toBe(0)
  })

  test('a refund is declined, since there is nobody to ask', async () => {
    const { exit, stdout } = await play({ input: 'Refund ORD-43' })
    expect(stdout).toContain('[refund_order] declined')
    expect(stdout).toContain('is not refunded: the call was declined: there is no terminal')
    expect(exit).toBe(0)
  })

  test('orders to the terminal do not come through the words of the model', async () => {
    const { stdout } = await play({ input: `say ${esc}[31mred ${esc}]0;title\u0007and \u009b2Jgone` })
    expect(stdout).toContain('"say red and gone" is beyond me')
    expect(stdout).not.toContain(esc)
  })

  test('a reader that goes away early is no error', async () => {
    const child = start()
    const stderr = collect(child.stderr)
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect(await exitOf(child)).toBe(0)
    expect(stderr()).toBe('')
  })

  test('an interrupt stops the tools, and the exit code says so', async () => {
    const child = start()
    const stdout = collect(child.stdout)
    child.stdout?.on('data', () => {
      if (!child.killed && stdout().includes('[track_parcel] asked')) child.kill('SIGINT')
    })
    expect(await exitOf(child)).toBe(130)
    expect(stdout()).toContain('[track_parcel] stopped after ')
  })
})

describe.concurrent('in a terminal', { skip: skipTerminal }, () => {
  beforeAll(() => {
    if (!hasScript) throw new Error(needsScript)
  })

  test('arguments arrive, calls run side by side with their progress, and the answer follows', async () => {
    const terminal = openTerminal()
    await terminal.see('you › ')
    terminal.type('Where is ORD-42?\r')
    await terminal.see(/… track_parcel \{"[^}]*\r/)
    await terminal.see(/track_parcel \{"id":"ORD-42"\} · running .*\r\n.*lookup_order .*running/)
    await terminal.see(
      /track_parcel .*running \d\.\d s · at the hub in Lyon\r\n.*✓ lookup_order .*done in \d+ ms/,
    )
    await terminal.see(/✓ track_parcel \{"id":"ORD-42"\} · done in \d\.\d s/)
    await terminal.see('Thursday.')
    await terminal.see('you › ')
    terminal.type('exit\r')
    expect(await terminal.exit).toBe(0)
    expect(terminal.output()).toMatch(colour)
  })

  test('a refund happens on y, does not on n, and is remembered', async () => {
    const terminal = openTerminal()
    await terminal.see('you › ')
    terminal.type('refund ORD-43\r')
    await terminal.see('Refund €49.00 for ORD-43? [y/N] ')
    terminal.type('y\r')
    await terminal.see(/✓ refund_order \{"id":"ORD-43"\} · done in/)
    await terminal.see('Done: €49.00 for ORD-43')
    await terminal.see('you › ')
    terminal.type('refund ORD-41\r')
    await terminal.see('Refund €18.00 for ORD-41? [y/N] ')
    terminal.type('n\r')
    await terminal.see(/✗ refund_order \{"id":"ORD-41"\} · declined/)
    await terminal.see('is not refunded')
    await terminal.see('you › ')
    terminal.type('what did i order?\r')
    await terminal.see('- ORD-41: a ceramic mug, €18.00, delivered')
    await terminal.see('- ORD-43: a desk lamp, €49.00, refunded')
    await terminal.see('you › ')
    terminal.type('\x04')
    expect(await terminal.exit).toBe(0)
  })

  test('Ctrl-C stops an answer and its tools; at the prompt it leaves', async () => {
    const terminal = openTerminal()
    await terminal.see('you › ')
    terminal.type('Where is ORD-42?\r')
    await terminal.see(/track_parcel .*running .*asked Colibri/)
    terminal.type('\x03')
    await terminal.see(/■ track_parcel \{"id":"ORD-42"\} · stopped after /)
    await terminal.see('■ stopped')
    await terminal.see('you › ')
    terminal.type('and what is ORD-41?\r')
    await terminal.see('is delivered.')
    await terminal.see('you › ')
    terminal.type('\x03')
    expect(await terminal.exit).toBe(0)
  })

  test('Ctrl-C at the question of a refund leaves the money where it is', async () => {
    const terminal = openTerminal()
    await terminal.see('you › ')
    terminal.type('refund ORD-43\r')
    await terminal.see('[y/N] ')
    terminal.type('\x03')
    await terminal.see('■ refund_order')
    await terminal.see('you › ')
    terminal.type('status of ORD-43\r')
    await terminal.see(/is delivered; Northwind\sPost left it/)
    await terminal.see('you › ')
    terminal.type('exit\r')
    expect(await terminal.exit).toBe(0)
  })

  test('a narrow terminal without colours shows every line once', async () => {
    const terminal = openTerminal({ columns: 34, env: { NO_COLOR: '1' } })
    await terminal.see('you › ')
    terminal.type('Where is ORD-42?\r')
    await terminal.see('Thursday.')
    await terminal.see('you › ')
    terminal.type('exit\r')
    expect(await terminal.exit).toBe(0)
    expect(terminal.output()).not.toMatch(colour)
    const lines = screenOf(terminal.output(), 34)
    const answer = lines.slice(lines.findIndex((line) => line.startsWith('desk › ')))
    const call = (name: string) => expect.stringMatching(`^  ✓ ${name} \\{"id":.* · done.*$`)
    expect(answer).toEqual([
      'desk › Let me look up ORD-42 and',
      'ask the carrier. Carriers take a',
      'second or two to answer, so',
      'please bear with me for a moment.',
      call('track_parcel'),
      call('lookup_order'),
      'desk › ORD-42, trail running',
      'shoes for €129.00, is with',
      'Colibri, now at the hub in Lyon,',
      'and due on Thursday.',
      '',
      'you › exit',
      'Goodbye.',
    ])
  })
})

/** Starts the demo outside any terminal. */
function start(stdin: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
  const options = { cwd: root, env: plainEnv(), ...limit }
  return spawn(process.execPath, [main], { ...options, stdio: [stdin, 'pipe', 'pipe'] })
}

/** Plays it to its end with this on stdin, or with a pipe that `never` ends, or with nothing at all. */
async function play({ input }: { input?: string } = {}) {
  const child = start(input === undefined ? 'ignore' : 'pipe')
  if (input !== 'never') child.stdin?.end(input)
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  const exit = await exitOf(child)
  return { exit, stdout: stdout(), stderr: stderr() }
}

function collect(stream: ChildProcess['stdout']): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

function exitOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
}

/** Starts the demo in a pseudo-terminal of its own. */
function openTerminal({ columns = 100, env = {} }: { columns?: number; env?: NodeJS.ProcessEnv } = {}) {
  const command = `stty cols ${columns} rows 40; exec '${process.execPath}' ${main}`
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: root,
    env: { ...plainEnv(), TERM: 'xterm-256color', ...env },
    ...limit,
  })
  const output = collect(child.stdout)
  const exit = exitOf(child)
  let seen = 0

  /** Waits until this is written after all that was seen before. */
  function see(what: string | RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const text = stripVTControlCharacters(output()).slice(seen)
        const at = typeof what === 'string' ? text.indexOf(what) : text.search(what)
        if (at === -1) return
        seen += at + (typeof what === 'string' ? what : (text.match(what)?.[0] ?? '')).length
        child.stdout.off('data', look)
        resolve()
      }
      child.stdout.on('data', look)
      void exit.then(() => reject(new Error(`it ended without ${what}:\n${output().slice(-2000)}`)))
      look()
    })
  }

  return { see, output, exit, type: (keys: string) => child.stdin.write(keys) }
}

/** The lines that a terminal of this width ends up with, trailing blanks left out: as much of one as the demo makes use of. */
function screenOf(output: string, columns: number): string[] {
  const rows: string[][] = [[]]
  let [row, column] = [0, 0]
  const sequence = new RegExp(`${esc}\\[(\\d*)([A-Za-z])|${esc}\\[\\?\\d+[hl]|[^]`, 'gu')
  for (const [text, count, order] of output.matchAll(sequence)) {
    if (order === 'A') row = Math.max(0, row - Number(count || 1))
    else if (order === 'G') column = Number(count || 1) - 1
    else if (order === 'J') rows.splice(row, Infinity, (rows[row] ?? []).slice(0, column))
    else if (order !== undefined)
      throw new Error(`the demo wrote ${JSON.stringify(text)}: teach it to screenOf`)
    else if (text === '\r') column = 0
    else if (text === '\n') rows[++row] ??= []
    else if (!text.startsWith(esc)) {
      if (column === columns) [row, column] = [row + 1, 0]
      rows[row] ??= []
      ;(rows[row] as string[])[column++] = text
    }
  }
  const lines = rows.map((cells) =>
    Array.from(cells, (cell) => cell ?? ' ')
      .join('')
      .trimEnd(),
  )
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
}
