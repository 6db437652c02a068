import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Logger, LogsOptions } from './index.ts'
import { logs } from './index.ts'
import { fails, recordedLines, recordedLogs } from './logs.test-kit.ts'

const esc = String.fromCharCode(27)

/** The lines logged for one run of an agent with this script. */
async function linesOf(rounds: readonly ScriptRound[], options: LogsOptions = {}, name = 'desk') {
  const { lines, telemetry } = recordedLines(options)
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
  test('is a message followed by fields', async () => {
    const [line] = await linesOf([[{ text: 'Done.' }, { usage: { inputTokens: 812, outputTokens: 94 } }]])
    expect(line?.replace(/run_[0-9a-f-]+/, 'RUN').replace(/ms=\d+/, 'ms=N')).toBe(
      'run completed agent=desk run=RUN outcome=completed rounds=1 calls=0 ms=N models=scripted inputTokens=812 outputTokens=94 unknownPrices=1',
    )
  })

  test('is JSON with format: json', async () => {
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
    ['a line break', 'x\nrun failed agent=y', String.raw`"x\nrun failed agent=y"`],
    ['a terminal escape sequence', `x${esc}[2J`, String.raw`"x\u001b[2J"`],
    ['an escape sequence with a C1 character', 'x\u009b2J', String.raw`"x\u009b2J"`],
    ['a direction override', 'x\u202ey', String.raw`"x\u202ey"`],
    ['a Unicode line separator', 'x\u2028y', String.raw`"x\u2028y"`],
    ['an invisible tag character', 'x\u{e0041}y', String.raw`"x\udb40\udc41y"`],
    ['half a surrogate pair', 'x\ud83dy', String.raw`"x\ud83dy"`],
    ['a backslash', 'x\\y', String.raw`"x\\y"`],
    ['letters of any language', 'büro', 'büro'],
  ])('stays one line with separate fields if a name has %s', async (_, name, written) => {
    const [text = ''] = await linesOf(['Done.'], {}, name)
    expect(text).toContain(`run completed agent=${written} run=run_`)
    const [json = ''] = await linesOf(['Done.'], { format: 'json' }, name)
    expect(JSON.parse(json)).toMatchObject({ agent: name, outcome: 'completed' })
    expect(json).not.toMatch(/[\p{C}\u2028]/u)
  })

  test('cuts a long name that a model made up', async () => {
    const name = `no\n"such" ${'tool'.repeat(1000)}`
    const [line = ''] = await linesOf([[{ call: name, id: 'a=b c' }], 'Done.'])
    expect(line).toMatch(
      /^tool call failed agent=desk run=\S+ tool="no\\n\\"such\\" (tool)+[^ ]*…" call="a=b c" status=rejected ms=0$/,
    )
    expect(line.length).toBeLessThan(400)
  })
})

describe('the conversation', () => {
  test.each(['logfmt', 'json'] as const)('is not logged as %s', async (format) => {
    const lines = await linesOf(failing, { format })
    expect(lines).toHaveLength(3)
    expect(lines.join('\n')).not.toContain('secret')
  })

  test('is not logged as fields', async () => {
    const { lines, telemetry } = recordedLogs()
    await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('the secret').result
    expect(lines).toHaveLength(3)
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  test('is logged with content: true, only in error messages', async () => {
    const { of, lines, telemetry } = recordedLogs({ content: true })
    await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('the secret of the user')
      .result
    const [{ error } = {}] = of('run failed')
    expect(error).toBe(`the secret of the ${esc}[31mprovider ${'x'.repeat(1000)}`.slice(0, 499).concat('…'))
    expect(of('model call failed')).toMatchObject([{ error }])
    expect(JSON.stringify(lines.map(({ fields }) => ({ ...fields, error: undefined })))).not.toContain(
      'secret',
    )
    const texts = await linesOf(failing, { content: true })
    expect(texts.at(-1)).toContain(String.raw` error="the secret of the \u001b[31mprovider xxx`)
  })
})

describe('a logger', () => {
  const good = { info() {}, warn() {}, error() {} }

  test('may have more methods, such as console, and keeps its `this`', async () => {
    expect(logs(console)).toHaveProperty('startRun')
    class ClassLogger {
      readonly lines: string[] = []
      info(line: string) {
        this.lines.push(line)
      }
      warn() {}
      error() {}
    }
    const logger = new ClassLogger()
    await agent({ model: scriptedModel(['Done.']), telemetry: logs(logger) }).run('hi')
    expect(logger.lines).toHaveLength(1)
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'not undefined'],
    ['null', null, 'not null'],
    ['a string', 'console', 'not a string'],
    ['a function', () => {}, 'this one has no info()'],
    ['an object with only info()', { info() {} }, 'this one has no warn()'],
    ['an object without error()', { ...good, error: true }, 'this one has no error()'],
  ])('that is %s is rejected', (_, logger, problem) => {
    expect(() => logs(logger as Logger)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        op: 'logs',
        message: `logs() expects a logger with info(), warn() and error(), such as console: ${problem}`,
      }),
    )
  })

  test.each<[string, unknown, string]>([
    ['a string', 'json', 'logs() expects an object of options, not a string'],
    ['an unknown format', { format: 'xml' }, "the option 'format' must be 'logfmt' or 'json' or 'fields'"],
    [
      'a flag that is not a boolean',
      { content: 1 },
      "the option 'content' must be true or false, not a number",
    ],
    [
      'a typo',
      { contents: true },
      "the option 'contents' does not exist: did you mean 'content'? (available: format, content)",
    ],
  ])('with options that are %s is rejected', (_, options, message) => {
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
  ])('that %s does not affect the run, and still gets the next line', async (_, fail) => {
    const unhandled: unknown[] = []
    const onRejection = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', onRejection)
    onTestFinished(() => void process.off('unhandledRejection', onRejection))
    let calls = 0
    const log = () => {
      calls++
      return fail()
    }
    const telemetry = logs({ info: log, warn: log, error: log })
    const { outcome } = await agent({ model: scriptedModel(failing), tools: [fails], telemetry }).stream('hi')
      .result
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
    expect({ outcome, calls }).toEqual({ outcome: 'failed', calls: 3 })
  })
})
