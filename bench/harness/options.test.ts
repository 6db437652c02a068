import { describe, expect, it } from 'vitest'
import { parts } from '../parts.ts'
import { helpOf, readCommand } from './options.ts'

const command = (...args: string[]) => readCommand(args, parts)

describe('the benchmark command line', () => {
  it.each([
    [['clients', '--work', 'sing'], '--work: unknown name "sing"; use text, varied, short'],
    [['clients', '--client', 'nothing'], '--client: unknown name "nothing"'],
    [['clients', '--wire', 'telex'], '--wire: unknown name "telex"; use chat, responses, messages'],
    [['clients', '--repeat', '0'], '--repeat: must be a positive whole number, not "0"'],
    [['load', '--scenario', 'opera'], '--scenario: unknown name "opera"; use alone, followed, stuck, long'],
    [['load', '--store', 'opera'], '--store: unknown name "opera"; use sqlite, postgres'],
    [['load', '--store', 'postgres', '--scenario', 'long'], 'unknown name "long"; use append, steady'],
    [['server', '--scenario', 'opera'], '--scenario: unknown name "opera"; use steady, capacity, crowd'],
    [['commands', '--way', 'opera'], '--way: unknown name "opera"; use node, fetch, hono, millrace'],
    [['server', '--way', 'opera'], '--way: unknown name "opera"; use hub, hub-worker, millrace'],
    [['telemetry', '--way', 'opera'], '--way: unknown name "opera"; use cost, otel, by-hand'],
    [['telemetry', '--work', 'opera'], '--work: unknown name "opera"; use text, loop'],
    [['telemetry', '--repeat', '0'], '--repeat: must be a positive whole number, not "0"'],
    [['voice', '--only', 'opera'], '--only: unknown name "opera"; use sentences, speaking, parts'],
    ...parts.map(({ name }): [string[], string] => [[name, '--fast'], "Unknown option '--fast'"]),
    [['load', '--scenari', 'long'], "Unknown option '--scenari'. Did you mean '--scenario'?"],
    [
      ['laod'],
      "Unknown part 'laod'. Did you mean 'load'? The parts are clients, commands, gateway, load, page, server, telemetry, ui-stream, voice.",
    ],
    [['opera'], "Unknown part 'opera'. The parts are clients,"],
    [['--scenario', 'long'], '--scenario does not work with the part "clients"'],
    [['load', '--scenario'], '--scenario needs a value'],
    [['load', '--quick=3'], '--quick takes no value'],
  ])('%j is rejected with an explanation', (args, message) => {
    expect(() => command(...args)).toThrow(message)
  })

  it('runs the named parts, or all of them, and passes the other arguments on', () => {
    const named = (...args: string[]) => command(...args)?.parts.map(({ part }) => part.name)
    expect(named()).toEqual([
      'clients',
      'commands',
      'gateway',
      'load',
      'page',
      'server',
      'telemetry',
      'ui-stream',
      'voice',
    ])
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

  it('measures another part if an option asks for it', () => {
    const postgres = command('load', '--store', 'postgres')
    expect(postgres?.parts.map(({ part }) => part.name)).toEqual(['load-postgres'])
    expect(postgres?.save).toBe(true)
    expect(command('load', '--store', 'postgres', '--scenario', 'idle')).toMatchObject({
      save: false,
      parts: [{ options: { scenario: ['idle'] } }],
    })
    expect(command('load', '--store', 'sqlite')?.parts.map(({ part }) => part.name)).toEqual(['load'])
    expect(helpOf(parts)).toContain('load --store postgres: ')
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
    ['load', [['--scenario', 'alone'], ['--profile']]],
    [
      'commands',
      [
        ['--way', 'node'],
        ['--repeat', '3'],
      ],
    ],
    ['page', []],
    ['server', [['--scenario', 'steady'], ['--way', 'hub'], ['--repeat', '3'], ['--profile']]],
    ['telemetry', [['--way', 'otel'], ['--repeat', '3'], ['--profile']]],
    ['voice', [['--only', 'parts']]],
  ])('saves only complete runs of %s unless --save is passed', (part, partial) => {
    expect(command(part)?.save).toBe(true)
    for (const args of [['--quick'], ['--tiny'], ...partial]) expect(command(part, ...args)?.save).toBe(false)
    expect(command(part, '--quick', '--save')?.save).toBe(true)
  })

  it('lists the options of each part in the help', () => {
    const help = helpOf(parts)
    for (const { name, about, options } of parts)
      for (const words of [`${name}: ${about}`, ...Object.keys(options)]) expect(help).toContain(words)
  })
})
