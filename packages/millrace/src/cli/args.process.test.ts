import { describe, expect, test } from 'vitest'
import { readArgs } from './args.ts'
import { helpFor } from './help.ts'

const parse = (...argv: string[]) => {
  const { command, words, flags } = readArgs(argv)
  return { command, words, flags: { ...flags } }
}

describe('what is a command and what a question', () => {
  test('a first word that is the name of a command is one', () => {
    expect(parse('threads')).toEqual({ command: 'threads', words: [], flags: {} })
    expect(parse('show', 'abc', '--pace')).toEqual({ command: 'show', words: ['abc'], flags: { pace: true } })
    expect(parse('--data', 'x.db', 'stop', 'abc')).toEqual({
      command: 'stop',
      words: ['abc'],
      flags: { data: 'x.db' },
    })
  })

  test('everything else is a question, in quotes or not', () => {
    expect(parse('what is a millrace?').words).toEqual(['what is a millrace?'])
    expect(parse('what', 'is', 'a', 'show')).toMatchObject({
      command: 'ask',
      words: ['what', 'is', 'a', 'show'],
    })
    expect(parse('hello')).toMatchObject({ command: 'ask', words: ['hello'] })
    expect(parse()).toMatchObject({ command: 'ask', words: [] })
  })

  test('what stands behind -- is a question, whatever it is', () => {
    expect(parse('--', 'threads')).toMatchObject({ command: 'ask', words: ['threads'] })
    expect(parse('-m', 'x', '--', '--help')).toEqual({
      command: 'ask',
      words: ['--help'],
      flags: { model: 'x' },
    })
    expect(parse('--', 'thread')).toMatchObject({ command: 'ask' })
  })

  test.each(['thread', 'shwo', 'shows', 'Serv', 'exprot'])(
    'the lone word %s is held to be a slip',
    (word) => {
      expect(() => parse(word)).toThrow(/did you mean the command 'millrace \w+'\?.*millrace -- /)
    },
  )

  test('more words than a command takes are most likely a question', () => {
    expect(() => parse('show', 'me', 'the', 'way')).toThrow(/takes only ID: to ask this as a question/)
    expect(() => parse('threads', 'of', 'fate')).toThrow(/takes no words/)
  })
})

describe('flags', () => {
  test('a misspelt one is refused, with the one that was meant', () => {
    expect(() => parse('--modle', 'x', 'hi')).toThrow('there is no option --modle: did you mean --model?')
    expect(() => parse('--qqqqqqqq')).toThrow(/see millrace --help/)
    expect(() => parse('-x')).toThrow(/there is no option -x/)
  })

  test('one without its value, or with one too many, is refused', () => {
    expect(() => parse('--model')).toThrow(/--model <value>' argument missing/)
    expect(() => parse('--json=yes', 'hi')).toThrow(/--json' does not take an argument/)
  })

  test('one that another command takes is refused by name', () => {
    expect(() => parse('threads', '--model', 'x')).toThrow('--model is no option of millrace threads')
    expect(() => parse('hi there', '--port', '1')).toThrow('--port is no option of a question')
  })

  test('one that has choices may stand alone, and then means the first', () => {
    const voice = (...argv: string[]) => parse('serve', ...argv)
    expect(voice('--voice')).toMatchObject({ words: [], flags: { voice: 'flite' } })
    expect(voice('--voice', 'agents.ts')).toMatchObject({ words: ['agents.ts'], flags: { voice: 'flite' } })
    expect(voice('--voice', '--port', '0').flags).toEqual({ voice: 'flite', port: '0' })
    expect(voice('--voice', 'openai', 'agents.ts')).toMatchObject({
      words: ['agents.ts'],
      flags: { voice: 'openai' },
    })
    expect(voice('--voice=espeak').flags).toEqual({ voice: 'espeak' })
    expect(() => voice('--voice=siri')).toThrow("--voice takes flite, espeak, openai, not 'siri'")
    expect(() => voice('agents.ts', '--voice', 'siri')).toThrow(
      "--voice takes flite, espeak, openai, not 'siri'",
    )
    expect(parse('--voice', 'serve')).toMatchObject({ command: 'serve', flags: { voice: 'flite' } })
    expect(parse('--', '--voice')).toMatchObject({ command: 'ask', words: ['--voice'] })
  })

  test('those that contradict each other are refused', () => {
    expect(() => parse('hi there', '-q', '--verbose')).toThrow(
      '--quiet and --verbose together make no sense: leave one of them out',
    )
    expect(parse('serve', '--verbose').flags).toEqual({ verbose: true })
    expect(() => parse('threads', '--verbose')).toThrow('--verbose is no option of millrace threads')
  })

  test('short ones mean the same as long ones', () => {
    expect(parse('-m', 'x', '-q', '-t', 'abc', 'hi there').flags).toEqual({
      model: 'x',
      quiet: true,
      thread: 'abc',
    })
  })
})

describe('help', () => {
  test('tells of every command and of the flags of a question', () => {
    const help = helpFor('ask')
    for (const word of [
      'serve',
      'threads',
      'show',
      'export',
      'approve',
      'stop',
      'delete',
      '--model',
      '--json',
    ])
      expect(help).toContain(word)
    expect(help).not.toContain('--port')
  })

  test('tells of one command what that one takes', () => {
    expect(helpFor('serve')).toContain('--port')
    expect(helpFor('serve')).not.toContain('--deny')
  })

  test('fits into eighty columns but for a few words', () => {
    const lines = (['ask', 'serve', 'approve', 'show'] as const).flatMap((name) => helpFor(name).split('\n'))
    expect(lines.filter((line) => line.length > 110)).toEqual([])
  })
})
