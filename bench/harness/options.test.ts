import { describe, expect, it } from 'vitest'
import { parts } from '../parts.ts'
import { helpOf, readCommand } from './options.ts'

const command = (...args: string[]) => readCommand(args, parts)

describe('the command line of the benchmark', () => {
  it.each([
    [['clients', '--work', 'sing'], '--work: there is no "sing", but there are text, short'],
    [['clients', '--client', 'nobody'], '--client: there is no "nobody"'],
    [['clients', '--wire', 'telex'], '--wire: there is no "telex", but there are chat, responses, messages'],
    [['clients', '--repeat', '0'], '--repeat: must be a whole number from 1, not "0"'],
    [
      ['load', '--scene', 'opera'],
      '--scene: there is no "opera", but there are alone, followed, stuck, long',
    ],
    [['telemetry', '--way', 'opera'], '--way: there is no "opera", but there are otel, by-hand'],
    [['telemetry', '--work', 'opera'], '--work: there is no "opera", but there are text, loop'],
    [['telemetry', '--repeat', '0'], '--repeat: must be a whole number from 1, not "0"'],
    [['voice', '--only', 'opera'], '--only: there is no "opera", but there are sentences, speaking, parts'],
    ...parts.map(({ name }): [string[], string] => [[name, '--fast'], "Unknown option '--fast'"]),
    [['load', '--scen', 'long'], "Unknown option '--scen'. Did you mean '--scene'?"],
    [['laod'], "Unknown part 'laod'. Did you mean 'load'? There are clients, load, page, telemetry, voice."],
    [['opera'], "Unknown part 'opera'. There are clients,"],
    [['--scene', 'long'], '--scene does not work with the part "clients"'],
    [['load', '--scene'], '--scene needs a value'],
    [['load', '--quick=3'], '--quick takes no value'],
  ])('says what is wrong with %j', (args, message) => {
    expect(() => command(...args)).toThrow(message)
  })

  it('runs what is named, or all parts, and hands on the rest', () => {
    const named = (...args: string[]) => command(...args)?.parts.map(({ part }) => part.name)
    expect(named()).toEqual(['clients', 'load', 'page', 'telemetry', 'voice'])
    expect(named('voice', 'load', 'voice', '--quick')).toEqual(['voice', 'load'])
    expect(command('clients', '--work', 'loop', 'telemetry')).toMatchObject({
      mode: 'full',
      rest: ['--work', 'loop'],
      parts: [{ options: { work: ['loop'], repeat: undefined } }, { options: { profile: false } }],
    })
    expect(command('page')).toMatchObject({ mode: 'full', save: true })
    expect(command('page', '--quick')).toMatchObject({ mode: 'quick', save: false })
    expect(command('page', '--help')).toBeUndefined()
  })

  it.each([
    [
      'clients',
      [
        ['--work', 'text'],
        ['--repeat', '3'],
        ['--client', 'millrace'],
      ],
    ],
    ['load', [['--scene', 'alone'], ['--profile']]],
    ['page', []],
    ['telemetry', [['--way', 'otel'], ['--repeat', '3'], ['--profile']]],
    ['voice', [['--only', 'parts']]],
  ])('keeps only whole runs of %s, unless it is told to', (part, partial) => {
    expect(command(part)?.save).toBe(true)
    for (const args of [['--quick'], ['--tiny'], ...partial]) expect(command(part, ...args)?.save).toBe(false)
    expect(command(part, '--quick', '--save')?.save).toBe(true)
  })

  it('explains what each part takes', () => {
    const help = helpOf(parts)
    for (const { name, about, options } of parts)
      for (const words of [`${name}: ${about}`, ...Object.keys(options)]) expect(help).toContain(words)
  })
})
