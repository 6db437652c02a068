import { describe, expect, test } from 'vitest'
import { readArgs } from './args.ts'
import { helpFor } from './help.ts'

const parse = (...argv: string[]) => {
  const { command, words, flags } = readArgs(argv)
  return { command, words, flags: { ...flags } }
}

describe('commands and questions', () => {
  test('a first word that names a command is the command', () => {
    expect(parse('threads')).toEqual({ command: 'threads', words: [], flags: {} })
    expect(parse('show', 'abc', '--pace')).toEqual({ command: 'show', words: ['abc'], flags: { pace: true } })
    expect(parse('--data', 'x.db', 'stop', 'abc')).toEqual({
      command: 'stop',
      words: ['abc'],
      flags: { data: 'x.db' },
    })
  })

  test('everything else is a question, quoted or not', () => {
    expect(parse('what is a millrace?').words).toEqual(['what is a millrace?'])
    expect(parse('what', 'is', 'a', 'show')).toMatchObject({
      command: 'ask',
      words: ['what', 'is', 'a', 'show'],
    })
    expect(parse('hello')).toMatchObject({ command: 'ask', words: ['hello'] })
    expect(parse()).toMatchObject({ command: 'ask', words: [] })
  })

  test('everything after -- is a question', () => {
    expect(parse('--', 'threads')).toMatchObject({ command: 'ask', words: ['threads'] })
    expect(parse('-m', 'x', '--', '--help')).toEqual({
      command: 'ask',
      words: ['--help'],
      flags: { model: 'x' },
    })
    expect(parse('--', 'thread')).toMatchObject({ command: 'ask' })
  })

  test.each(['thread', 'shwo', 'shows', 'Serv', 'exprot'])(
    'the single word %s is treated as a typo',
    (word) => {
      expect(() => parse(word)).toThrow(/did you mean 'millrace \w+'\?.*millrace -- /)
    },
  )

  test('too many arguments are rejected, since they are most likely a question', () => {
    expect(() => parse('show', 'me', 'the', 'way')).toThrow(/takes only ID\. To ask a question instead/)
    expect(() => parse('threads', 'of', 'time')).toThrow(/takes no arguments/)
  })
})

describe('flags', () => {
  test('a misspelled flag is rejected with a suggestion', () => {
    expect(() => parse('--modle', 'x', 'hi')).toThrow('unknown option --modle: did you mean --model?')
    expect(() => parse('--qqqqqqqq')).toThrow(/see millrace --help/)
    expect(() => parse('-x')).toThrow(/unknown option -x/)
  })

  test('a missing or unexpected value is rejected', () => {
    expect(() => parse('--model')).toThrow(/--model <value>' argument missing/)
    expect(() => parse('--json=yes', 'hi')).toThrow(/--json' does not take an argument/)
  })

  test('a flag of another command is rejected', () => {
    expect(() => parse('threads', '--model', 'x')).toThrow(
      "--model only works with a question, 'millrace approve', 'millrace respond', 'millrace serve', 'millrace mcp', 'millrace acp'",
    )
    expect(() => parse('hi there', '--port', '1')).toThrow("--port only works with 'millrace serve'")
  })

  test('a flag with choices defaults to the first one', () => {
    const voice = (...argv: string[]) => parse('serve', ...argv)
    expect(voice('--voice')).toMatchObject({ words: [], flags: { voice: 'flite' } })
    expect(voice('--voice', 'agents.ts')).toMatchObject({ words: ['agents.ts'], flags: { voice: 'flite' } })
    expect(voice('--voice', '--port', '0').flags).toEqual({ voice: 'flite', port: '0' })
    expect(voice('--voice', 'openai', 'agents.ts')).toMatchObject({
      words: ['agents.ts'],
      flags: { voice: 'openai' },
    })
    expect(voice('--voice=espeak').flags).toEqual({ voice: 'espeak' })
    expect(() => voice('--voice=siri')).toThrow("--voice must be one of flite, espeak, openai, not 'siri'")
    expect(() => voice('agents.ts', '--voice', 'siri')).toThrow(
      "--voice must be one of flite, espeak, openai, not 'siri'",
    )
    expect(parse('--voice', 'serve')).toMatchObject({ command: 'serve', flags: { voice: 'flite' } })
    expect(parse('--', '--voice')).toMatchObject({ command: 'ask', words: ['--voice'] })
  })

  test('--model can be repeated for a gateway; otherwise the last one counts', () => {
    expect(parse('serve', '--gateway', '-m', 'a', '--model', 'b|c').flags).toEqual({
      gateway: true,
      model: 'a,b|c',
    })
    expect(parse('hi there', '-m', 'a', '-m', 'b').flags).toEqual({ model: 'b' })
  })

  test('contradicting flags are rejected', () => {
    expect(() => parse('hi there', '-q', '--verbose')).toThrow('--quiet and --verbose cannot be combined')
    expect(parse('serve', '--verbose').flags).toEqual({ verbose: true })
    expect(() => parse('threads', '--verbose')).toThrow(
      "--verbose only works with a question, 'millrace approve', 'millrace respond', 'millrace serve', 'millrace mcp', 'millrace acp'",
    )
  })

  test('short flags mean the same as long ones', () => {
    expect(parse('-m', 'x', '-q', '-t', 'abc', 'hi there').flags).toEqual({
      model: 'x',
      quiet: true,
      thread: 'abc',
    })
  })
})

describe('help', () => {
  test('lists every command and the flags of a question', () => {
    const help = helpFor('ask')
    for (const word of [
      'serve',
      'threads',
      'show',
      'export',
      'approve',
      'stop',
      'delete',
      'usage',
      '--model',
      '--max-cost',
      '--json',
    ])
      expect(help).toContain(word)
    expect(help).not.toContain('--port')
  })

  test('a flag can mean something else for another command', () => {
    expect(helpFor('migrate')).toMatch(/--from STORE +Store to copy from/)
    expect(helpFor('usage')).toMatch(/--from DAY +The first day/)
    expect(helpFor('usage')).toMatch(/--user NAME +Only what this user spent/)
    expect(helpFor('delete')).toMatch(/--user NAME +Delete all threads of this user/)
  })

  test('lists the flags of one command', () => {
    expect(helpFor('serve')).toContain('--port')
    expect(helpFor('serve')).not.toContain('--deny')
  })

  test('has no line over 110 columns', () => {
    const lines = (['ask', 'serve', 'approve', 'show', 'usage'] as const).flatMap((name) =>
      helpFor(name).split('\n'),
    )
    expect(lines.filter((line) => line.length > 110)).toEqual([])
  })
})
