import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Logger, LogsOptions } from './index.ts'
import { logs } from './index.ts'
import { fails, keptLines, keptLogs } from './logs.test-kit.ts'

const esc = String.fromCharCode(27)

/** What one run after another of an agent with this script is told as. */
async function linesOf(rounds: readonly ScriptRound[], options: LogsOptions = {}, name = 'desk') {
  const { lines, telemetry } = keptLines(options)
  await agent({ name, model: scriptedModel(rounds), tools: [fails], retry: { baseMs: 1 }, telemetry }).stream(
    'the secret of the user',
  ).result
  return lines
}

const failing: ScriptRound[] = [
  [{ text: 'the secret of the model' }, { call: 'fails', input: { secret: 'of the input' } }],
  [{ error: { message: `the secret\n of the ${esc}[31mprovider ${'x'.repeat(1000)}`, code: 'auth' } }],
]

describe('a line', () => {
  test('is one text, with what there is to know behind the words', async () => {
    const [line] = await linesOf([[{ text: 'Done.' }, { usage: { inputTokens: 812, outputTokens: 94 } }]])
    expect(line?.replace(/run_[0-9a-f-]+/, 'RUN').replace(/ms=\d+/, 'ms=N')).toBe(
      'run completed agent=desk run=RUN outcome=completed rounds=1 calls=0 ms=N models=scripted inputTokens=812 outputTokens=94',
    )
  })

  test('is JSON where that is wanted', async () => {
    const [line = ''] = await linesOf(['Done.'], { format: 'json' })
    expect(line).not.toContain('\n')
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      message: 'run completed',
      agent: 'desk',
      rounds: 1,
      models: ['scripted'],
    })
  })

  test.each([
    ['a space', 'the desk', '"the desk"'],
    ['a quote', 'the"desk', String.raw`"the\"desk"`],
    ['an equals sign', 'the=desk', '"the=desk"'],
    ['what looks like the next field', 'x outcome=failed', '"x outcome=failed"'],
    ['a line of its own', 'x\nrun failed agent=y', String.raw`"x\nrun failed agent=y"`],
    ['an order to the terminal', `x${esc}[2J`, String.raw`"x\u001b[2J"`],
    ['the same in one character', 'x\u009b2J', String.raw`"x\u009b2J"`],
    ['text that runs backwards', 'x\u202ey', String.raw`"x\u202ey"`],
    ['another end of a line', 'x\u2028y', String.raw`"x\u2028y"`],
    ['a tag nobody sees', 'x\u{e0041}y', String.raw`"x\udb40\udc41y"`],
    ['half a character', 'x\ud83dy', String.raw`"x\ud83dy"`],
    ['a backslash', 'x\\y', String.raw`"x\\y"`],
    ['letters of any language', 'büro', 'büro'],
  ])('stays one line, and its fields apart, where a name has %s', async (_, name, written) => {
    const [text = ''] = await linesOf(['Done.'], {}, name)
    expect(text).toContain(`run completed agent=${written} run=run_`)
    const [json = ''] = await linesOf(['Done.'], { format: 'json' }, name)
    expect(JSON.parse(json)).toMatchObject({ agent: name, outcome: 'completed' })
    expect(json).not.toMatch(/[\p{C}\u2028]/u)
  })

  test('tells a name that a model has made up as far as it is bearable', async () => {
    const name = `no\n"such" ${'tool'.repeat(1000)}`
    const [line = ''] = await linesOf([[{ call: name, id: 'a=b c' }], 'Done.'])
    expect(line).toMatch(
      /^tool call failed agent=desk run=\S+ tool="no\\n\\"such\\" (tool)+[^ ]*…" call="a=b c" status=rejected ms=0$/,
    )
    expect(line.length).toBeLessThan(400)
  })
})

describe('what was said', () => {
  test.each(['logfmt', 'json'] as const)('is in none of them, as %s', async (format) => {
    const lines = await linesOf(failing, { format })
    expect(lines).toHaveLength(3)
    expect(lines.join('\n')).not.toContain('secret')
  })

  test('is in none of them as fields', async () => {
    const { told, telemetry } = keptLogs()
    await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('the secret').result
    expect(told).toHaveLength(3)
    expect(JSON.stringify(told)).not.toContain('secret')
  })

  test('is in the words of errors, where those are asked for, and in nothing else', async () => {
    const { of, told, telemetry } = keptLogs({ content: true })
    await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('the secret of the user')
      .result
    const [{ error } = {}] = of('run failed')
    expect(error).toBe(`the secret of the ${esc}[31mprovider ${'x'.repeat(1000)}`.slice(0, 499).concat('…'))
    expect(of('model call failed')).toMatchObject([{ error }])
    expect(JSON.stringify(told.map(({ fields }) => ({ ...fields, error: undefined })))).not.toContain(
      'secret',
    )
    const lines = await linesOf(failing, { content: true })
    expect(lines.at(-1)).toContain(String.raw` error="the secret of the \u001b[31mprovider xxx`)
  })
})

describe('a logger', () => {
  const good = { info() {}, warn() {}, error() {} }

  test('that has more, such as console, is taken, and called as its own', async () => {
    expect(logs(console)).toHaveProperty('begin')
    class Own {
      readonly lines: string[] = []
      info(line: string) {
        this.lines.push(line)
      }
      warn() {}
      error() {}
    }
    const own = new Own()
    await agent({ model: scriptedModel(['Done.']), telemetry: logs(own) }).run('hi')
    expect(own.lines).toHaveLength(1)
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'not undefined'],
    ['null', null, 'not null'],
    ['a word', 'console', 'not a string'],
    ['a function', () => {}, 'this one has no info()'],
    ['one that only informs', { info() {} }, 'this one has no warn()'],
    ['one without errors', { ...good, error: true }, 'this one has no error()'],
  ])('that is %s is refused', (_, logger, problem) => {
    expect(() => logs(logger as Logger)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        op: 'logs',
        message: `logs() takes a logger with info(), warn() and error(), such as console: ${problem}`,
      }),
    )
  })

  test.each<[string, unknown, string]>([
    ['a word', 'json', 'logs() takes an object of options, not a string'],
    ['another format', { format: 'xml' }, "the option 'format' must be 'logfmt' or 'json' or 'fields'"],
    ['no yes or no', { content: 1 }, "the option 'content' must be true or false, not a number"],
    [
      'a slip',
      { contents: true },
      "the option 'contents' does not exist: did you mean 'content'? (there are format, content)",
    ],
  ])('with options that are %s is refused', (_, options, message) => {
    expect(() => logs(good, options as LogsOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message }),
    )
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('the disk is full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('the disk is full'))],
  ])('that %s disturbs nothing, and is told the next line all the same', async (_, fail) => {
    const unhandled: unknown[] = []
    const hear = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', hear)
    onTestFinished(() => void process.off('unhandledRejection', hear))
    let told = 0
    const log = () => {
      told++
      return fail()
    }
    const telemetry = logs({ info: log, warn: log, error: log })
    const { outcome } = await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('hi')
      .result
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
    expect({ outcome, told }).toEqual({ outcome: 'failed', told: 3 })
  })
})
